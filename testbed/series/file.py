"""Reads a run's telemetry from its line-protocol file, in one pass."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from line_protocol_parser import LineFormatError, parse_line

from testbed.errors import BadInput
from testbed.series.reader import DERIVED_MEASUREMENTS, Event, Samples, group_order
from testbed.series.series import Series

Point = tuple[int, dict[str, str], dict[str, Any]]
"""Time in Unix nanoseconds, tags, fields."""


class FromFile:
    """The telemetry of the run in ``path`` (one run per file, as in a result folder).

    Two lines with the same measurement, tags and time are one point, the later field values win: that is
    what InfluxDB does with them.
    """

    def __init__(self, path: Path, only: Collection[str] | None = None) -> None:
        """Reads the file; BadInput names the line that is not line protocol.

        ``only`` these measurements: lines of others are passed over unread, and not counted.
        """
        self.path = path
        self._only = None if only is None else tuple(f"{measurement}," for measurement in only)
        self._lines: Counter[str] = Counter()
        self._points: dict[str, list[Point]] = defaultdict(list)
        self._by_session: dict[str, dict[str, list[Point]]] = {}
        by_key: dict[tuple[str, frozenset[tuple[str, str]], int], dict[str, Any]] = {}
        try:
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    self._take(number, line, by_key)
        except FileNotFoundError:
            raise BadInput(f"{path}: there is no such file; a result folder has one") from None
        except UnicodeDecodeError as error:
            raise BadInput(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
        for points in self._points.values():
            points.sort(key=lambda point: point[0])

    def _take(self, number: int, line: str, by_key: dict[Any, dict[str, Any]]) -> None:
        if not line.strip() or (self._only is not None and not line.startswith(self._only)):
            return
        try:
            point = parse_line(line)
        except LineFormatError as error:
            raise BadInput(f"{self.path}:{number}: not line protocol: {error}") from error
        if point is None:  # a comment
            return
        if point["time"] is None:
            raise BadInput(f"{self.path}:{number}: the point has no timestamp (Unix nanoseconds)")
        measurement, tags, fields, time = point["measurement"], point["tags"], point["fields"], point["time"]
        for name, value in fields.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise BadInput(f"{self.path}:{number}: {name} is {value}, which can't be a measurement")
        key = (measurement, frozenset(tags.items()), time)
        known = by_key.get(key)
        self._lines[measurement] += 1
        if known is not None:
            known.update(fields)
            return
        by_key[key] = fields
        self._points[measurement].append((time, tags, fields))

    def read(self, series: Series, where: Mapping[str, str] | None = None) -> dict[str, Samples]:
        """See :meth:`testbed.series.reader.Reader.read`."""
        wanted = {**dict(series.tags), **(where or {})}
        if "session" in wanted:
            points = self._of_session(series.measurement, wanted["session"])
        else:
            points = self._points.get(series.measurement, [])
        times: dict[str, list[int]] = defaultdict(list)
        values: dict[str, list[float]] = defaultdict(list)
        for time, tags, fields in points:
            value = fields.get(series.field)
            if value is None or isinstance(value, (str, bool)):
                continue
            if any(tags.get(tag, "") != text for tag, text in wanted.items()):
                continue
            group = tags.get(series.group_by, "")
            times[group].append(time)
            values[group].append(value)
        return {group: Samples.of(times[group], values[group]) for group in sorted(times, key=group_order)}

    def _of_session(self, measurement: str, session: str) -> list[Point]:
        """A measurement's points of one session, sorted out once: of a hundred sessions each is asked for by itself."""
        if measurement not in self._by_session:
            sorted_out: dict[str, list[Point]] = defaultdict(list)
            for point in self._points.get(measurement, []):
                sorted_out[point[1].get("session", "")].append(point)
            self._by_session[measurement] = sorted_out
        return self._by_session[measurement].get(session, [])

    def events(self) -> list[Event]:
        """See :meth:`testbed.series.reader.Reader.events`."""
        return sorted(
            Event(time, tags.get("kind", ""), tags.get("session", ""), str(fields.get("text", "")))
            for time, tags, fields in self._points.get("event", [])
        )

    def points(self) -> dict[str, list[Point]]:
        """All, by measurement, in time order."""
        return self._points

    def fields(self, measurement: str) -> list[dict[str, Any]]:
        """Those of a measurement's points, in time order."""
        return [fields for _, _, fields in self._points.get(measurement, [])]

    def runs(self) -> set[str]:
        """See :meth:`testbed.series.reader.Reader.runs`."""
        return {tags["run"] for points in self._points.values() for _, tags, _ in points if "run" in tags}

    def count_points(self) -> int:
        """See :meth:`testbed.series.reader.Reader.count_points`.

        Counts lines, so that a point which overwrote another in the database is seen to be missing there.
        """
        return sum(count for name, count in self._lines.items() if name not in DERIVED_MEASUREMENTS)
