"""A transport of the user's own: the same program at both ends of each session, held against what packets show."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.message import Message
from testbed.plan.model import ROLES, Connection, Plan, Role, Session, host_of
from testbed.runtime.agents import Agent, AgentPlace
from testbed.runtime.network import HostsTcp, Network
from testbed.runtime.packets import SETTLE_S, Capture
from testbed.runtime.parts import Failure, needed
from testbed.runtime.processes import Supervised
from testbed.runtime.progress import Step
from testbed.runtime.site import Site
from testbed.traffic.program import captured, result
from testbed.traffic.program.end import End, sha256_of
from testbed.traffic.program.image import unpacked
from testbed.traffic.traffic import Traffic, from_any_port

READY_S = 20.0
END_S = 15.0
"""Time for a receiver to end after its sender."""


@dataclass
class Running:
    """A session that is on: its ends, and what looks on from outside."""

    session: Session
    ends: dict[Role, End] = field(default_factory=dict)
    captures: dict[Role, Capture] = field(default_factory=dict)
    pings: list[Supervised] = field(default_factory=list)
    sender_ended_s: float | None = None
    """Deadline on the monotonic clock."""

    def over(self) -> bool:
        """Whether both ends have ended well; raises where one has not."""
        ended = {role: end.ended_well() for role, end in self.ends.items()}
        if ended.get("sender") and not ended["receiver"]:
            self.sender_ended_s = self.sender_ended_s or time.monotonic()
            if time.monotonic() - self.sender_ended_s > END_S:
                raise RunFailed(
                    "program.does-not-end", f"{self.ends['receiver'].who} has not ended {END_S:g} s after the sender"
                )
        return ended.get("sender", False) and ended["receiver"]


class Program(Traffic):
    """Receivers first; a sender is started when its receiver says that it is ready, and t = 0 is its first frame."""

    testcase = ""
    """Testcase of its ends, where it is not a transfer."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._running: list[Running] = []

    @classmethod
    def hosts_tcp(cls, plan: Plan) -> HostsTcp:
        return HostsTcp(plan["sessions"][0].get("congestion_control"))

    @classmethod
    def ends_of(cls, session: Session, connection: Connection) -> tuple[str, str]:  # noqa: ARG003
        """Addresses with port 0: the program chooses the ports."""
        return from_any_port(connection["sender"]), from_any_port(connection["receiver"])

    @classmethod
    def sockets(cls, plan: Plan) -> Iterator[dict[str, str]]:
        """A datagram socket need not be connected, so its far end is left open."""
        for end in super().sockets(plan):
            yield {**end, "remote": ""} if end["protocol"] == "udp" else end

    @classmethod
    def folders(cls, plan: Plan) -> list[Path]:
        return [unpacked(plan) if "image" in plan["program"] else Path(plan["program"]["folder"])]

    def set_hosts(self, network: Network, parts: ExitStack) -> None:
        """Nothing of them; but an image's files are to be there before any time counts."""
        self.folders(self.site.plan)

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        first = min(self._running, key=lambda running: running.session["start_s"], default=None)
        if first is None or "sender" not in first.ends:
            return None
        return captured.first_unix_ns(first.captures["sender"].file)

    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        with ExitStack() as parts:
            self._running += [Running(session) for session in self.site.plan["sessions"]]
            for running in self._running:
                self._start(running, "receiver", network, parts)
            for running in self._running:
                running.ends["receiver"].await_receiving(READY_S)
            self._watch(network, parts, failures, step)
            time.sleep(SETTLE_S)
        step.note = "; ".join([self._write(running) for running in self._running])

    def _start_sender(self, running: Running, network: Network, parts: ExitStack) -> None:
        namespace = network.namespaces()[running.session["sender_host"]]
        self._start(running, "sender", network, parts)
        running.pings = captured.pings(self.site.plan, running.session, namespace, self.site.logs)
        for ping in running.pings:
            parts.callback(ping.end)

    def _start(self, running: Running, role: Role, network: Network, parts: ExitStack) -> None:
        """An end; what it sends and gets is captured from before it begins."""
        session = running.session
        name = f"{session['name']}-{role}"
        namespace = network.namespaces()[host_of(session, role)]
        running.captures[role] = Capture(
            parts,
            name,
            namespace,
            self.site.folder / f"capture-{name}.pcap",
            self.site.logs / f"capture-{name}.log",
            frame_bytes=captured.HEADER_BYTES,
            expression=captured.expression(session),
            at_once=role == "sender",
        )
        running.captures[role].await_frames()
        folders = self.site.spools / name, self.site.folder / "programs" / name
        log = self.site.logs / f"{name}.log"
        end = running.ends[role] = End(self.site.plan, session, role, namespace, folders, log, self.testcase)
        parts.callback(end.end)

    def _watch(self, network: Network, parts: ExitStack, failures: Sequence[Failure], step: Step) -> None:
        waiting = sorted(self._running, key=lambda running: running.session["start_s"])
        expected_s = max(session["expected_s"] for session in self.site.plan["sessions"])

        def look() -> None:
            while waiting and self._is_due(waiting[0]):
                self._start_sender(waiting.pop(0), network, parts)

        def over() -> bool:
            needed(*(capture.failure for running in self._running for capture in running.captures.values()))()
            # Each is looked at: one that has failed ends the run whatever the others do.
            ended = [running.over() for running in self._running]
            return all(ended) and not waiting

        def too_long() -> Message:
            on = [end.who for running in self._running for end in running.ends.values() if not end.has_ended()]
            return Message("program.timeout", f"{', '.join(on)} has not ended after {step.late(expected_s)}")

        self.watch(over, step, failures, look=look, too_long=too_long, shown=lambda: step.left(expected_s))

    def _is_due(self, running: Running) -> bool:
        if not running.session["start_s"]:
            return True
        first_ns = self.started_unix_ns([])
        return first_ns is not None and time.time_ns() - first_ns >= running.session["start_s"] * 1e9

    def _write(self, running: Running) -> str:
        """Write both ends' results, the events and the telemetry of a session; returns its outcome in words."""
        session, plan = running.session, self.site.plan
        said = {role: result.read_result(end.out, end.who) for role, end in running.ends.items()}
        started_ns = captured.first_unix_ns(running.captures["sender"].file)
        if started_ns is None:
            raise RunFailed(
                "program.no-packets", f"no packet left {session['sender_host']} for {session['receiver_host']}"
            )
        finished_ns = result.appeared_unix_ns(running.ends["receiver"].out, said["receiver"])
        span_ns = (started_ns, finished_ns)
        arrivals = captured.read_arrivals(running.captures["receiver"].file, session)
        rtts = captured.round_trips(plan, session, running.pings, span_ns)
        own = [
            point
            for role, end in running.ends.items()
            for point in result.own_points(end.out, plan, {"session": session["name"], "role": role}, end.who)
        ]
        self.site.provenance.setdefault("program", {})[session["name"]] = {
            role: {"version": said[role].version, "frames_not_captured": running.captures[role].lost()}
            for role in ROLES
        }
        duration_s = (finished_ns - started_ns) / 1e9
        by_link = arrivals.by_link(session)
        figures = _figures(said["receiver"].bytes, duration_s, by_link) | {
            f"{link}_rtt_ms": rtt_ms for link, rtt_ms in captured.medians_ms(rtts, session).items()
        }
        results = {role: {"policy": session["policy"], **_of(said[role])} for role in ROLES}
        results["receiver"] |= {
            "payload_sha256": sha256_of(session, said["receiver"].bytes),
            "goodput_bps": said["receiver"].bytes * 8 / duration_s,
            "figures": said["sender"].figures | said["receiver"].figures | figures,
            "captured": {
                "payload_bytes": by_link,
                "payload_bytes_when_finished": arrivals.until(said["receiver"].finished_unix_ns),
                "frames_not_captured": running.captures["receiver"].lost(),
            },
        }
        points = captured.points(plan, session, arrivals, span_ns)
        words = ("the first packet leaves", "the receiver has its result")
        self.site.write_ends(session, span_ns, words, results, [*points, *rtts, *own])
        return f"{session['name']}: {said['receiver'].bytes / 2**20:.3g} MiB in {duration_s:.3g} s"

    def keep_results(self, places: Sequence[AgentPlace]) -> None:
        """Copy the program's files to the results, if they are regular files."""
        for running in self._running:
            for end in running.ends.values():
                if removed := result.keep(end.out):
                    kept = self.site.provenance.setdefault("removed_of_the_programs", {})
                    kept[end.out.name] = removed


def _of(said: result.Result) -> dict[str, Any]:
    """An end's report, with its own times apart from the measured ones."""
    times = {"started_unix_ns": said.started_unix_ns, "finished_unix_ns": said.finished_unix_ns}
    return {"bytes": said.bytes, "sha256": said.sha256, "said": times}


def _figures(received_bytes: int, duration_s: float, by_link: dict[str, int]) -> dict[str, float]:
    total = sum(by_link.values())
    found = {"completion_s": duration_s}
    if received_bytes:
        found["overhead_percent"] = 100 * (total / received_bytes - 1)
    return found | {f"{link}_share": count / total for link, count in by_link.items() if total}


TRAFFIC = Program
