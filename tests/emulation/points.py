"""The points in a run's ``telemetry.lp``, as tests look at them."""

from pathlib import Path
from typing import Any

from line_protocol_parser import parse_line

Series = tuple[str, tuple[tuple[str, str], ...]]


def points_of(folder: Path) -> list[dict[str, Any]]:
    """All points, each with ``measurement``, ``tags``, ``fields`` and ``time``."""
    return [parse_line(line) for line in (folder / "telemetry.lp").read_text().splitlines()]


def series_of(points: list[dict[str, Any]]) -> set[Series]:
    """The series that they are of: measurement and tags."""
    return {(point["measurement"], tuple(sorted(point["tags"].items()))) for point in points}
