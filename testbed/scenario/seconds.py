"""Durations of the transfers of shipped scenarios, for ``list``: they follow from plans, and making them all takes
seconds.

``python -m testbed.cli.scenario_seconds`` makes the file; a test tells when it is old.
"""

from __future__ import annotations

import json

from testbed import paths

FILE = paths.SCENARIOS / "seconds.json"


def read() -> dict[str, float]:
    """Seconds at the full rate of the links, by scenario; empty where there is no such file."""
    try:
        return dict(json.loads(FILE.read_bytes()))
    except (OSError, ValueError):
        return {}
