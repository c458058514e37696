"""Reads a run's telemetry from its line-protocol file."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from line_protocol_parser import LineFormatError, parse_line
from numpy.typing import NDArray

from testbed.errors import BadInput
from testbed.series.reader import DERIVED_MEASUREMENTS, Event, Samples, group_order
from testbed.series.series import Series

if TYPE_CHECKING:
    from testbed.series.block import Block

Point = tuple[int, dict[str, str], dict[str, Any]]
"""Time in Unix nanoseconds, tags, fields."""
Row = tuple[int, dict[str, Any]]
"""Time in Unix nanoseconds and fields."""
AT_ONCE = 4096
"""Number of lines with the same tags that are read together."""
WORTHWHILE = 256
"""Fewer are read one by one."""


@dataclass(slots=True, eq=False)
class _Tagged:
    """The points of a measurement that have the same tags: most of a file's lines begin as an earlier one does."""

    measurement: str
    tags: dict[str, str]
    lines: int = 0
    parts: list[Block | list[Row]] = field(default_factory=list)
    """Points in the order of the file."""
    unread: list[tuple[int, str]] = field(default_factory=list)
    """Lines after that: their numbers, and what they have after the tags."""
    columns: dict[str, Samples] = field(default_factory=dict)
    """Values of the requested fields, by name."""

    def add(self, row: Row) -> None:
        """Add a point that was read by itself."""
        last = self.parts[-1] if self.parts else None
        if isinstance(last, list):
            last.append(row)
        else:
            self.parts.append([row])

    def column(self, name: str) -> Samples:
        """The samples of a field, made once: judge and plots ask again and again."""
        if name not in self.columns:
            parts = [_part(part, name) for part in self.parts]
            self.columns[name] = _latest(np.concatenate([t for t, _ in parts]), np.concatenate([v for _, v in parts]))
        return self.columns[name]

    def rows(self) -> dict[int, dict[str, Any]]:
        """The fields of all points that were read one by one, by their time."""
        rows: dict[int, dict[str, Any]] = {}
        for part in self.parts:
            for time, fields in part if isinstance(part, list) else ():
                rows.setdefault(time, {}).update(fields)
        return rows


def _part(part: Block | list[Row], name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The times of a field's values, and these; NaN is no number."""
    if not isinstance(part, list):
        values = part.values.get(name, np.full(part.t_ns.size, math.nan))
        there = ~np.isnan(values)
        return part.t_ns[there], values[there]
    pairs = [(time, value) for time, fields in part if (value := fields.get(name)) is not None]
    # float() one by one: every reader then rounds large integers alike.
    numbers = [math.nan if isinstance(value, (str, bool)) else float(value) for _, value in pairs]
    return np.array([time for time, _ in pairs], dtype=np.int64), np.array(numbers, dtype=np.float64)


def _latest(t_ns: NDArray[np.int64], values: NDArray[np.float64]) -> Samples:
    """Values in the order of a file: the last one of each time, if it is a number."""
    if (np.diff(t_ns) <= 0).any():
        order = np.argsort(t_ns, kind="stable")
        order = order[np.append(np.diff(t_ns[order]) > 0, True)]
        t_ns, values = t_ns[order], values[order]
    numbers = ~np.isnan(values)
    return Samples.in_order(t_ns[numbers], values[numbers])


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
        for number, line in self._lines():
            head, _, rest = line.partition(" ")
            known = self._by_head.get(head)
            if known is None:
                self._take(number, line, head)
                continue
            known.lines += 1
            known.unread.append((number, rest))
            if len(known.unread) == AT_ONCE:
                self._read(known)
        for tagged in self._by_tags.values():
            self._read(tagged)

    def _lines(self) -> Iterator[tuple[int, str]]:
        """The requested points, by their numbers."""
        try:
            with self.path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, start=1):
                    if self._only is None or line.startswith(self._only):
                        yield number, line
        except FileNotFoundError:
            raise BadInput(
                "file.not-in-result", f"{self.path}: there is no such file; a result folder has one"
            ) from None
        except UnicodeDecodeError as error:
            raise BadInput(
                "file.bad-utf8", f"{self.path}: not UTF-8 text ({error.reason} at byte {error.start})"
            ) from None

    def _take(self, number: int, line: str, head: str) -> None:
        """A line whose beginning is new: of those that begin like it the tags are then known."""
        if (point := self._point(number, line)) is None:
            return
        tagged = self._tagged(point, head)
        self._read(tagged)
        tagged.lines += 1
        tagged.add((point["time"], point["fields"]))

    def _read(self, tagged: _Tagged) -> None:
        """Read what was put off."""
        lines, tagged.unread = tagged.unread, []
        if len(lines) >= WORTHWHILE and tagged.measurement != "event":  # whose texts are requested
            from testbed.series.block import Block  # not loaded without need: in a guest it would show

            if block := Block.read([rest for _, rest in lines]):
                tagged.parts.append(block)
                return
        for number, rest in lines:
            point = self._point(number, f"m {rest}")
            tagged.add((point["time"], point["fields"]))

    def _point(self, number: int, line: str) -> Any:
        """A line's; None for one without a point."""
        place = f"{self.path}:{number}"
        try:
            point = parse_line(line) if line.strip() else None
        except LineFormatError as error:
            raise BadInput("telemetry.bad-line", f"not line protocol: {error}").at(place) from error
        if point is None:  # a comment
            return None
        if point["time"] is None:
            raise BadInput("telemetry.no-timestamp", "the point has no timestamp (Unix nanoseconds)").at(place)
        for name, value in point["fields"].items():
            if isinstance(value, float) and not math.isfinite(value):
                raise BadInput("telemetry.bad-value", f"{name} is {value}, which can't be a measurement").at(place)
        return point

    def _tagged(self, point: Any, head: str) -> _Tagged:
        """The series of a point; its line's ``head`` identifies that of later lines, if it surely ends where the tags
        do."""
        measurement, tags = point["measurement"], point["tags"]
        key = (measurement, frozenset(tags.items()))
        tagged = self._by_tags.setdefault(key, _Tagged(measurement, tags))
        if head and '"' not in head and not head.endswith("\\"):
            self._by_head[head] = tagged
        return tagged

    def read(self, series: Series, where: Mapping[str, str] | None = None) -> dict[str, Samples]:
        """See :meth:`testbed.series.reader.Reader.read`."""
        expected = {**dict(series.tags), **(where or {})}
        groups: dict[str, list[Samples]] = defaultdict(list)
        for tagged in self._of_session(series.measurement, expected.get("session")):
            if any(tagged.tags.get(tag, "") != text for tag, text in expected.items()):
                continue
            if (column := tagged.column(series.field)).t_ns.size:
                groups[tagged.tags.get(series.group_by, "")].append(column)
        return {group: Samples.together(groups[group]) for group in sorted(groups, key=group_order)}

    def _of_session(self, measurement: str, session: str | None) -> list[_Tagged]:
        """A measurement's points of one session or of all, sorted once: of a hundred sessions each is requested by
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
            for time, fields in tagged.rows().items()
        )

    def points(self) -> dict[str, list[Point]]:
        """All, by measurement, in time order."""
        # Seldom requested: the file is read once more.
        found: dict[tuple[int, int], dict[str, Any]] = {}
        points: dict[str, list[Point]] = defaultdict(list)
        for number, line in self._lines():
            if (point := self._point(number, line)) is None:
                continue
            tagged = self._tagged(point, "")
            key = (id(tagged), point["time"])
            if key in found:
                found[key].update(point["fields"])
                continue
            found[key] = point["fields"]
            points[tagged.measurement].append((point["time"], tagged.tags, point["fields"]))
        for those in points.values():
            those.sort(key=lambda point: point[0])
        return points

    def runs(self) -> set[str]:
        """See :meth:`testbed.series.reader.Reader.runs`."""
        return {tagged.tags["run"] for tagged in self._by_tags.values() if "run" in tagged.tags}

    def count_points(self) -> int:
        """See :meth:`testbed.series.reader.Reader.count_points`.

        Counts lines, so that a point which overwrote another in the database is seen to be missing there.
        """
        return sum(t.lines for t in self._by_tags.values() if t.measurement not in DERIVED_MEASUREMENTS)
