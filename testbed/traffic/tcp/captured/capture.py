"""The TCP connections of a packet capture, as rows of a time-sequence chart.

Reads pcap files of Ethernet or Linux "cooked" frames (v1, v2) with IPv4, of which it needs the headers only, so a
capture may be cut after :data:`HEADER_BYTES` of each frame.
"""

import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import dpkt

from testbed.traffic.pcap import CutOff, NotACapture, frames

HEADER_BYTES = 160
"""Enough of a frame for the headers: link layer 20 at most, IPv4 60, TCP 60."""
LARGEST_SCALE = 14
"""Larger shifts are to be taken for this one (RFC 7323, 2.3)."""

Sender = Literal["client", "server"]
End = tuple[str, int]
"""Address and port."""

_LINK_LAYERS = {dpkt.pcap.DLT_EN10MB: (12, 14), dpkt.pcap.DLT_LINUX_SLL: (14, 16), dpkt.pcap.DLT_LINUX_SLL2: (0, 20)}
"""Offsets of the EtherType and the packet."""


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

    def sent_by(self, sender: Sender) -> list[Segment]:
        """The segments of one end."""
        return [segment for segment in self.segments if segment.sender == sender]

    @property
    def scaled(self) -> bool:
        """Whether both ends offered window scaling."""
        offered = [self.window_scale.get("client"), self.window_scale.get("server")]
        return None not in offered


def read_connections(path: Path) -> list[Connection]:
    """The connections of a capture, in the order of their first SYN; raises :class:`NotACapture`.

    Frames that are no TCP over IPv4, or whose headers are not whole, are passed over; a file that ends within a frame
    (a capture that was killed) is read as far as it goes. A new SYN between the same ports begins a new connection,
    unless it repeats the first one.
    """
    found: list[Connection] = []
    followed: dict[frozenset[End], _Followed] = {}
    for t_s, packet, tcp in _tcp_frames(path):
        source, destination = (socket.inet_ntoa(packet.src), tcp.sport), (socket.inet_ntoa(packet.dst), tcp.dport)
        ends = frozenset((source, destination))
        known = followed.get(ends)
        first_syn = tcp.flags & dpkt.tcp.TH_SYN and not tcp.flags & dpkt.tcp.TH_ACK
        if first_syn and not (known and known.began_with(source, tcp.seq)):
            known = followed[ends] = _Followed(Connection(source, destination, t_s))
            found.append(known.connection)
        if known:
            known.add(t_s, source, packet, tcp)
    return found


def _tcp_frames(path: Path) -> Iterator[tuple[float, Any, Any]]:
    """Time (Unix seconds), IPv4 packet and TCP segment of each frame that has them."""
    with suppress(CutOff):
        for frame in frames(path):
            if (layer := _LINK_LAYERS.get(frame.link_layer)) is None:
                raise NotACapture(
                    "capture.link-type",
                    f"{path} is not a readable capture: its frames are of link type {frame.link_layer}; use Ethernet "
                    "or Linux cooked ones",
                )
            if (packet := _tcp_packet(frame.data, *layer)) is not None:
                yield float(frame.time_s), packet, packet.data


def _tcp_packet(frame: bytes, type_at: int, packet_at: int) -> Any | None:
    """The IPv4 packet of a frame, where it is one with the whole headers of a TCP segment."""
    if int.from_bytes(frame[type_at : type_at + 2], "big") != dpkt.ethernet.ETH_TYPE_IP:
        return None
    if frame[packet_at + 9 : packet_at + 10] != bytes([dpkt.ip.IP_PROTO_TCP]):
        return None
    try:
        packet = dpkt.ip.IP(frame[packet_at:])
    except dpkt.UnpackError:
        return None
    tcp = packet.data
    if not isinstance(tcp, dpkt.tcp.TCP) or len(tcp.opts) != tcp.off * 4 - tcp.__hdr_len__:
        return None
    return packet


class _Followed:
    """A connection while its capture is read: what turns numbers of the wire into relative ones."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._initial: dict[Sender, int] = {}
        self._newest: dict[Sender, int] = {}
        """The largest relative sequence number seen of an end, as numbers near it tell how often they wrapped."""

    def began_with(self, source: End, seq: int) -> bool:
        """Whether a SYN is the one that the connection began with, sent again."""
        return source == self.connection.client and self._initial.get("client") == seq

    def add(self, t_s: float, source: End, packet: Any, tcp: Any) -> None:
        connection = self.connection
        sender: Sender = "client" if source == connection.client else "server"
        other: Sender = "server" if sender == "client" else "client"
        syn = bool(tcp.flags & dpkt.tcp.TH_SYN)
        if syn and sender not in self._initial:
            self._initial[sender], self._newest[sender] = tcp.seq, 0
            connection.window_scale[sender] = _window_shift(tcp.opts)
        if sender not in self._initial:  # the server's SYN was not captured
            return
        acknowledges = bool(tcp.flags & dpkt.tcp.TH_ACK) and other in self._initial
        payload_bytes = max(0, packet.len - packet.hl * 4 - tcp.off * 4)
        seq = self._relative(sender, tcp.seq)
        self._newest[sender] = max(self._newest[sender], seq + payload_bytes)
        shift = connection.window_scale[sender] if connection.scaled and not syn else 0
        connection.segments.append(
            Segment(
                t_s=t_s - connection.start_unix_s,
                sender=sender,
                seq=seq,
                ack=self._relative(other, tcp.ack) if acknowledges else None,
                payload_bytes=payload_bytes,
                window_bytes=tcp.win << (shift or 0),
                syn=syn,
            )
        )

    def _relative(self, sender: Sender, number: int) -> int:
        """A number of the wire as the relative one that is nearest to what was seen last of that end."""
        newest = self._newest[sender]
        behind = (number - self._initial[sender] - newest + (1 << 31)) % (1 << 32) - (1 << 31)
        return newest + behind


def _window_shift(options: bytes) -> int | None:
    """The window shift of a SYN's options; None where it lacks it, or they can't be read until there."""
    for option in dpkt.tcp.parse_opts(options):
        if option is None:
            return None
        kind, value = option
        if kind == dpkt.tcp.TCP_OPT_WSCALE and len(value) == 1:
            return min(int(value[0]), LARGEST_SCALE)
    return None
