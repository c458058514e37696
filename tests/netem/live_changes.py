"""A rate change and a link break in mid-transfer, and what they must look like in the data, on any middle."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from testbed.series import FromFile, Samples, named
from testbed.series.reader import start_of

SCENARIO = """
name: live-changes
title: Changes of a rate and breaks of a link in mid-transfer
links:
  - {name: fast, rate: 256pps, delay: 50ms}
  - {name: slow, rate: 32pps, delay: 50ms}
ncp: {policy: nkp24, transfer: 3840KiB}
timeline:
  - {at: 5s, do: set, link: fast, rate: 128pps}
  - {at: 7s, do: set, link: fast, rate: 256pps}
  - {at: 8s, do: down, link: slow}
  - {at: 9s, do: up, link: slow}
  - {at: 11500ms, do: blackhole, link: slow, for: 1s}
checks:
  - {name: payload, judge: payload_intact}
  - {name: database, judge: points_stored}
"""
BREAKS = ((2, 3), (4, 5))
"""Which actions of the timeline, counted from 0, begin and end a break."""
FORE_S = 0.1
"""A break also loses the acknowledgements that are on their way: the last to arrive may be 50 ms old, the interval
at which the receiver sends them, and tell of a packet that arrived a thirty-second part of a second before."""
BACK_S = 0.5
"""From a packet's leaving to its acknowledgement: 100 ms of delay, 50 ms until the receiver acknowledges, up to
100 ms in the sender's queue, a tenth of a second between samples, and what a busy machine adds."""


def assert_events_show_in_the_data(folder: Path) -> None:
    """Every action is recorded, and the acknowledged packets change their pace where the timeline says."""
    with (folder / "events.csv").open() as file:
        events = list(csv.DictReader(file))
    assert [(float(e["asked_s"]), e["kind"]) for e in events] == [
        (5.0, "set"),
        (7.0, "set"),
        (8.0, "carrier"),
        (9.0, "carrier"),
        (11.5, "set"),
        (12.5, "set"),
    ]
    assert all(float(e["at_s"]) >= float(e["asked_s"]) for e in events)

    telemetry = FromFile(folder / "telemetry.lp")
    assert {e.kind for e in telemetry.events()} >= {"transfer_start", "transfer_end", "set", "carrier"}
    start_ns = start_of(telemetry.events())
    assert start_ns is not None
    acked = telemetry.read(named("acked"))
    _rate_follows(acked["1"], start_ns)
    for begins, ends in BREAKS:
        _nothing_crosses(acked["2"], start_ns, float(events[begins]["at_s"]), float(events[ends]["at_s"]))
    # The other link has no part in it.
    assert _pps(acked["1"], start_ns, 8.3, 9) > 0.7 * 256


def _rate_follows(acked: Samples, start_ns: int) -> None:
    """The pace halves at 5 s and doubles at 7 s. Before 3 s a busy machine may not have begun to keep it."""
    full, half = _pps(acked, start_ns, 3, 5), _pps(acked, start_ns, 5.4, 7)
    assert full == pytest.approx(256, rel=0.1)
    assert half == pytest.approx(128, rel=0.1)
    # Where two lines meet, one before and one after: the change itself, later by the way there and back.
    for at_s, before, after in ((5.0, (3, 4.9), (5.5, 6.9)), (7.0, (5.5, 6.9), (7.5, 8.0))):
        (slope_1, offset_1), (slope_2, offset_2) = (_line(acked, start_ns, *span) for span in (before, after))
        assert at_s < (offset_1 - offset_2) / (slope_2 - slope_1) < at_s + BACK_S


def _nothing_crosses(acked: Samples, start_ns: int, from_s: float, to_s: float) -> None:
    """What had crossed before is acknowledged, then nothing until the link is back."""
    t_s, count = acked.since(start_ns), acked.values
    assert _pps(acked, start_ns, from_s - 1, from_s) > 0.5 * 32, "packets crossed before"
    silent = (t_s >= from_s + BACK_S) & (t_s <= to_s)
    assert silent.any()
    (at_rest,) = set(count[silent].tolist())
    last_s = float(t_s[count == at_rest][0])
    assert from_s - FORE_S <= last_s <= from_s + BACK_S
    assert count[-1] > at_rest, "and the link came back"


def _pps(acked: Samples, start_ns: int, from_s: float, to_s: float) -> float:
    return _line(acked, start_ns, from_s, to_s)[0]


def _line(acked: Samples, start_ns: int, from_s: float, to_s: float) -> tuple[float, float]:
    """Slope (packets/s) and offset of a line through a cumulative counter."""
    t_s = acked.since(start_ns)
    inside = (t_s >= from_s) & (t_s <= to_s)
    slope, offset = np.polyfit(t_s[inside], acked.values[inside], 1)
    return float(slope), float(offset)
