"""A download's time sequence, as the sender's host saw it: data sent, and the right edge that the receiver advertised.

Times are seconds since the first data segment. Bytes count from the object's first: the first segment begins at 0, and
a right edge of 64,512 lets the sender send 64,512 bytes of the object.
"""

from bisect import bisect_right
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from testbed import documents
from testbed.traffic.tcp.captured.capture import Connection

HELD_RTTS = 0.25
"""Time for which an edge has to stay, the sender waiting at it, to be one that stopped the sender: within a round trip,
acknowledgements move it all the time."""

EDGES, DATA = "edges.csv", "data.csv"
"""The time sequence at the sender's host, in a run's folder."""


class Incomplete(ValueError):
    """A capture that lacks what a time sequence needs; the message says what."""


@dataclass(frozen=True)
class Data:
    """A data segment that was sent."""

    t_s: float
    first_byte: int
    bytes: int
    again: bool
    """Whether all of it had been sent before."""


@dataclass(frozen=True)
class Edge:
    """The window that an acknowledgement advertises."""

    t_s: float
    acked_bytes: int
    window_bytes: int
    right_edge_bytes: int


@dataclass(frozen=True)
class TimeSequence:
    """One download; edges begin with the handshake's, before 0 s."""

    data: list[Data]
    edges: list[Edge]

    @property
    def initial_window_bytes(self) -> int:
        """The window that the handshake's ACK advertised, scaled."""
        return self.edges[0].window_bytes

    @property
    def object_bytes(self) -> int:
        """The end of what was sent."""
        return max(data.first_byte + data.bytes for data in self.data)

    @property
    def acknowledged_s(self) -> float | None:
        """The time at which the last byte was acknowledged; None if it was not while frames were captured."""
        return next((edge.t_s for edge in self.edges if edge.acked_bytes >= self.object_bytes), None)

    def first_flight(self) -> list[Data]:
        """The data sent before the first of it was acknowledged."""
        first_ack_s = next((edge.t_s for edge in self.edges if edge.acked_bytes > 0), float("inf"))
        return [data for data in self.data if data.t_s < first_ack_s]

    def edges_met(self, rtt_s: float, segment_bytes: int) -> list[Edge]:
        """The edges at which the sender had to wait: less than a segment was left, for a while."""
        ends = [data.first_byte + data.bytes for data in self.data]
        times_s, sent = [data.t_s for data in self.data], [0, *accumulate(ends, max)]
        raised: list[Edge] = []
        for edge in self.edges:
            if not raised or edge.right_edge_bytes > raised[-1].right_edge_bytes:
                raised.append(edge)
        met = []
        for edge, following in pairwise(raised):
            waits_from_s = following.t_s - HELD_RTTS * rtt_s
            left = edge.right_edge_bytes - sent[bisect_right(times_s, waits_from_s)]
            held = max(edge.t_s, 0.0) <= waits_from_s
            if held and left < segment_bytes and edge.right_edge_bytes < sent[-1]:
                met.append(edge)
        return met


def time_sequence(connection: Connection) -> TimeSequence:
    """The sequence of a connection in which the server sent; raises :class:`Incomplete`."""
    acknowledgements = [s for s in connection.sent_by("client") if s.ack is not None and not s.syn]
    sent = [s for s in connection.sent_by("server") if s.payload_bytes]
    if not acknowledgements:
        raise Incomplete("the handshake's acknowledgement was not captured")
    if not sent:
        raise Incomplete("no data was captured")
    zero_s, data, highest = sent[0].t_s, [], 0
    for segment in sent:
        end = segment.seq - 1 + segment.payload_bytes
        data.append(Data(segment.t_s - zero_s, segment.seq - 1, segment.payload_bytes, end <= highest))
        highest = max(highest, end)
    edges = [
        Edge(s.t_s - zero_s, (s.ack or 0) - 1, s.window_bytes, (s.ack or 0) - 1 + s.window_bytes)
        for s in acknowledgements
    ]
    return TimeSequence(data, edges)


def write_csv(sequence: TimeSequence, edges: Path, data: Path) -> None:
    """``edges.csv`` and ``data.csv``, with times in milliseconds."""
    for path, rows in ((edges, sequence.edges), (data, sequence.data)):
        documents.write_csv(path, [_row(**asdict(row)) for row in rows])


def _row(t_s: float, **counts: int) -> dict[str, Any]:
    return {"t_ms": f"{t_s * 1000:.3f}", **{name: int(count) for name, count in counts.items()}}


def read_csv(edges: Path, data: Path) -> TimeSequence:
    """Reads the files of :func:`write_csv`."""

    def rows(path: Path) -> list[dict[str, Any]]:
        return [{**row, "t_s": float(row["t_ms"]) / 1000} for row in documents.read_csv(path)]

    return TypeAdapter(TimeSequence).validate_python({"data": rows(data), "edges": rows(edges)})
