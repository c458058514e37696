"""Readers of a run's telemetry, wherever the samples are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from testbed.series.series import Series

NANOSECONDS = 1_000_000_000


class Samples(NamedTuple):
    """Samples in time order: ``t_ns`` (int64, Unix nanoseconds) and ``values`` (float64), of one length.

    Samples of the same time (of two sessions, say) are in the order of their values. Both are read-only: a reader may
    give them again.
    """

    t_ns: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, t_ns: Sequence[int], values: Sequence[float]) -> Samples:
        """Samples from unordered lists."""
        times = np.array(t_ns, dtype=np.int64)
        # float() one by one: every reader then rounds large integers alike.
        numbers = np.array([float(value) for value in values], dtype=np.float64)
        return cls.in_order(times, numbers)

    @classmethod
    def together(cls, parts: Sequence[Samples]) -> Samples:
        """All samples of at least one part."""
        if len(parts) == 1:
            return parts[0]
        return cls.in_order(np.concatenate([p.t_ns for p in parts]), np.concatenate([p.values for p in parts]))

    @classmethod
    def in_order(cls, times: NDArray[np.int64], numbers: NDArray[np.float64]) -> Samples:
        """Samples from columns that are unordered."""
        order = np.lexsort((numbers, times))
        sorted_out = cls(times[order], numbers[order])
        for column in sorted_out:
            column.flags.writeable = False
        return sorted_out

    def since(self, start_ns: int) -> NDArray[np.float64]:
        """Sample times in seconds since ``start_ns``."""
        # The difference is taken in integers: Unix nanoseconds do not fit into a float64.
        return (self.t_ns - start_ns) / NANOSECONDS


class Event(NamedTuple):
    """One event: Unix nanoseconds, its kind (``transfer_start``, …), session and text."""

    t_ns: int
    kind: str
    session: str
    text: str


class Reader(Protocol):
    """Reads one run's telemetry."""

    def read(self, series: Series, where: Mapping[str, str] | None = None) -> dict[str, Samples]:
        """Samples by value of the series' group tag (empty text where a point lacks the tag).

        Groups without samples are left out; a series that nobody wrote gives an empty dict.
        """

    def events(self) -> list[Event]:
        """All events in time order."""

    def runs(self) -> set[str]:
        """The runs that the points are of, by their tag."""

    def count_points(self) -> int:
        """The number of points of telemetry (without those that the judge derives)."""


def group_order(group: str) -> tuple[float, str]:
    """A sort key that puts connection 2 before connection 10, and names after numbers."""
    return (float(group) if group.isdecimal() else float("inf"), group)


DERIVED_MEASUREMENTS = frozenset({"law", "law_worst", "verdict", "calibration", "telemetry_lag", "lateness", "runs"})
"""Measurements that judge and runner write straight to the database; everything else is telemetry."""


def start_of(events: Sequence[Event], session: str | None = None) -> int | None:
    """Unix nanoseconds of t = 0, the first ``transfer_start`` (of ``session``, if given), or None."""
    return _first(events, "transfer_start", session)


def end_of(events: Sequence[Event], session: str | None = None) -> int | None:
    """Unix nanoseconds of the first ``transfer_end`` (of ``session``, if given), or None."""
    return _first(events, "transfer_end", session)


def _first(events: Sequence[Event], kind: str, session: str | None) -> int | None:
    return min((e.t_ns for e in events if e.kind == kind and session in (None, e.session)), default=None)
