"""A kind of TCP experiment: the programs at both ends, and their measurements."""

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.plan.model import Plan, Session, Tcp, host_of
from testbed.runtime import live
from testbed.runtime.processes import Supervised
from testbed.scenario.tcp import Role
from testbed.traffic.traffic import address_of


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
    points: Sequence[Mapping[str, Any]] = ()
    """Further telemetry, as ``influxdb.line_protocol`` takes points, with times within the transfer."""

    @property
    def duration_s(self) -> float:
        return (self.finished_unix_ns - self.started_unix_ns) / 1e9


class Kind(ABC):
    """One transfer between two prepared hosts: server first, then client; it is over when the client has ended."""

    server_end_s = 10.0
    """Time for the server to end after the client by itself."""

    def __init__(self, plan: Plan, namespaces: Mapping[Role, str], folder: Path, binaries: Mapping[str, Path]) -> None:
        """``namespaces`` are the paths of the hosts'; ``folder`` is the run's."""
        self.plan, self.namespaces, self.folder, self.binaries = plan, namespaces, folder, binaries
        self.client_started_unix_ns: int | None = None

    @property
    def session(self) -> Session:
        """The plan's one session."""
        return self.plan["sessions"][0]

    @property
    def requested(self) -> Tcp:
        """The scenario's ``tcp`` section as the plan has it."""
        return self.plan["tcp"]

    def address(self, role: Role) -> str:
        """A host's address on the path."""
        return address_of(self.session["connections"][0][role])

    def interface(self, role: Role) -> str:
        """The host's interface on the path."""
        name = self.session["connections"][0]["path"][0 if role == "sender" else -1]
        link = next(link for link in self.plan["links"] if link["name"] == name)
        end = next(link[end] for end in ("a", "b") if link[end]["host"] == host_of(self.session, role))
        return str(end["interface"])

    @property
    def rtt_s(self) -> float:
        """The path's configured round trip."""
        delays = {link["name"]: float(link["delay_ms"]) for link in self.plan["links"]}
        return 2 * sum(delays[name] for name in self.session["connections"][0]["path"]) / 1000

    def capture(self, role: Role) -> Path:
        """The frames captured at a host (pcap, headers only), where the section asks for that."""
        return self.folder / f"capture-{role}.pcap"

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
        if program in self.binaries.values():
            # The checkout may be where only root can go (/root).
            seen = live.directory(self.plan["run"]) / program.name
            seen.touch()
            bound, command = {program: seen}, [str(seen), *command[1:]]
        namespace = self.namespaces[role]
        started = Supervised(name, command, output, namespace=namespace, unprivileged=unprivileged, bound=bound)
        if listens_at is not None:
            started.await_listening(namespace, listens_at)
        return started

    def started_unix_ns(self) -> int | None:
        """The start of the transfer, None before it: called while it is on, for events that are timed from there."""
        return self.client_started_unix_ns

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
