"""Reads a run's telemetry from its line-protocol file."""

import math
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from line_protocol_parser import LineFormatError, parse_line

from testbed.errors import BadInput
from testbed.series.reader import DERIVED_MEASUREMENTS, Event, Samples, group_order
from testbed.series.series import Series

Point = tuple[int, dict[str, str], dict[str, Any]]
"""Time in Unix nanoseconds, tags, fields."""


class _Tagged:
    """The points of a measurement that have the same tags: a column for each field, in the order of the file."""

    def __init__(self, measurement: str, tags: dict[str, str]) -> None:
        self.measurement, self.tags = measurement, tags
        self.lines = 0
        self.texts: dict[int, str] = {}
        """Texts of events by their time."""
        self._columns: dict[str, tuple[array[int], array[float]]] = defaultdict(lambda: (array("q"), array("d")))
        """Times and values by the field's name; NaN is no number."""
        self._samples: dict[str, Samples] = {}

    def add(self, time: int, fields: Mapping[str, Any]) -> None:
        """Add the point of a line."""
        self.lines += 1
        if self.measurement == "event":
            self.texts[time] = str(fields.get("text", self.texts.get(time, "")))
        for name, value in fields.items():
            times, values = self._columns[name]
            times.append(time)
            values.append(math.nan if isinstance(value, (str, bool)) else value)

    def column(self, name: str) -> Samples:
        """The samples of a field, made once: judge and plots ask again and again. Of values with one time the last one
        counts, if it is a number."""
        if name not in self._samples:
            times, values = self._columns.get(name, ((), ()))
            t_ns, numbers = np.array(times, dtype=np.int64), np.array(values, dtype=np.float64)
            order = np.argsort(t_ns, kind="stable")
            order = order[np.append(np.diff(t_ns[order]) > 0, True)] if order.size else order
            order = order[~np.isnan(numbers[order])]
            self._samples[name] = Samples.in_order(t_ns[order], numbers[order])
        return self._samples[name]


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
        for number, line in self._lines():
            # Most lines begin as an earlier one does, so only what follows their tags is parsed.
            head, _, rest = line.partition(" ")
            tagged = self._by_head.get(head)
            if (point := self._point(number, f"m {rest}" if tagged else line)) is not None:
                tagged = tagged or self._tagged(point, head)
                tagged.add(point["time"], point["fields"])

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
        for tagged in self._by_tags.values():
            mine = tagged.measurement == series.measurement
            if not mine or any(tagged.tags.get(tag, "") != text for tag, text in expected.items()):
                continue
            if (column := tagged.column(series.field)).t_ns.size:
                groups[tagged.tags.get(series.group_by, "")].append(column)
        return {group: Samples.together(groups[group]) for group in sorted(groups, key=group_order)}

    def events(self) -> list[Event]:
        """See :meth:`testbed.series.reader.Reader.events`."""
        return sorted(
            Event(time, tagged.tags.get("kind", ""), tagged.tags.get("session", ""), text)
            for tagged in self._by_tags.values()
            for time, text in tagged.texts.items()
        )

    def points(self) -> dict[str, list[Point]]:
        """All, by measurement, in time order."""
        # Seldom requested: the file is read once more.
        found: dict[str, dict[tuple[int, int], Point]] = defaultdict(dict)
        for number, line in self._lines():
            if (point := self._point(number, line)) is not None:
                tagged, time = self._tagged(point, ""), point["time"]
                _, _, fields = found[tagged.measurement].setdefault((id(tagged), time), (time, tagged.tags, {}))
                fields.update(point["fields"])
        return {measurement: sorted(those.values(), key=lambda one: one[0]) for measurement, those in found.items()}

    def runs(self) -> set[str]:
        """See :meth:`testbed.series.reader.Reader.runs`."""
        return {tagged.tags["run"] for tagged in self._by_tags.values() if "run" in tagged.tags}

    def count_points(self) -> int:
        """See :meth:`testbed.series.reader.Reader.count_points`.

        Counts lines, so that a point which overwrote another in the database is seen to be missing there.
        """
        return sum(t.lines for t in self._by_tags.values() if t.measurement not in DERIVED_MEASUREMENTS)
