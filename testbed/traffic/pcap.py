"""Packet captures (pcap), frame by frame: the one reader of all who look into packets."""

from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import dpkt

from testbed.errors import RunFailed

HEAD_BYTES = dpkt.pcap.FileHdr.__hdr_len__ + dpkt.pcap.PktHdr.__hdr_len__
"""Bytes of a file before its first frame."""
_LINK_LAYERS = {dpkt.pcap.DLT_EN10MB: (12, 14), dpkt.pcap.DLT_LINUX_SLL: (14, 16), dpkt.pcap.DLT_LINUX_SLL2: (0, 20)}
"""Offsets of the EtherType and the packet: of Ethernet, and of Linux "cooked" frames (v1, v2)."""


class NotACapture(RunFailed):
    """A file that is no pcap, or has no frames that can be read; the message names it."""


class CutOff(NotACapture):
    """The file ends within a frame's header, as a capture that was killed does."""


class Frame(NamedTuple):
    """One frame, as far as it was kept."""

    time_s: Decimal | float
    """Unix seconds; a float where the file has microseconds."""
    data: bytes
    link_layer: int
    """Link type of the file's frames: ``dpkt.pcap.DLT_…``."""

    @property
    def t_ns(self) -> int:
        """Unix nanoseconds, just as the file has them."""
        return int(self.time_s * 10**9) if isinstance(self.time_s, Decimal) else round(self.time_s * 1e6) * 1000


def frames(path: Path) -> Iterator[Frame]:
    """The frames of a capture in their order; raises :class:`NotACapture`, and :class:`CutOff` after the last one."""
    with path.open("rb") as file:
        try:
            reader = dpkt.pcap.Reader(file)
        except (ValueError, dpkt.UnpackError) as error:
            raise NotACapture("capture.not-pcap", f"{path} is not a readable capture: {error}") from error
        try:
            for time_s, data in reader:
                yield Frame(time_s, data, reader.datalink())
        except dpkt.UnpackError as error:
            raise CutOff("capture.cut-off", f"{path} ends within a frame") from error


def packets(path: Path) -> Iterator[tuple[Frame, Any]]:
    """The IPv4 packets of a capture (``dpkt.ip.IP``), each with its frame; raises :class:`NotACapture`.

    Frames without one, or in which its header is not whole, are passed over; a file that ends within a frame (a capture
    that was killed, or is still on) is read as far as it goes.
    """
    with suppress(CutOff):
        for frame in frames(path):
            if (layer := _LINK_LAYERS.get(frame.link_layer)) is None:
                raise NotACapture(
                    "capture.link-type",
                    f"{path} is not a readable capture: its frames are of link type {frame.link_layer}; use Ethernet "
                    "or Linux cooked ones",
                )
            type_at, packet_at = layer
            if int.from_bytes(frame.data[type_at : type_at + 2], "big") == dpkt.ethernet.ETH_TYPE_IP:
                with suppress(dpkt.UnpackError):
                    yield frame, dpkt.ip.IP(frame.data[packet_at:])


def payload_bytes(packet: Any) -> int:
    """Payload of UDP or TCP in a packet; 0 where their headers are not whole."""
    inner_bytes: int = packet.len - packet.hl * 4
    if packet.offset:
        return inner_bytes  # a further fragment: it has no header of UDP's or TCP's
    if isinstance(packet.data, dpkt.udp.UDP):
        return inner_bytes - 8
    return max(0, inner_bytes - 4 * int(packet.data.off)) if isinstance(packet.data, dpkt.tcp.TCP) else 0
