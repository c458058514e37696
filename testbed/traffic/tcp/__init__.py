"""The kernel's TCP: one transfer between two hosts, by one of the kinds of this folder."""

import subprocess
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed, Unsupported
from testbed.exit_codes import Exit
from testbed.message import Message
from testbed.plan import model
from testbed.plan.model import ROLES, Role, host_of
from testbed.points import Point
from testbed.runtime import live
from testbed.runtime.agents import Agent
from testbed.runtime.host_settings import prepare_host
from testbed.runtime.network import Network
from testbed.runtime.packets import Capture, Captures
from testbed.runtime.parts import Failure, needed
from testbed.runtime.processes import Supervised
from testbed.runtime.progress import Step
from testbed.runtime.socket_samples import assert_sent_with, congestion_controls
from testbed.traffic.tcp.captured.capture import HEADER_BYTES
from testbed.traffic.traffic import Traffic, address_of


@dataclass(frozen=True)
class Measured:
    """Results of both ends of a finished transfer."""

    started_unix_ns: int
    finished_unix_ns: int
    bytes: int
    """Payload bytes, as the receiver got them."""
    figures: Mapping[str, float]
    """Flat, the unit in each name; what tables and checks are about."""
    congestion_control: str = ""
    """Congestion control as the sending program read it from its socket; "" where it does not."""
    details: Mapping[Role, Mapping[str, Any]] = field(default_factory=dict)
    """Further entries of the ends' results."""
    points: Sequence[Point] = ()
    """Further telemetry, as ``influxdb.line_protocol`` takes points, with times within the transfer."""

    @property
    def duration_s(self) -> float:
        return (self.finished_unix_ns - self.started_unix_ns) / 1e9


class Tcp(Traffic):
    """TCP without agents, by programs of the machine's or of the kind's own: the server first, then the client; it is
    over when the client has ended. Each kind is a file of this folder, by its name in the plan's ``tcp``."""

    server_end_s = 10.0
    """Time for the server to end after the client by itself."""
    client_started_unix_ns: int | None = None
    namespaces: Mapping[Role, str]
    """Paths of the hosts', once there is a network."""

    def set_hosts(self, network: Network, parts: ExitStack) -> None:
        """Settings of the scenario's section, which provenance has."""
        requested, session = self.requested, self.site.session
        for role, peer in zip(reversed(ROLES), ROLES, strict=True):
            host = host_of(session, role)
            self.site.provenance.setdefault("hosts", {})[host] = prepare_host(
                network.namespaces()[host],
                address_of(session["connections"][0][peer]),
                session["sysctls"][role],
                requested["routes"][role],
                requested["congestion_control"],
            )

    def started_unix_ns(self, started: Sequence[Agent]) -> int | None:
        return self.client_started_unix_ns

    def transfer(self, network: Network, started: Sequence[Agent], failures: Sequence[Failure], step: Step) -> None:
        self.namespaces = {role: network.namespaces()[host_of(self.site.session, role)] for role in ROLES}
        with ExitStack() as watched:
            captures = self._start_captures(watched)
            with ExitStack() as ends:
                server = self.start_server()
                ends.callback(server.end)
                self.client_started_unix_ns = time.time_ns()
                client = self.start_client()
                ends.callback(client.end)
                self._watch(client, server, [*failures, needed(captures.failure)], step)
                self.end_server(server)
            self.site.provenance["frames_not_captured"] = captures.end()
        measured = self.measured()
        self._assert_congestion_control(measured)
        self._write(measured)
        reported = ", ".join(f"{name} {value:.6g}" for name, value in measured.figures.items())
        step.note = f"{measured.bytes / 2**20:.3g} MiB in {measured.duration_s:.3g} s; {reported}"

    def _start_captures(self, watched: ExitStack) -> Captures:
        return Captures(
            {
                role: Capture(
                    *(watched, role, self.namespaces[role], self.capture(role)),
                    self.site.logs / f"capture-{role}.log",
                    interface=self.interface(role),
                    frame_bytes=HEADER_BYTES,
                )
                for role in ROLES
                if self.requested["capture"] in (role, "both")
            }
        )

    def _watch(self, client: Supervised, server: Supervised, failures: Sequence[Failure], step: Step) -> None:
        """Wait until the client has ended well."""
        expected_s = self.site.session["expected_s"]

        def look() -> None:
            if server.process.poll() and (failure := server.failure()):
                raise RunFailed.of(failure)

        def too_long() -> Message:
            return Message("tcp.timeout", f"{client.name} has not ended after {step.late(expected_s)}")

        self.watch(client.has_ended, step, failures, look=look, too_long=too_long, shown=lambda: step.left(expected_s))
        if client.process.returncode and (failure := client.failure()):
            unsupported = client.process.returncode == Exit.CANNOT_RUN
            raise Unsupported.of(failure) if unsupported else RunFailed.of(failure)

    def _assert_congestion_control(self, measured: Measured) -> None:
        seen = congestion_controls(self.site.spools, self.site.session["name"]) | {measured.congestion_control}
        seen -= {""}
        self.site.provenance["congestion_control_of_the_socket"] = sorted(seen)
        assert_sent_with(self.requested["congestion_control"], seen)

    def _write(self, measured: Measured) -> None:
        """Both ends' results, and the events."""
        own: Mapping[Role, Mapping[str, object]] = {
            "sender": {"congestion_control": self.requested["congestion_control"]},
            "receiver": {"goodput_bps": measured.bytes * 8 / measured.duration_s, "figures": dict(measured.figures)},
        }
        results = {role: {"bytes": measured.bytes, **own[role], **measured.details.get(role, {})} for role in ROLES}
        span_ns = (measured.started_unix_ns, measured.finished_unix_ns)
        words = ("the client starts", "all has arrived")
        self.site.write_ends(self.site.session, span_ns, words, results, measured.points)

    @property
    def requested(self) -> model.Tcp:
        """The scenario's ``tcp`` section as the plan has it."""
        return self.site.plan["tcp"]

    def address(self, role: Role) -> str:
        """A host's address on the path."""
        return address_of(self.site.session["connections"][0][role])

    def interface(self, role: Role) -> str:
        """The host's interface on the path."""
        name = self.site.session["connections"][0]["path"][0 if role == "sender" else -1]
        link = next(link for link in self.site.plan["links"] if link["name"] == name)
        end = next(link[end] for end in ("a", "b") if link[end]["host"] == host_of(self.site.session, role))
        return str(end["interface"])

    @property
    def rtt_s(self) -> float:
        """The path's configured round trip."""
        delays = {link["name"]: float(link["delay_ms"]) for link in self.site.plan["links"]}
        return 2 * sum(delays[name] for name in self.site.session["connections"][0]["path"]) / 1000

    def capture(self, role: Role) -> Path:
        """The frames captured at a host (pcap, headers only), where the section asks for that."""
        return self.site.folder / f"capture-{role}.pcap"

    def said(self, end: str) -> Path:
        """The file with all that a program says at an end, ``server`` or ``client``."""
        return self.site.folder / f"{self.requested['kind']}-{end}.json"

    def start(
        self,
        name: str,
        command: Sequence[str],
        role: Role,
        output: Path,
        *,
        unprivileged: bool = True,
        listens_at: int | None = None,
    ) -> Supervised:
        """A program at one of the hosts, as a user without privileges; all that it says goes to ``output``. Of a
        server, it returns when that can be connected to, at its port."""
        program, bound = Path(command[0]), {}
        if program in self.site.binaries.values():
            # The checkout may be where only root can go (/root).
            seen = live.directory(self.site.plan["run"]) / program.name
            seen.touch()
            bound, command = {program: seen}, [str(seen), *command[1:]]
        namespace = self.namespaces[role]
        started = Supervised(name, command, output, namespace=namespace, unprivileged=unprivileged, bound=bound)
        if listens_at is not None:
            started.await_listening(namespace, listens_at)
        return started

    @abstractmethod
    def start_server(self) -> Supervised:
        """Returns when it can be connected to."""

    @abstractmethod
    def start_client(self) -> Supervised:
        """Starts the transfer."""

    def end_server(self, server: Supervised) -> None:
        """End the server after the client, if it does not by itself in time."""
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(self.server_end_s)
        server.end()

    @abstractmethod
    def measured(self) -> Measured:
        """Results after both have ended and captures are complete; raises :class:`RunFailed` where something is
        missing."""


TRAFFIC = Tcp
