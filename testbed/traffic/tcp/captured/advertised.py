"""Figures of a bulk transfer from the receiver's capture: bytes, and in mid-transfer the advertised window and the
rate.

Of those two the second half of the transfer is judged, so that neither slow start nor the growth of buffers counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from testbed.traffic.tcp.captured.capture import Connection, Segment


class Steady(NamedTuple):
    """The second half of a transfer."""

    window_bytes: float
    """The window that the receiver advertised for most of the time: the median over time."""
    rate_bps: float
    """Payload bits per second: the slope of the line through the bytes that had arrived."""


class Arrived(NamedTuple):
    """Figures of a whole transfer from frames captured at the receiver."""

    payload_bytes: int
    """Up to the last byte that was captured; what came twice, and what a capture missed between, is in it once."""
    largest_window_bytes: int
    """Largest window that the receiver advertised after its handshake."""


class NoTransfer(ValueError):
    """A connection that carried too little to tell."""


LEAST_SEGMENTS = 8


def steady(connection: Connection) -> Steady:
    """The client's data, as the server saw it; raises :class:`NoTransfer`."""
    data = [segment for segment in connection.sent_by("client") if segment.payload_bytes]
    if len(data) < LEAST_SEGMENTS:
        raise NoTransfer(f"{len(data)} segments with data were captured; a rate needs {LEAST_SEGMENTS}")
    middle_s, end_s = (data[0].t_s + data[-1].t_s) / 2, data[-1].t_s
    acks = connection.sent_by("server")
    return Steady(_window_bytes(acks, middle_s, end_s), _rate_bps(data, middle_s))


def arrived(connection: Connection) -> Arrived:
    """The client's data, as the server saw it."""
    # The first byte of data has the relative number 1.
    ends = [s.seq + s.payload_bytes - 1 for s in connection.sent_by("client") if s.payload_bytes]
    acks = connection.sent_by("server")
    return Arrived(max(ends, default=0), max((a.window_bytes for a in acks if "S" not in a.flags), default=0))


def _rate_bps(data: Sequence[Segment], from_s: float) -> float:
    """The rate of new data: a line through staircases has the stairs' slope, wherever it begins and ends."""
    arrived, t_s, total = [], [], 0
    furthest = 0
    for segment in data:
        new = max(0, segment.seq + segment.payload_bytes - max(furthest, segment.seq))
        furthest = max(furthest, segment.seq + segment.payload_bytes)
        total += new
        if segment.t_s >= from_s:
            t_s.append(segment.t_s)
            arrived.append(total)
    if len(t_s) < LEAST_SEGMENTS or t_s[0] == t_s[-1]:
        raise NoTransfer("too few segments with data were captured in the second half")
    return float(8 * np.polyfit(t_s, arrived, 1)[0])


def _window_bytes(acks: Sequence[Segment], from_s: float, to_s: float) -> float:
    """The median over time of the windows between two times, each lasting until the next."""
    t_s = np.array([ack.t_s for ack in acks])
    windows = np.array([ack.window_bytes for ack in acks])
    first = max(0, int(np.searchsorted(t_s, from_s, side="right")) - 1)
    chosen = (t_s < to_s) & (np.arange(t_s.size) >= first)
    if not chosen.any():
        raise NoTransfer("no acknowledgements were captured in the second half")
    starts = np.maximum(t_s[chosen], from_s)
    lasted_s = np.diff(np.append(starts, to_s))
    order = np.argsort(windows[chosen], kind="stable")
    reached = np.cumsum(lasted_s[order])
    return float(windows[chosen][order][int(np.searchsorted(reached, reached[-1] / 2))])
