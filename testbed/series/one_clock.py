"""The common clock of runs: their points once more, as if every transfer had started at the same instant.

A dashboard's time axis is the time of the points, which InfluxQL can't shift. So the points that a dashboard shows of a
run are written a second time, at the time since its transfer's start, counted from :data:`ZERO_NS`. The axis is then
the time since the start, and a run of last month is looked at like one that is on.
"""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from testbed.series.series import Series, Table

ZERO = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
"""Start of every transfer on the common clock. Midnight, so that a clock in UTC shows the time since the start."""

ZERO_NS = int(ZERO.timestamp()) * 1_000_000_000

RETENTION = "one_clock"
"""The retention policy of its own: these points are old from the start. They go when the list of runs has forgotten
their run (:mod:`testbed.services.influx.run_list`). InfluxDB's index has each series once for all policies: the second
time costs less than half of the first."""

_Kind = TypeVar("_Kind", Series, Table)


def on_one_clock(of: _Kind) -> _Kind:
    """The same series or table on the common clock."""
    return replace(of, retention=RETENTION)


def shifted(lines: Iterable[str], start_ns: int) -> Iterator[str]:
    """Lines of line protocol (Unix nanoseconds) of a run that started at ``start_ns``, on the common clock."""
    for line in lines:
        point, _, time_ns = line.rpartition(" ")
        if point:
            yield f"{point} {int(time_ns) - start_ns + ZERO_NS}"
