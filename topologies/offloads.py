"""Turns an interface's offloads off, as ``ethtool -K`` does, without a process for each interface."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from collections.abc import Sequence

SIOCETHTOOL = 0x8946
# linux/ethtool.h
ETHTOOL_GSTRINGS, ETHTOOL_SFEATURES = 0x1B, 0x3B
ETH_SS_FEATURES = 4
NAME_BYTES, MOST_FEATURES = 32, 512  # the kernel fills in how many there are

OFFLOADS = ("tx-checksum-", "tx-generic-segmentation", "tx-tcp", "rx-gro")
"""Beginnings of the names of features: transmit checksums, segmentation, receive offload."""
BESIDE_TCP = ("tx-udp-", "rx-gro")
"""Offloads that are off even where TCP's segments stay whole."""


def plain_frames(interfaces: Sequence[str], *, but_for_tcp: bool = False) -> None:
    """Turn offloads of interfaces in the current namespace off; raises :class:`OSError`.

    Segmentation makes bursts beyond the rate, and with TX checksum offload a frame that user space forwards
    arrives with a bad checksum, unless it knows of both.
    """
    offloads = BESIDE_TCP if but_for_tcp else OFFLOADS
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for interface in interfaces:
            try:
                names = _features(any_socket, interface)
                _turn_off(any_socket, interface, [name.startswith(offloads) for name in names])
            except OSError as error:
                raise OSError(error.errno, f"{interface}: turn offloads off: {error.strerror}") from error


def _features(any_socket: socket.socket, interface: str) -> list[str]:
    request = struct.pack("III", ETHTOOL_GSTRINGS, ETH_SS_FEATURES, 0)
    answer = _ethtool(any_socket, interface, request + bytes(MOST_FEATURES * NAME_BYTES))
    count = struct.unpack_from("III", answer)[2]
    return [
        answer[start : start + NAME_BYTES].split(b"\0")[0].decode()
        for start in range(12, 12 + count * NAME_BYTES, NAME_BYTES)
    ]


def _turn_off(any_socket: socket.socket, interface: str, chosen: Sequence[bool]) -> None:
    request = struct.pack("II", ETHTOOL_SFEATURES, (len(chosen) + 31) // 32)
    for first in range(0, len(chosen), 32):
        valid = sum(1 << bit for bit, off in enumerate(chosen[first : first + 32]) if off)
        request += struct.pack("II", valid, 0)  # to be changed, and to what
    _ethtool(any_socket, interface, request)


def _ethtool(any_socket: socket.socket, interface: str, request: bytes) -> bytes:
    data = array.array("B", request)
    address, _ = data.buffer_info()
    fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), address))
    return data.tobytes()
