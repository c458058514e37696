"""NCP: an agent at each end of each session."""

import itertools
import json
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from testbed.documents import read_json, write_json
from testbed.errors import RunFailed, Untrusted
from testbed.plan.codes import OURS, files_of, is_own
from testbed.plan.model import ROLES, Connection, Plan, Session, host_of, packet_checks
from testbed.runtime.agents import Agent, AgentPlace, agent_name
from testbed.runtime.host_settings import DEFAULTS
from testbed.runtime.network import HostsTcp, Network
from testbed.runtime.packets import Capture, Captures
from testbed.runtime.parts import Failure, needed
from testbed.runtime.progress import Step
from testbed.runtime.site import Site
from testbed.runtime.socket_samples import assert_sent_with, congestion_controls
from testbed.runtime.transfer import start_of_transfer, watch_transfer
from testbed.traffic.traffic import Traffic, address_of, from_any_port

OF_A_RESULT = ("role", "session", "bytes", "sha256", "started_unix_ns", "finished_unix_ns", "connections")
"""Keys of ``result.json`` that a run is judged by."""


class Ncp(Traffic):
    """Sessions with windows, over UDP or over the kernel's TCP."""

    program = "ncp-agent"
    captures: Captures | None = None

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._captured: dict[str, dict[str, Any]] = {}

    @classmethod
    def ends_of(cls, session: Session, connection: Connection) -> tuple[str, str]:
        sender = connection["sender"]
        return from_any_port(sender) if _over_tcp(session) else sender, connection["receiver"]

    @classmethod
    def hosts_tcp(cls, plan: Plan) -> HostsTcp:
        """Settings of the plan, not of the machine. The congestion control is chosen by routes and not by the
        namespaces' own default, which can only be one that the machine permits to all programs.

        A socket may hold the session's window in either direction from the start, and as much for what the kernel
        counts beside the data. A receive buffer that grows as the kernel sees fit is full after 0.8 s or more than 1 s
        of a paused reader, by the kernel's version, and holds up the sender or not. A send buffer may take less than
        the link's queue, by which the plan bounds it.
        """
        over_tcp = [session for session in plan["sessions"] if _over_tcp(session)]
        if not over_tcp:
            return HostsTcp()
        buffer_bytes = 2 * max(session["send_window_bytes"] for session in over_tcp)
        buffers = {f"net.ipv4.{name}": f"4096 {buffer_bytes} {buffer_bytes}" for name in ("tcp_rmem", "tcp_wmem")}
        return HostsTcp(str(over_tcp[0]["congestion_control"]), DEFAULTS | buffers)

    def places(self, own: Path, credentials: Path | None) -> list[AgentPlace]:
        found = []
        for session, role in itertools.product(self.site.plan["sessions"], ROLES):
            code = session.get("code", {}).get(role, OURS)
            where = host_of(session, role), role, session["name"], own, None if is_own(code) else credentials
            by_node, program = files_of(code)
            found.append(self.site.place(*where, start_s=session["start_s"], by_node=by_node, code=program))
        return found

    def set_hosts(self, network: Network, parts: ExitStack) -> None:
        """Capture each session at both ends before its connections open, if a check is about packets."""
        plan, namespaces = self.site.plan, network.namespaces()
        if packet_checks(plan):
            self.captures = Captures(
                {
                    (name := agent_name(session["name"], role)): Capture(
                        parts,
                        name,
                        namespaces[host_of(session, role)],
                        self._capture(name),
                        self.site.logs / f"capture-{name}.log",
                        expression=_between(session),
                    )
                    for session in plan["sessions"]
                    for role in ROLES
                }
            )

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        return start_of_transfer(started)

    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        """The time from the start of the first session to the end of the last."""
        watched = [*failures, needed(self.captures.failure)] if self.captures else failures
        watch_transfer(self.site.plan, started, watched, self.site.progress, step)
        for place in (agent.place for agent in started if agent.place.code):
            _refuse_unkept(place)
        if self.captures:
            self._trace(self.captures.end())
        for session in self.site.plan["sessions"]:
            if _over_tcp(session):
                seen = congestion_controls(self.site.spools, session["name"])
                noted = self.site.provenance.setdefault("congestion_control_of_the_sockets", {})
                noted[session["name"]] = sorted(seen)
                assert_sent_with(str(session["congestion_control"]), seen)

    def _capture(self, name: str) -> Path:
        return self.site.folder / f"capture-{name}.pcap"

    def _trace(self, lost: dict[str, int]) -> None:
        """Find the facts of each session's packets, for its ends' results; raises :class:`Untrusted` where they are not
        whole."""
        self.site.provenance["frames_not_captured"] = lost
        if missed := ", ".join(name for name, frames in lost.items() if frames):
            raise Untrusted("capture.frames-lost", f"captures of {missed} missed frames, so that they prove nothing")
        for session in self.site.plan["sessions"]:
            ends = {role: agent_name(session["name"], role) for role in ROLES}
            command = [str(self.site.binaries["ncp-trace"]), "--session", session["name"]]
            command += ["--plan", str(self.site.plan_file)]
            command += [text for role in ROLES for text in (f"--{role}-capture", str(self._capture(ends[role])))]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Untrusted("capture.not-whole", f"packets of session {session['name']}: {done.stderr.strip()}")
            facts = json.loads(done.stdout)
            self._captured |= {ends[role]: facts[f"{role}_end"] for role in ROLES}

    def keep_results(self, places: Sequence[AgentPlace]) -> None:
        """Results as the agents left them, with the facts of packets that were captured at their hosts."""
        for place in places:
            result, kept = place.directory / "result.json", self.site.folder / "agents" / f"{place.name}.json"
            if result.exists():
                shutil.copyfile(result, kept)
                if captured := self._captured.get(place.name):
                    write_json(kept, {**read_json(kept), "captured": captured})
            trace = place.directory / "trace.sqlog"
            if trace.exists():
                traces = self.site.folder / "traces"
                traces.mkdir(exist_ok=True)
                shutil.copyfile(trace, traces / f"{place.name}.sqlog")


def _between(session: Session) -> str:
    """tcpdump's filter: TCP between a session's ends."""
    ends = [f"(host {address_of(c['sender'])} and host {address_of(c['receiver'])})" for c in session["connections"]]
    return f"tcp and ({' or '.join(ends)})"


def _refuse_unkept(place: AgentPlace) -> None:
    """Raise :class:`RunFailed` where a user's own code ended well, and left less than its contract has."""
    spool = place.directory / "telemetry.lp"
    lacks = [key for key in OF_A_RESULT if key not in (place.result() or {})]
    lacks += [] if spool.is_file() and b"ncp_session," in spool.read_bytes() else ["ncp_session (telemetry.lp)"]
    if lacks:
        raise RunFailed(
            "agent.contract-not-kept",
            f"agent {place.name} on {place.host} ended with 0 and left nothing of {', '.join(lacks)}; is it of another "
            "version of the contract? docs/program.md has it",
        )


def _over_tcp(session: Session) -> bool:
    return bool(session["transport"] == "tcp")


TRAFFIC = Ncp
