"""Reads a run's telemetry from its line-protocol file, in one pass."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from line_protocol_parser import LineFormatError, parse_line

from testbed.errors import BadInput
from testbed.series.reader import DERIVED_MEASUREMENTS, Event, Samples, group_order
from testbed.series.series import Series

Point = tuple[int, dict[str, str], dict[str, Any]]
"""Time in Unix nanoseconds, tags, fields."""


@dataclass(slots=True, eq=False)
class _Tagged:
    """The points of a measurement that have the same tags: most of a file's lines begin as an earlier one does."""

    measurement: str
    tags: dict[str, str]
    fields: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By their time, in the order of the file."""
    lines: int = 0
    columns: dict[str, Samples] = field(default_factory=dict)
    """By fields' names: those that were asked for."""

    def column(self, name: str) -> Samples:
        """The samples of a field, made once: judge and plots ask again and again."""
        if name not in self.columns:
            times, values = [], []
            for time, fields in self.fields.items():
                value = fields.get(name)
                if value is None or isinstance(value, (str, bool)):
                    continue
                times.append(time)
                values.append(value)
            self.columns[name] = Samples.of(times, values)
        return self.columns[name]


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
        self._by_head: dict[str, _Tagged] = {}
        self._by_tags: dict[tuple[str, frozenset[tuple[str, str]]], _Tagged] = {}
        self._by_session: dict[str, dict[str, list[_Tagged]]] = {}
        self._order: list[_Tagged] = []
        """Whose each point is."""
        try:
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    self._take(number, line)
        except FileNotFoundError:
            raise BadInput(f"{path}: there is no such file; a result folder has one") from None
        except UnicodeDecodeError as error:
            raise BadInput(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None

    def _take(self, number: int, line: str) -> None:
        if self._only is not None and not line.startswith(self._only):
            return
        head, _, rest = line.partition(" ")
        tagged = self._by_head.get(head)
        try:
            # The tags of a line that begins as an earlier one does are known.
            point = parse_line(line if tagged is None else f"m {rest}")
        except LineFormatError:
            point = self._parse(number, line)
        if point is None:  # a comment
            return
        fields, time = point["fields"], point["time"]
        if time is None:
            raise BadInput(f"{self.path}:{number}: the point has no timestamp (Unix nanoseconds)")
        for name, value in fields.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise BadInput(f"{self.path}:{number}: {name} is {value}, which can't be a measurement")
        if tagged is None:
            tagged = self._tagged(point, head)
        tagged.lines += 1
        known = tagged.fields.get(time)
        if known is not None:
            known.update(fields)
            return
        tagged.fields[time] = fields
        self._order.append(tagged)

    def _parse(self, number: int, line: str) -> Any:
        """A whole line; None for one without a point."""
        if not line.strip():
            return None
        try:
            return parse_line(line)
        except LineFormatError as error:
            raise BadInput(f"{self.path}:{number}: not line protocol: {error}") from error

    def _tagged(self, point: Any, head: str) -> _Tagged:
        """Where a point belongs; its line's ``head`` tells so of later lines, if it surely ends where the tags do."""
        measurement, tags = point["measurement"], point["tags"]
        key = (measurement, frozenset(tags.items()))
        tagged = self._by_tags.setdefault(key, _Tagged(measurement, tags))
        if head and '"' not in head and not head.endswith("\\"):
            self._by_head[head] = tagged
        return tagged

    def read(self, series: Series, where: Mapping[str, str] | None = None) -> dict[str, Samples]:
        """See :meth:`testbed.series.reader.Reader.read`."""
        wanted = {**dict(series.tags), **(where or {})}
        groups: dict[str, list[Samples]] = defaultdict(list)
        for tagged in self._of_session(series.measurement, wanted.get("session")):
            if any(tagged.tags.get(tag, "") != text for tag, text in wanted.items()):
                continue
            if (column := tagged.column(series.field)).t_ns.size:
                groups[tagged.tags.get(series.group_by, "")].append(column)
        return {group: Samples.together(groups[group]) for group in sorted(groups, key=group_order)}

    def _of_session(self, measurement: str, session: str | None) -> list[_Tagged]:
        """A measurement's points of one session or of all, sorted out once: of a hundred sessions each is asked for by
        itself."""
        if not self._by_session:
            for tagged in self._by_tags.values():
                by_session = self._by_session.setdefault(tagged.measurement, defaultdict(list))
                by_session[tagged.tags.get("session", "")].append(tagged)
        by_session = self._by_session.get(measurement, {})
        if session is None:
            return [tagged for those in by_session.values() for tagged in those]
        return by_session.get(session, [])

    def events(self) -> list[Event]:
        """See :meth:`testbed.series.reader.Reader.events`."""
        return sorted(
            Event(time, tagged.tags.get("kind", ""), tagged.tags.get("session", ""), str(fields.get("text", "")))
            for tagged in self._of_session("event", None)
            for time, fields in tagged.fields.items()
        )

    def points(self) -> dict[str, list[Point]]:
        """All, by measurement, in time order."""
        return self._points

    @cached_property
    def _points(self) -> dict[str, list[Point]]:
        left = {id(tagged): iter(tagged.fields.items()) for tagged in self._by_tags.values()}
        points: dict[str, list[Point]] = defaultdict(list)
        for tagged in self._order:
            time, fields = next(left[id(tagged)])
            points[tagged.measurement].append((time, tagged.tags, fields))
        for those in points.values():
            those.sort(key=lambda point: point[0])
        return points

    def fields(self, measurement: str) -> list[dict[str, Any]]:
        """Those of a measurement's points, in time order."""
        return [fields for _, _, fields in self._points.get(measurement, [])]

    def runs(self) -> set[str]:
        """See :meth:`testbed.series.reader.Reader.runs`."""
        return {tagged.tags["run"] for tagged in self._by_tags.values() if "run" in tagged.tags}

    def count_points(self) -> int:
        """See :meth:`testbed.series.reader.Reader.count_points`.

        Counts lines, so that a point which overwrote another in the database is seen to be missing there.
        """
        return sum(t.lines for t in self._by_tags.values() if t.measurement not in DERIVED_MEASUREMENTS)
