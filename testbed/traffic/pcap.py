"""Packet captures (pcap), frame by frame: the one reader of all who look into packets."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import dpkt

from testbed.message import InvalidValue

HEAD_BYTES = dpkt.pcap.FileHdr.__hdr_len__ + dpkt.pcap.PktHdr.__hdr_len__
"""Bytes of a file before its first frame."""


class NotACapture(InvalidValue):
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
