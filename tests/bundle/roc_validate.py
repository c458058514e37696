"""What roc-validator finds wrong with an RO-Crate, without a network; run by its own environment's Python:

    python roc_validate.py CRATE

Prints a JSON list: the requirements and recommendations of Process Run Crate, and of RO-Crate below it, that the crate
does not meet. ``contexts/`` has RO-Crate's JSON-LD context (CC0), as the package ``rocrate`` 0.13.0 has it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import requests
from rocrate_validator import models, services
from rocrate_validator.utils.http import HttpRequester

CONTEXTS = Path(__file__).parent / "contexts"
PROFILE = "process-run-crate"


def serve() -> None:
    """Answer requests for contexts that are kept, and refuse all others."""
    kept = {json.loads(path.read_bytes())["@id"]: path.read_bytes() for path in CONTEXTS.glob("*.jsonld")}

    def answer(_: Any, url: str, **_options: Any) -> requests.Response:
        response = requests.Response()
        response.url, response.status_code = url, 200 if url in kept else 404
        response._content = kept.get(url, b"")
        response.headers["Content-Type"] = "application/ld+json"
        return response

    HttpRequester.get = HttpRequester.head = answer


def findings(crate: str) -> list[dict[str, str]]:
    """Each with its severity, check, message and the entity that it is about."""
    settings = services.ValidationSettings(
        rocrate_uri=crate, profile_identifier=PROFILE, requirement_severity=models.Severity.RECOMMENDED
    )
    return [
        {
            "severity": issue.severity.name,
            "check": issue.check.identifier,
            "message": str(issue.message),
            "entity": str(issue.violatingEntity),
        }
        for issue in services.validate(settings).get_issues(models.Severity.RECOMMENDED)
    ]


if __name__ == "__main__":
    serve()
    print(json.dumps(findings(sys.argv[1]), indent=1))
