"""Writes captures whose content is known, as tcpdump would have."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpkt

CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 80)
WRAP = 1 << 32
FLAGS = {"S": dpkt.tcp.TH_SYN, "F": dpkt.tcp.TH_FIN, "R": dpkt.tcp.TH_RST, "P": dpkt.tcp.TH_PUSH, ".": dpkt.tcp.TH_ACK}


@dataclass
class Ends:
    """What the two ends of a connection announced: initial sequence numbers, window shifts, segment sizes."""

    isn: dict[str, int]
    shift: dict[str, int | None]
    mss: int | None = 1460
    client: tuple[str, int] = CLIENT
    server: tuple[str, int] = SERVER

    def frame(
        self, sender: str, flags: str, seq: int, ack: int, window: int, payload: int = 0, layer: str = "ethernet"
    ) -> bytes:
        """A frame with relative numbers; ``window`` is what is in the header. A SYN has the options."""
        other = "server" if sender == "client" else "client"
        source, destination = (self.client, self.server) if sender == "client" else (self.server, self.client)
        tcp = dpkt.tcp.TCP(
            sport=source[1],
            dport=destination[1],
            seq=(self.isn[sender] + seq) % WRAP,
            ack=(self.isn[other] + ack) % WRAP if "." in flags else 0,
            flags=sum(FLAGS[letter] for letter in flags),
            win=window,
        )
        if "S" in flags:
            tcp.opts = self._options(sender)
            tcp.off = 5 + len(tcp.opts) // 4
        tcp.data = b"x" * payload
        packet = dpkt.ip.IP(
            src=_packed(source[0]), dst=_packed(destination[0]), p=dpkt.ip.IP_PROTO_TCP, data=tcp, ttl=64
        )
        packet.len = len(packet)
        return link_layer(layer, dpkt.ethernet.ETH_TYPE_IP) + bytes(packet)

    def _options(self, sender: str) -> bytes:
        options = b"" if self.mss is None else struct.pack("!BBH", 2, 4, self.mss)
        shift = self.shift[sender]
        if shift is not None:
            options += bytes([1, 3, 3, shift])
        return options

    def handshake(self, windows: tuple[int, int, int], layer: str = "ethernet") -> list[bytes]:
        """SYN, SYN-ACK and ACK with these windows in their headers."""
        return [
            self.frame("client", "S", 0, 0, windows[0], layer=layer),
            self.frame("server", "S.", 0, 1, windows[1], layer=layer),
            self.frame("client", ".", 1, 1, windows[2], layer=layer),
        ]


LINK_TYPES = {"ethernet": 1, "cooked": 113, "cooked2": 276}


def link_layer(layer: str, ether_type: int) -> bytes:
    """The header before the packet."""
    if layer == "ethernet":
        return bytes(12) + struct.pack("!H", ether_type)
    if layer == "cooked":
        return struct.pack("!HHH8sH", 0, 1, 6, bytes(8), ether_type)
    return struct.pack("!HHiHBB8s", ether_type, 0, 2, 1, 0, 6, bytes(8))


def write(path: Path, frames: list[tuple[float, bytes]], layer: str = "ethernet", snap: int = 65535) -> None:
    """Frames at their times (Unix seconds), each cut after ``snap`` bytes."""
    with path.open("wb") as file:
        writer: Any = dpkt.pcap.Writer(file, snaplen=snap, linktype=LINK_TYPES[layer])
        for t_s, frame in frames:
            writer.writepkt_time(frame[:snap], t_s)


def _packed(address: str) -> bytes:
    return bytes(int(part) for part in address.split("."))
