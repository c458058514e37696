"""Reads documents that a program wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testbed.errors import BadInput


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; BadInput says what is wrong."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such file; a result folder has one") from None
    except ValueError as error:
        raise BadInput(f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadInput(f"{path}: should be a JSON object")
    return document
