"""The last verdict of a scenario, table or sweep on this machine."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from typing_extensions import TypedDict

from testbed import paths


class Last(TypedDict):
    """The latest result: its verdict, its run, and when it was judged (ISO 8601, UTC)."""

    verdict: str
    run: str
    at: str


def last_verdict(name: str) -> Last | None:
    """The verdict in the folder that ``latest`` leads to; None where there is none."""
    file = paths.results() / name / "latest" / "verdict.json"
    try:
        document = json.loads(file.read_bytes())
        judged = datetime.fromtimestamp(file.stat().st_mtime, timezone.utc)
        return {"verdict": document["verdict"], "run": document["run"], "at": judged.isoformat(timespec="seconds")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def ago(at: str, now: datetime) -> str:
    """``3 h ago``, of a time in ISO 8601."""
    seconds = max(0.0, (now - datetime.fromisoformat(at)).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return "just now"
