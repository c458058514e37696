"""The benchmark of the protocol's speed: agents over a link without any limit, beside iperf3's TCP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed.engines.mininet.engine import ENGINE
from testbed.lab import speed, tcp
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.ends import Between
from testbed.lab.figures import Spread
from testbed.lab.result import Section, Target

TARGET_BPS = 1e9
FAST = "NCP over UDP"
TCP = "TCP (iperf3)"
SESSIONS = {
    FAST: speed.Session("udp", ack_interval_ms=5, max_ack_ranges=512),
    "NCP over UDP, 4 connections": speed.Session("udp", ack_interval_ms=5, max_ack_ranges=512, connections=4),
    "NCP over TCP": speed.Session("tcp", ack_interval_ms=5, max_ack_ranges=512),
    "NCP over UDP, the protocol's defaults": speed.Session("udp", ack_interval_ms=50, max_ack_ranges=32),
}
TRANSFER_BYTES, QUICK_TRANSFER_BYTES = 1 << 30, 1 << 28
REPEATS, QUICK_REPEATS = 5, 1
IPERF_S = 3
GROWTH_WINDOWS = 2
"""Both ends may grow by so many times both windows: what they hold, and as much that is not yet collected."""
SOCKET_BYTES = 1 << 20
"""Both ends may grow by this, too, for each socket's own buffers."""


@dataclass
class Measured:
    """One candidate's repeats."""

    goodput_bps: list[float] = field(default_factory=list)
    cpu_s_per_gb: list[float] = field(default_factory=list)
    transfers: list[speed.Transfer] = field(default_factory=list)
    """Transfers of the agents; iperf3 has fewer figures."""


def measure(requested: Measurement) -> None:
    """Each session and TCP in turn, over the same two namespaces."""
    repeats = QUICK_REPEATS if requested.quick else REPEATS
    transfer_bytes = QUICK_TRANSFER_BYTES if requested.quick else TRANSFER_BYTES
    found = {name: Measured() for name in (*SESSIONS, TCP)}
    for number in range(repeats):
        requested.load.sample()
        with speed.joined() as between:
            for name, measured in found.items():
                requested.say(f"repeat {number + 1} of {repeats}: {name}")
                if name == TCP:
                    _iperf3(between, measured)
                else:
                    _ncp(between, requested.programs.binaries[ENGINE.agent], SESSIONS[name], transfer_bytes, measured)
    requested.add(section(found, transfer_bytes))


def _ncp(between: Between, binary: Path, session: speed.Session, transfer_bytes: int, into: Measured) -> None:
    if session.ack_interval_ms >= 50:
        transfer_bytes //= 4  # it is slow by its interval; longer tells no more
    found = speed.transfer(between, binary, session, transfer_bytes)
    into.goodput_bps.append(found.goodput_bps)
    into.cpu_s_per_gb.append(found.cpu_s_per_gb)
    into.transfers.append(found)


def _iperf3(between: Between, into: Measured) -> None:
    before_s = speed.cpu_s()
    goodput_bps = tcp.goodput_bps(between, IPERF_S)
    into.goodput_bps.append(goodput_bps)
    carried_bytes = goodput_bps / 8 * (IPERF_S + tcp.WARM_UP_S)
    into.cpu_s_per_gb.append((speed.cpu_s() - before_s) / (carried_bytes / 1e9))


def section(found: dict[str, Measured], transfer_bytes: int) -> Section:
    """The table and its targets."""
    made = Section(
        "speed",
        "Payload rate of one session between two network namespaces, no limit on the link",
        ["sender and receiver", "Mbit/s", "of TCP's", "bound", "CPU s/GB", "peak MiB", "grown MiB", "sent again", "N"],
    )
    reference_bps = Spread.of(found[TCP].goodput_bps).median
    for name, measured in found.items():
        goodput = Spread.of(measured.goodput_bps)
        made.rows.append(
            [
                name,
                f"{Spread.of([bps / 1e6 for bps in measured.goodput_bps]):.0f}",
                f"{goodput.median / reference_bps:.2f}",
                f"{SESSIONS[name].bound_bps / 1e6:.0f}" if name in SESSIONS else "–",
                f"{Spread.of(measured.cpu_s_per_gb).median:.2f}",
                *_memory(measured.transfers),
                str(goodput.n),
            ]
        )
        made.raw[name] = {
            "goodput_bps": measured.goodput_bps,
            "cpu_s_per_gb": measured.cpu_s_per_gb,
            "peak_bytes": [t.peak_bytes for t in measured.transfers],
            "growth_bytes": [t.growth_bytes for t in measured.transfers],
            "resent_share": [t.resent_share for t in measured.transfers],
        }
    made.targets = targets(found)
    made.notes.append(
        f"Each NCP transfer is {transfer_bytes >> 20} MiB (a quarter with the defaults) of random bytes, hashed at "
        "both ends, which takes most of the CPU time; MTU 1024, windows of 4 MiB, policy nkp24. A session carries at "
        "most a window per acknowledgement interval (bound): 671 Mbit/s with the protocol's 50 ms, so the others "
        "acknowledge every 5 ms, in up to 512 ranges. Over UDP equal datagrams pass through the kernel in runs, as "
        "TCP's segments do."
    )
    made.notes.append(
        f"iperf3: one stream, cubic, {IPERF_S} s after {tcp.WARM_UP_S} s that are left out, over the same veth pair, "
        "after the sessions in each repeat. CPU: both processes together, kernel included. Peak: the larger agent's "
        "resident memory; grown: both agents' beyond that before the transfer."
    )
    return made


def _memory(transfers: Sequence[speed.Transfer]) -> list[str]:
    if not transfers:
        return ["–", "–", "–"]
    return [
        f"{max(t.peak_bytes for t in transfers) / 2**20:.1f}",
        f"{max(t.growth_bytes for t in transfers) / 2**20:.1f}",
        f"{Spread.of([t.resent_share for t in transfers]).median:.1%}",
    ]


def targets(found: dict[str, Measured]) -> list[Target]:
    """The rate, and the memory of every session."""
    goodput_bps = Spread.of(found[FAST].goodput_bps).median
    made = [
        Target(FAST, f"≥ {TARGET_BPS / 1e6:.0f} Mbit/s", f"{goodput_bps / 1e6:.0f} Mbit/s", goodput_bps >= TARGET_BPS)
    ]
    for name, session in SESSIONS.items():
        bound_bytes = GROWTH_WINDOWS * 2 * session.send_window_bytes + 2 * session.connections * SOCKET_BYTES
        grown_bytes = max(t.growth_bytes for t in found[name].transfers)
        made.append(
            Target(
                f"memory, {name}",
                f"grows by ≤ {bound_bytes >> 20} MiB: {GROWTH_WINDOWS} × both windows, and buffers",
                f"{grown_bytes / 2**20:.1f} MiB",
                grown_bytes <= bound_bytes,
            )
        )
    return made


BENCHMARK = Benchmark("bench-ncp", "Speed of `ncp-agent`", ENGINE, measure, holds_machine=True)
