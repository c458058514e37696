"""What iperf3 leaves at its end when it is asked for JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed


def read_result(path: Path) -> dict[str, Any]:
    """Its document. Raises :class:`RunFailed` where it left none, or says in it what went wrong: with ``--json`` it
    ends with 0 whatever happened."""
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunFailed(f"iperf3 left no result ({error}); see {path}") from error
    if document.get("error"):
        raise RunFailed(f"iperf3: {document['error']}; see {path}")
    return document
