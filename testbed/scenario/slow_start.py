"""Durations of objects by TCP's slow start alone: the theory that fetches are compared with.

The server's window starts at ``initial_window`` segments and grows by each segment that is acknowledged (RFC 5681 with
RFC 3465's counting, as Linux does it). Nothing is lost, the receiver's window is no limit, and slow start goes on to
the object's end: HyStart, which may end it earlier, is not in here. Sizes in bytes, times in seconds.
"""

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

MSS_BYTES = 1448
"""Segment size with an MTU of 1500 and timestamps."""
FRAME_OVERHEAD_BYTES = 14 + 20 + 32
"""Ethernet without FCS, IPv4, TCP with timestamps: what a segment has besides its payload, and all of an ACK."""
SYN_FRAME_BYTES = 14 + 20 + 40
RESPONSE_HEADER_BYTES = 120
"""Header bytes of this testbed's server."""
REQUEST_BYTES = 82
QUICK_ACKS = 16
"""Segments that Linux acknowledges one by one at a connection's start; later every second one."""
DELAYED_ACK_S = 0.04


@dataclass(frozen=True)
class Path:
    """The way between client and server: ``hops`` links, each with this rate and its part of the delay."""

    rate_bps: float
    rtt_s: float
    hops: int = 2
    bucket_bytes: float = 1514
    """Bytes that each link's shaper sends at once after a pause."""


class _Hops:
    """One direction of a path: shapers that send while their tokens are not negative (as HTB), and delays."""

    def __init__(self, path: Path) -> None:
        self._bytes_per_s = path.rate_bps / 8
        self._delay_s = path.rtt_s / 2 / path.hops
        self._bucket_bytes = path.bucket_bytes
        self._shapers = [(0.0, path.bucket_bytes)] * path.hops

    def carry(self, at_s: float, frame_bytes: int) -> float:
        """The arrival of a frame that is sent at ``at_s``; frames have to come in the order of time."""
        for place, (before_s, left) in enumerate(self._shapers):
            now_s = max(at_s, before_s)
            tokens = min(self._bucket_bytes, left + (now_s - before_s) * self._bytes_per_s)
            if tokens < 0:
                now_s, tokens = now_s - tokens / self._bytes_per_s, 0.0
            self._shapers[place] = (now_s, tokens - frame_bytes)
            at_s = now_s + self._delay_s
        return at_s


def round_trips(segments: int, initial_window: int) -> int:
    """Round trips until all segments have arrived where rate is no limit: one for the handshake, one for each
    window that is sent."""
    # All windows together are one less than a power of two, in initial windows.
    return 1 + math.ceil(segments / initial_window).bit_length()


def segments_bytes(object_bytes: int, *, header_apart: bool) -> list[int]:
    """The payloads of the segments that carry a response: its header and the object, or each in segments of
    its own."""
    streams = [RESPONSE_HEADER_BYTES, object_bytes] if header_apart else [RESPONSE_HEADER_BYTES + object_bytes]
    return [min(MSS_BYTES, stream - at) for stream in streams for at in range(0, stream, MSS_BYTES)]


def fetch_s(object_bytes: int, initial_window: int, path: Path, *, header_apart: bool = False) -> float:
    """Seconds from the client's SYN to the last byte of an object on a connection of its own."""
    up, down = _Hops(path), _Hops(path)
    opened_s = down.carry(up.carry(0.0, SYN_FRAME_BYTES), SYN_FRAME_BYTES)
    up.carry(opened_s, FRAME_OVERHEAD_BYTES)  # the handshake's last ACK
    asked_s = up.carry(opened_s, REQUEST_BYTES + FRAME_OVERHEAD_BYTES)

    unsent = deque(segments_bytes(object_bytes, header_apart=header_apart))
    window, in_flight, received, unacknowledged = initial_window, 0, 0, 0
    last_s = asked_s
    # Events at the server and the client, in order of time: acknowledged segments, or an arrival (0).
    # A delayed ACK is an entry of the client's, distinguished from arrivals by its count of segments.
    agenda: list[tuple[float, int, str, int]] = []
    numbers = count()

    def at(when_s: float, what: str, segments: int = 0) -> None:
        heapq.heappush(agenda, (when_s, next(numbers), what, segments))

    at(asked_s, "acknowledged")
    while agenda:
        now_s, _, what, segments = heapq.heappop(agenda)
        if what == "acknowledged":
            in_flight -= segments
            window += segments
            while unsent and in_flight < window:
                in_flight += 1
                at(down.carry(now_s, unsent.popleft() + FRAME_OVERHEAD_BYTES), "arrived")
            continue
        if what == "arrived":
            received += 1
            unacknowledged += 1
            last_s = now_s
            if received > QUICK_ACKS and unacknowledged < 2:
                at(now_s + DELAYED_ACK_S, "delayed", received)
                continue
        elif received != segments or not unacknowledged:
            continue  # acknowledged with a later segment
        at(up.carry(now_s, FRAME_OVERHEAD_BYTES), "acknowledged", unacknowledged)
        unacknowledged = 0
    return last_s


def page_s(objects_bytes: Sequence[int], initial_window: int, path: Path, *, header_apart: bool = False) -> float:
    """Seconds for objects fetched one after the other, each on a connection of its own."""
    return sum(fetch_s(size, initial_window, path, header_apart=header_apart) for size in objects_bytes)
