"""The speed of a session between two agents over a link without any limit, and its cost."""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.lab.ends import Between, End, namespace
from testbed.runtime.agents import AgentPlace, control
from testbed.runtime.processes import Supervised
from topologies.commands import run
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
        session = {
            "name": SESSION,
            "policy": self.policy,
            "transport": self.transport,
            "transfer_bytes": transfer_bytes,
            "send_window_bytes": self.send_window_bytes,
            "mtu_bytes": self.mtu_bytes,
            "initial_windows": None,
            "ack_interval_ms": self.ack_interval_ms,
            "max_ack_ranges": self.max_ack_ranges,
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


@dataclass(frozen=True)
class Transfer:
    """The result of one transfer."""

    goodput_bps: float
    cpu_s_per_gb: float
    """Processor seconds of both ends together, kernel included, for 10⁹ bytes."""
    peak_bytes: int
    """The larger of both agents' largest resident memory."""
    growth_bytes: int
    """The growth of both agents' memory beyond that before the transfer."""
    resent_share: float
    """Packets sent again, of all sent."""


@contextmanager
def joined() -> Iterator[Between]:
    """Two network namespaces with a veth pair between them; packets go from ``a`` to ``b``."""
    with namespace() as a, namespace() as b:
        run(["ip", "link", "add", "ncp0", "netns", str(a), "type", "veth", "peer", "ncp0", "netns", str(b)])
        for pid, address in ((a, SENDER), (b, RECEIVER)):
            for words in (f"address add {address}/{PREFIX_BITS} dev ncp0", "link set ncp0 up"):
                run(["nsenter", f"--net={namespace_of(pid)}", "--", "ip", *words.split()])
        yield Between(End(namespace_of(a), SENDER), End(namespace_of(b), RECEIVER))


def cpu_s() -> float:
    """Processor seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def transfer(between: Between, binary: Path, session: Session, transfer_bytes: int) -> Transfer:
    """Carry that many bytes from ``a`` to ``b``; raises :class:`RunFailed` if they don't arrive as they were."""
    before_s = cpu_s()
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as name:
        folder = Path(name)
        (folder / "plan.json").write_text(json.dumps(session.plan(transfer_bytes)))
        ends = [_End(binary, folder, "receiver", between.b), _End(binary, folder, "sender", between.a)]
        try:
            for end in ends:
                end.await_ready()
            idle_bytes = sum(end.peak_bytes() for end in ends)
            control(ends[1], "POST", "/start")
            peaks = _peaks_until_over(ends, max(TRANSFER_S, transfer_bytes / SLOWEST_BYTES_PER_S))
        finally:
            for end in ends:
                end.stop()
        received, sent = (end.result() for end in ends)
    if received["sha256"] != sent["sha256"] or received["bytes"] != transfer_bytes:
        raise RunFailed(
            "bench.bytes-missing",
            "{received} of {transfer_bytes} bytes arrived, or not the same ones",
            received=received["bytes"],
            transfer_bytes=transfer_bytes,
        )
    packets = sum(connection["sent"] for connection in sent["connections"])
    again = sum(connection["resent"] for connection in sent["connections"])
    return Transfer(
        goodput_bps=received["goodput_bps"],
        cpu_s_per_gb=(cpu_s() - before_s) / (transfer_bytes / 1e9),
        peak_bytes=max(peaks),
        growth_bytes=sum(peaks) - idle_bytes,
        resent_share=again / packets,
    )


def _peaks_until_over(ends: list[_End], limit_s: float) -> list[int]:
    """Each agent's largest resident memory, watched until both have ended."""
    deadline = time.monotonic() + limit_s
    peaks = [0] * len(ends)
    while any(end.exit_code() is None for end in ends):
        if time.monotonic() > deadline:
            raise RunFailed(
                "bench.transfer-not-over", "the transfer was not over after {limit_s:.0f} s", limit_s=limit_s
            )
        peaks = [max(peak, end.peak_bytes()) for peak, end in zip(peaks, ends, strict=True)]
        time.sleep(POLL_S)
    return peaks


class _End:
    """One agent while it runs."""

    def __init__(self, binary: Path, folder: Path, role: str, end: End) -> None:
        own = folder / role
        self.place = AgentPlace(
            host=role,
            role=role,
            session=SESSION,
            plan=folder / "plan.json",
            directory=own,
            control=own,
            credentials=Path(),
            log=folder / f"{role}.log",
        )
        own.mkdir()
        command = [
            str(binary),
            role,
            "--plan",
            str(self.place.plan),
            "--session",
            SESSION,
            "--dir",
            str(own),
            "--control",
            str(own / "control.sock"),
        ]
        self.process = Supervised.start(f"the {role}", command, self.place.log, namespace=end.namespace)

    def await_ready(self) -> None:
        """Wait until its sockets are open."""
        deadline = time.monotonic() + READY_S
        while True:
            if failure := self.process.failure():
                raise RunFailed.of(failure)
            try:
                state = control(self, "GET", "/state")["state"]
            except OSError:
                state = "not there"
            if state == "ready":
                return
            if time.monotonic() > deadline:
                raise RunFailed(
                    "bench.not-ready",
                    "{process} is {state} after {ready_s:.0f} s, not ready",
                    process=self.process.name,
                    state=state,
                    ready_s=READY_S,
                )
            time.sleep(POLL_S)

    def peak_bytes(self) -> int:
        """The largest resident memory so far; 0 when it has ended."""
        try:
            status = Path(f"/proc/{self.process.process.pid}/status").read_text()
        except OSError:
            return 0
        lines = (line.split() for line in status.splitlines())
        return next((int(words[1]) * 1024 for words in lines if words[0] == "VmHWM:"), 0)

    def result(self) -> dict[str, Any]:
        """The agent's result of the transfer; raises :class:`RunFailed` where that failed."""
        found = self.place.result()
        if found is None or found["error"]:
            raise RunFailed(
                "bench.process-failed",
                "{process}: {error}",
                process=self.process.name,
                error=found["error"] if found else "left no result",
            )
        return found

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self.process.process.poll()

    def stop(self) -> None:
        """End it if it still runs."""
        self.process.stop()
