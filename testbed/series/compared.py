"""The series that runs are compared by, as they are stored a second time on one clock."""

from __future__ import annotations

import datetime

from testbed.series.catalogue import named
from testbed.series.series import Series

ZERO = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
"""When every compared transfer starts. Midnight, so that a clock in UTC shows the time since the start."""

ZERO_NS = int(ZERO.timestamp()) * 1_000_000_000

MEASUREMENT = "compared"

RETENTION = "compared"
"""The retention policy of its own: these points are old from the start. Their number is bounded by the runs
that are kept (:mod:`testbed.influx.comparison`)."""

COMPARED = (
    "window_share",
    "window_packets",
    "in_flight_packets",
    "rtt_ms",
    "delivered_share",
    "delivered_pps",
    "resent",
    "goodput_bps",
    "reorder_bytes",
)
"""Names of series of the catalogue; each is a field of the measurement ``compared``."""


def compared(name: str) -> Series:
    """The series ``name`` on the common clock."""
    if name not in COMPARED:
        raise ValueError(f"runs are not compared by {name!r}, only by {', '.join(COMPARED)}")
    original = named(name)
    return Series(
        f"compared_{name}", MEASUREMENT, name, original.group_by, original.title, original.unit, (), RETENTION
    )
