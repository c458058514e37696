"""Recomputes a sender's windows and timeouts from every acknowledgement and every timeout in its trace.

The rules are written here once more, from NKP-0024 and ncp-go 1.0.0: +1 for each acknowledged packet that was not sent
again, half for each that timed out, at least 1; ``nkp24`` scales them so that their sum is the session's window;
``previous`` has whole packets and at most 256. A timeout follows three round trips, by at most 0.1 s per sample.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FLOOR, CAP, FIRST_RTO_MS, MOST_RTO_MS = 1.0, 256.0, 5_000.0, 10_000.0
ROUNDED = 0.01
"""Packets: a trace has windows in thousandths, and one follows from another."""
MOST_IN_HAND = 60
"""Packets that were handed out and wait for their socket: a round trip begins when that took one, and a trace has when
it was handed out."""


@dataclass
class Flight:
    """A packet on a connection, since it was first sent there; ``waits``: it timed out and was not sent there again."""

    sent_ms: float
    waits: bool = False


@dataclass
class Sender:
    """What the rules make of a trace."""

    policy: str
    window: float
    """Packets of the session's window."""
    windows: dict[int, float] = field(default_factory=dict)
    rtos_ms: dict[int, float] = field(default_factory=lambda: defaultdict(lambda: FIRST_RTO_MS))
    flights: dict[int, dict[int, Flight]] = field(default_factory=lambda: defaultdict(dict))
    """By sequence and connection."""
    acked: set[int] = field(default_factory=set)

    def sent(self, connection: int, sequence: int, at_ms: float) -> None:
        flight = self.flights[sequence].setdefault(connection, Flight(at_ms))
        flight.waits = False

    def acknowledged(self, connection: int, sequence: int, at_ms: float) -> None:
        if sequence in self.acked:
            return
        self.acked.add(sequence)
        for carrier, flight in self.flights.pop(sequence, {}).items():
            if not flight.waits:
                more = self.windows[carrier] + 1
                self.windows[carrier] = more if self.policy == "nkp24" else min(more, CAP)
            if carrier == connection:
                off_s = (3 * (at_ms - flight.sent_ms) - self.rtos_ms[carrier]) / 1000
                self.rtos_ms[carrier] = min(self.rtos_ms[carrier] + 100 * math.tanh(off_s), MOST_RTO_MS)

    def timed_out(self, connection: int, sequence: int) -> None:
        self.flights[sequence][connection].waits = True
        half = self.windows[connection] / 2
        self.windows[connection] = max(FLOOR, half if self.policy == "nkp24" else math.floor(half))

    def end_batch(self) -> None:
        if self.policy == "nkp24":
            total = sum(self.windows.values())
            self.windows = {c: max(FLOOR, self.window * w / total) for c, w in self.windows.items()}


def differences(trace: Path, policy: str, slowest_pps: float) -> Iterator[str]:
    """The first window or timeout in a trace that the rules don't give."""
    off_ms = 3 * 1000 * MOST_IN_HAND / slowest_pps
    lines = [json.loads(line.strip(b"\x1e\n")) for line in trace.read_bytes().splitlines() if line.strip(b"\x1e\n")]
    events = [(one["time"], one["name"], one["data"]) for one in lines if "name" in one]
    sender = Sender(policy, 0.0)
    for number, (at_ms, name, data) in enumerate(events):
        packet: dict[str, Any] = data.get("packet", {})
        if name == "ncp:packet_received" and (agreed := packet.get("handshake")):
            sender.window = agreed["window"] / agreed["mtu"]
        elif name == "ncp:packet_sent" and "sequence" in packet:
            sender.sent(data["connection"], packet["sequence"], at_ms)
        elif name == "ncp:packet_received" and "acked_ranges" in packet:
            for first, last in packet["acked_ranges"]:
                for sequence in range(first, last + 1):
                    sender.acknowledged(data["connection"], sequence, at_ms)
            sender.end_batch()
        elif name == "ncp:packet_lost":
            sender.timed_out(data["connection"], data["sequence"])
            if events[number + 1][:2] != (at_ms, name) or events[number + 1][2]["connection"] != data["connection"]:
                sender.end_batch()
        elif name == "ncp:metrics_updated":
            connection = data["connection"]
            window = sender.windows.setdefault(connection, data["window"])
            if abs(window - data["window"]) > ROUNDED:
                yield f"{at_ms:.0f} ms, connection {connection}: window {data['window']:.3f}, by the rule {window:.3f}"
                return
            rto_ms = sender.rtos_ms[connection]
            if not rto_ms - off_ms <= data["rto"] <= rto_ms * (1 + 1e-6):
                yield f"{at_ms:.0f} ms, connection {connection}: RTO {data['rto']:.3f} ms, by the rule {rto_ms:.3f}"
                return
