"""The benchmark of the protocol's speed: agents over a link without any limit, beside iperf3's TCP."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from testbed.engines.mininet.engine import ENGINE
from testbed.errors import RunFailed
from testbed.lab import instrument
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.ends import Between, End, namespace
from testbed.lab.table import Section, Spread
from testbed.runtime.agents import AgentPlace, ProcessAgent, control, why_it_ended
from testbed.runtime.processes import Supervised, children_cpu_s
from testbed.runtime.transfer import await_ready
from topologies.commands import in_namespace, run
from topologies.fabric import namespace_of

SESSION = "s1"
SENDER, RECEIVER = "198.18.1.1", "198.18.1.2"
PREFIX_BITS = 30
POLL_S = 0.02
READY_S, TRANSFER_S = 20.0, 120.0
SLOWEST_BYTES_PER_S = 8e6
"""A transfer that takes longer than TRANSFER_S at this rate is given the time."""


@dataclass(frozen=True)
class Session:
    """Parameters of a session of the benchmark."""

    transport: str
    ack_interval_ms: float
    max_ack_ranges: int
    connections: int = 1
    send_window_bytes: int = 4 << 20
    mtu_bytes: int = 1024
    policy: str = "nkp24"

    @property
    def bound_bps(self) -> float:
        """A window per acknowledgement interval: no more is possible, however fast the machine."""
        return self.send_window_bytes * 8 / (self.ack_interval_ms / 1000)

    def plan(self, transfer_bytes: int) -> dict[str, object]:
        """The agents' plan: sockets with the kernel's own send buffer, on one link."""
        connections = [
            {
                "index": number,
                "link": f"link{number}",
                "send_buffer_packets": 0,
                "sender": f"{SENDER}:{30000 + number}",
                "receiver": f"{RECEIVER}:{30000 + number}",
            }
            for number in range(1, self.connections + 1)
        ]
        session = asdict(self) | {
            "name": SESSION,
            "transfer_bytes": transfer_bytes,
            "initial_windows": None,
            "timeout_check_ms": 50,
            "linger_ms": 1000,
            "connections": connections,
        }
        return {
            "schema": 1,
            "run": "bench",
            "scenario": "bench-ncp",
            "seed": 1,
            "sessions": [session],
            "telemetry": {"interval_ms": 100, "url": "http://127.0.0.1:8086", "database": "unused"},
        }


TARGET_BPS = 1e9
FAST = "NCP over UDP"
TCP = "TCP (iperf3)"
SESSIONS = {
    FAST: Session("udp", ack_interval_ms=5, max_ack_ranges=512),
    "NCP over UDP, 4 connections": Session("udp", ack_interval_ms=5, max_ack_ranges=512, connections=4),
    "NCP over TCP": Session("tcp", ack_interval_ms=5, max_ack_ranges=512),
    "NCP over UDP, the protocol's defaults": Session("udp", ack_interval_ms=50, max_ack_ranges=32),
}
TRANSFER_BYTES, QUICK_TRANSFER_BYTES = 1 << 30, 1 << 28
REPEATS, QUICK_REPEATS = 5, 1
IPERF_S = 3
GROWTH_WINDOWS = 2
"""Growth that both ends may have, in parts of both windows: what they hold, and as much that is not yet collected."""
SOCKET_BYTES = 1 << 20
"""Both ends may grow by this, too, for each socket's own buffers."""


@dataclass(frozen=True)
class Transfer:
    """The result of one transfer; iperf3's has no more than the first two figures."""

    goodput_bps: float
    cpu_s_per_gb: float
    """Processor seconds of both ends together, kernel included, for 10⁹ bytes."""
    peak_bytes: int = 0
    """The larger of both agents' largest resident memory."""
    growth_bytes: int = 0
    """The growth of both agents' memory beyond that before the transfer."""
    resent_share: float = 0.0
    """Packets sent again, of all sent."""


def measure(requested: Measurement) -> None:
    """Each session and TCP in turn, over the same two namespaces."""
    repeats = QUICK_REPEATS if requested.quick else REPEATS
    transfer_bytes = QUICK_TRANSFER_BYTES if requested.quick else TRANSFER_BYTES
    agent = requested.programs.binaries[ENGINE.agent]
    found: dict[str, list[Transfer]] = {name: [] for name in (*SESSIONS, TCP)}
    for number in range(repeats):
        requested.load.sample()
        with joined() as between:
            for name, session in SESSIONS.items():
                requested.say(f"repeat {number + 1} of {repeats}: {name}")
                # One with the protocol's defaults is slow by its interval; longer tells no more.
                size_bytes = transfer_bytes // 4 if session.ack_interval_ms >= 50 else transfer_bytes
                found[name].append(transfer(between, agent, session, size_bytes))
            requested.say(f"repeat {number + 1} of {repeats}: {TCP}")
            before_s = children_cpu_s()
            goodput_bps = instrument.tcp_goodput_bps(between, IPERF_S)
            carried_gb = goodput_bps / 8 * (IPERF_S + instrument.WARM_UP_S) / 1e9
            found[TCP].append(Transfer(goodput_bps, (children_cpu_s() - before_s) / carried_gb))
    requested.add(section(found, transfer_bytes))


@contextmanager
def joined() -> Iterator[Between]:
    """Two network namespaces with a veth pair between them; packets go from ``a`` to ``b``."""
    with namespace() as a, namespace() as b:
        run(["ip", "link", "add", "ncp0", "netns", str(a), "type", "veth", "peer", "ncp0", "netns", str(b)])
        for pid, address in ((a, SENDER), (b, RECEIVER)):
            for words in (f"address add {address}/{PREFIX_BITS} dev ncp0", "link set ncp0 up"):
                run(in_namespace(namespace_of(pid), ["ip", *words.split()]))
        yield Between(End(namespace_of(a), SENDER), End(namespace_of(b), RECEIVER))


def transfer(between: Between, binary: Path, session: Session, transfer_bytes: int) -> Transfer:
    """Carry that many bytes from ``a`` to ``b``; raises :class:`RunFailed` if they don't arrive as they were."""
    before_s = children_cpu_s()
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as name:
        folder = Path(name)
        (folder / "plan.json").write_text(json.dumps(session.plan(transfer_bytes)))
        agents = [_Agent(binary, folder, "receiver", between.b), _Agent(binary, folder, "sender", between.a)]
        try:
            await_ready(agents, timeout_s=READY_S)
            idle_bytes = sum(agent.peak_bytes() for agent in agents)
            control(agents[1].place, "POST", "/start")
            peaks = _peaks_until_over(agents, max(TRANSFER_S, transfer_bytes / SLOWEST_BYTES_PER_S))
        finally:
            for agent in agents:
                agent.stop()
        received, sent = (agent.place.result() or {} for agent in agents)
    if received["sha256"] != sent["sha256"] or received["bytes"] != transfer_bytes:
        raise RunFailed(
            "bench.bytes-missing", f"{received['bytes']} of {transfer_bytes} bytes arrived, or not the same ones"
        )
    packets, again = (sum(connection[key] for connection in sent["connections"]) for key in ("sent", "resent"))
    return Transfer(
        goodput_bps=received["goodput_bps"],
        cpu_s_per_gb=(children_cpu_s() - before_s) / (transfer_bytes / 1e9),
        peak_bytes=max(peaks),
        growth_bytes=sum(peaks) - idle_bytes,
        resent_share=again / packets,
    )


def _peaks_until_over(agents: Sequence[_Agent], limit_s: float) -> list[int]:
    """Each agent's largest resident memory, watched until both have ended well."""
    deadline = time.monotonic() + limit_s
    peaks = [0] * len(agents)
    while any(agent.exit_code() is None for agent in agents):
        if time.monotonic() > deadline:
            raise RunFailed("bench.transfer-not-over", f"the transfer was not over after {limit_s:.0f} s")
        peaks = [max(peak, agent.peak_bytes()) for peak, agent in zip(peaks, agents, strict=True)]
        time.sleep(POLL_S)
    for agent in agents:
        if agent.exit_code():
            raise RunFailed.of(why_it_ended(agent))
    return peaks


class _Agent(ProcessAgent):
    """An agent with this process' own rights: only what it does itself is measured."""

    def __init__(self, binary: Path, folder: Path, role: str, end: End) -> None:
        own = folder / role
        own.mkdir()
        plan, log = folder / "plan.json", folder / f"{role}.log"
        self.place = AgentPlace(role, role, SESSION, plan, own, own, credentials=None, log=log)
        command = [str(binary), *self.place.arguments(plan, own, own, None)]
        Supervised.__init__(self, f"the {role}", command, log, namespace=end.namespace)

    def peak_bytes(self) -> int:
        """The largest resident memory so far; 0 when it has ended."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        lines = (line.split() for line in status.splitlines())
        return next((int(words[1]) * 1024 for words in lines if words[0] == "VmHWM:"), 0)


def section(found: dict[str, list[Transfer]], transfer_bytes: int) -> Section:
    """The table and its targets."""
    made = Section(
        "speed",
        "Payload rate of one session between two network namespaces, no limit on the link",
        ["sender and receiver", "Mbit/s", "of TCP's", "bound", "CPU s/GB", "peak MiB", "grown MiB", "sent again", "N"],
    )
    rates_mbps = {name: Spread.of([t.goodput_bps / 1e6 for t in transfers]) for name, transfers in found.items()}
    for name, transfers in found.items():
        rate_mbps, session = rates_mbps[name], SESSIONS.get(name)
        of_agents = [
            f"{max(t.peak_bytes for t in transfers) / 2**20:.1f}",
            f"{max(t.growth_bytes for t in transfers) / 2**20:.1f}",
            f"{Spread.of([t.resent_share for t in transfers]).median:.1%}",
        ]
        made.row(
            name,
            f"{rate_mbps:.0f}",
            f"{rate_mbps.median / rates_mbps[TCP].median:.2f}",
            f"{session.bound_bps / 1e6:.0f}" if session else "–",
            f"{Spread.of([t.cpu_s_per_gb for t in transfers]).median:.2f}",
            *(of_agents if session else ["–"] * len(of_agents)),
            str(rate_mbps.n),
        )
        measured = fields(Transfer) if session else fields(Transfer)[:2]
        made.raw[name] = {figure.name: [getattr(t, figure.name) for t in transfers] for figure in measured}
    made.at_least(FAST, rates_mbps[FAST].median, TARGET_BPS / 1e6, ".0f", " Mbit/s")
    for name, session in SESSIONS.items():
        bound_bytes = GROWTH_WINDOWS * 2 * session.send_window_bytes + 2 * session.connections * SOCKET_BYTES
        grown_bytes = max(t.growth_bytes for t in found[name])
        expected = f"grows by ≤ {bound_bytes >> 20} MiB: {GROWTH_WINDOWS} × both windows, and buffers"
        made.target(f"memory, {name}", expected, f"{grown_bytes / 2**20:.1f} MiB", grown_bytes <= bound_bytes)
    made.notes.append(
        f"Each NCP transfer is {transfer_bytes >> 20} MiB (a quarter with the defaults) of random bytes, hashed at "
        "both ends, which takes most of the CPU time; MTU 1024, windows of 4 MiB, policy nkp24. Bound: a window per "
        "acknowledgement interval, of 5 ms but for the protocol's defaults."
    )
    made.notes.append(
        f"iperf3: one stream, cubic, {IPERF_S} s after {instrument.WARM_UP_S} s that are left out. CPU: both "
        "processes together. Peak: the larger agent's resident memory; grown: both agents' beyond that before."
    )
    return made


BENCHMARK = Benchmark("bench-ncp", "Speed of `ncp-agent`", ENGINE, measure, holds_machine=True)
