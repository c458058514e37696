"""The TCP connections of a packet capture, as rows of a time-sequence chart.

Needs the headers only, so a capture may be cut after :data:`HEADER_BYTES` of each frame.
"""

import socket
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, NamedTuple

import dpkt

from testbed.traffic.pcap import packets, payload_bytes

HEADER_BYTES = 160
"""Enough of a frame for the headers: link layer 20 at most, IPv4 60, TCP 60."""
LARGEST_SCALE = 14
"""Larger shifts are to be taken for this one (RFC 7323, 2.3)."""

Sender = Literal["client", "server"]
End = tuple[str, int]
"""Address and port."""


class Segment(NamedTuple):
    """One TCP segment, as it passed where it was captured."""

    t_s: float
    """Seconds since the first segment of its connection."""
    sender: Sender
    """The sending end; the client is the one that sent the first SYN."""
    seq: int
    """Relative: the SYN has 0, the first byte of data 1. Does not wrap."""
    ack: int | None
    """Relative to the other end's SYN in the same way; None without the flag."""
    payload_bytes: int
    window_bytes: int
    """Window as its sender announced it, scaled by the shift of the handshake. A SYN's window is never scaled."""
    syn: bool
    """Whether it is of the handshake, the first segment of its sender."""


@dataclass
class Connection:
    """One connection from its SYN on. A connection whose SYN was not captured can't be scaled and is left out."""

    client: End
    server: End
    start_unix_s: float
    segments: list[Segment] = field(default_factory=list)
    """Segments in the order of the capture."""
    window_scale: dict[Sender, int | None] = field(default_factory=dict)
    """The shift that an end offered in its SYN, None where it offered none. In use only when both offered one."""
    _initial: dict[Sender, int] = field(default_factory=dict)
    """The number on the wire of an end's SYN."""
    _newest: dict[Sender, int] = field(default_factory=dict)
    """The largest relative sequence number seen of an end, as numbers near it tell how often they wrapped."""

    def sent_by(self, sender: Sender) -> list[Segment]:
        """The segments of one end."""
        return [segment for segment in self.segments if segment.sender == sender]

    def began_with(self, source: End, seq: int) -> bool:
        """Whether a SYN is the one that it began with, sent again."""
        return source == self.client and self._initial.get("client") == seq

    def add(self, t_s: float, source: End, packet: Any) -> None:
        """Add a segment that was captured, with its numbers of the wire as relative ones."""
        tcp = packet.data
        sender: Sender = "client" if source == self.client else "server"
        other: Sender = "server" if sender == "client" else "client"
        syn = bool(tcp.flags & dpkt.tcp.TH_SYN)
        if syn and sender not in self._initial:
            self._initial[sender], self._newest[sender] = tcp.seq, 0
            self.window_scale[sender] = _window_shift(tcp.opts)
        if sender not in self._initial:  # the server's SYN was not captured
            return
        acknowledges = bool(tcp.flags & dpkt.tcp.TH_ACK) and other in self._initial
        seq, payload = self._relative(sender, tcp.seq), payload_bytes(packet)
        self._newest[sender] = max(self._newest[sender], seq + payload)
        offered = self.window_scale.get("client"), self.window_scale.get("server")
        shift = 0 if syn or None in offered else self.window_scale[sender]
        self.segments.append(
            Segment(
                t_s=t_s - self.start_unix_s,
                sender=sender,
                seq=seq,
                ack=self._relative(other, tcp.ack) if acknowledges else None,
                payload_bytes=payload,
                window_bytes=tcp.win << (shift or 0),
                syn=syn,
            )
        )

    def _relative(self, sender: Sender, number: int) -> int:
        """A number of the wire as the relative one that is nearest to what was seen last of that end."""
        newest = self._newest[sender]
        behind = (number - self._initial[sender] - newest + (1 << 31)) % (1 << 32) - (1 << 31)
        return newest + behind


def read_connections(path: Path) -> list[Connection]:
    """The connections of a capture, in the order of their first SYN; raises
    :class:`~testbed.traffic.pcap.NotACapture`.

    Frames that are no TCP over IPv4, or whose headers are not whole, are passed over. A new SYN between the same ports
    begins a new connection, unless it repeats the first one.
    """
    found: list[Connection] = []
    followed: dict[frozenset[End], Connection] = {}
    for frame, packet in packets(path):
        tcp = packet.data
        if not isinstance(tcp, dpkt.tcp.TCP) or len(tcp.opts) != tcp.off * 4 - tcp.__hdr_len__:
            continue
        source, destination = (socket.inet_ntoa(packet.src), tcp.sport), (socket.inet_ntoa(packet.dst), tcp.dport)
        ends = frozenset((source, destination))
        known = followed.get(ends)
        first_syn = tcp.flags & dpkt.tcp.TH_SYN and not tcp.flags & dpkt.tcp.TH_ACK
        if first_syn and not (known and known.began_with(source, tcp.seq)):
            known = followed[ends] = Connection(source, destination, float(frame.time_s))
            found.append(known)
        if known:
            known.add(float(frame.time_s), source, packet)
    return found


def _window_shift(options: bytes) -> int | None:
    """The window shift of a SYN's options; None where it lacks it, or they can't be read until there."""
    for kind, value in takewhile(bool, dpkt.tcp.parse_opts(options)):
        if kind == dpkt.tcp.TCP_OPT_WSCALE and len(value) == 1:
            return min(int(value[0]), LARGEST_SCALE)
    return None
