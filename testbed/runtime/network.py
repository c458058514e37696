"""The run's network: Mininet hosts, emulated links, management network, middle."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from testbed.judge.trust.machine import FABRIC
from testbed.plan.model import Plan
from testbed.runtime.endings import Ending
from topologies.commands import in_namespace, run
from topologies.fabric import Fabric, Tunnel, namespace_of
from topologies.link import Link
from topologies.middle import Middle, NetemMiddle, RelayMiddle

if TYPE_CHECKING:
    from concurrent.futures import Future

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HostsTcp:
    """How the kernel's TCP is set on all hosts, where agents send by it."""

    congestion_control: str | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)


class Program(Protocol):
    """An end of a flow beside the sessions, on this machine or another one."""

    def lines(self) -> Iterator[tuple[int, str]]:
        """What it prints, to its end: each line with the time (Unix nanoseconds) at which it came."""
        ...

    def ended(self) -> bool:
        """Whether it runs no longer."""
        ...

    def end(self) -> None:
        """End it, whatever it is doing."""
        ...

    def keep(self, file: Path) -> None:
        """What it printed is in that file, when it has ended."""
        ...


class Elsewhere(Protocol):
    """The hosts of a run that are on other machines."""

    @property
    def names(self) -> Collection[str]: ...

    @property
    def tunnels(self) -> Mapping[str, Tunnel]:
        """Of links with an end or the middle there, by the interface here, a host's or the middle's."""
        ...

    @property
    def absent(self) -> Collection[str]:
        """The interfaces of middles that are there."""
        ...

    def build(self, tcp: HostsTcp) -> None:
        """Make their ends of links; the tunnels' ends are here already."""

    def qdiscs(self) -> list[dict[str, Any]]:
        """As :meth:`Network.qdiscs`, of theirs."""
        ...

    def probes(self) -> list[str]:
        """The probe's options by which it measures links from there."""
        ...

    def in_the_middle(self, link: Link, properties: Mapping[str, Any]) -> dict[str, Any]:
        """What the middle is told for a link to have these properties."""
        ...

    def start_program(self, host: str, name: str, command: Sequence[str], at_unix_ns: int, log: Path) -> Program:
        """One at a host of theirs, at a time or at once if that has passed; ``log`` gets its errors."""
        ...

    def change_rate(self, link: Link, direction: str, rate_bps: float, at_unix_ns: int) -> Sequence[Future[int]]:
        """At a link's ends that are theirs and send that way, at a time; when each did it, in Unix nanoseconds."""
        ...

    def change_plug(self, link: Link, at_unix_ns: int, here: Mapping[str, str], *, up: bool) -> Sequence[Future[int]]:
        """Pull a link's plug, or put it back, where its middle here does not; ``here`` are hosts' namespaces."""
        ...


class RelayedMiddle(Middle, Ending, Protocol):
    """By the relay, or several of it."""


class Network:
    """What Mininet built for one run. ``pids`` are the processes whose namespaces are the hosts'."""

    def __init__(
        self, plan: Plan, relay: RelayedMiddle | None, tcp: HostsTcp, elsewhere: Elsewhere | None = None
    ) -> None:
        self.plan = plan
        self.links = plan["links"]
        self.elsewhere, self._tcp = elsewhere, tcp
        tunnels, absent = (elsewhere.tunnels, elsewhere.absent) if elsewhere else ({}, ())
        self.fabric = Fabric(plan["namespace"], tcp.congestion_control, tcp.sysctls, tunnels, absent)
        self._relay = relay
        self.middle: Middle = relay or NetemMiddle(self.fabric)
        self.net: Any = None

    def build(self, container_pids: Mapping[str, int] | None = None) -> None:
        """Hosts (in the namespaces of running containers where given), links, management network."""
        from mininet.log import setLogLevel

        from topologies.planned import planned_network

        setLogLevel("warning")
        self.fabric.create()
        if isinstance(self.middle, RelayMiddle):
            self.middle.prepare(self.links)
        self.net = planned_network(self._node_options(container_pids or {}), self.links, self.fabric)
        here = self.namespaces()
        self.fabric.add_management(
            {self.pid(h["name"]): h["management_address"] for h in self.plan["hosts"] if h["name"] in here}
        )
        if self.elsewhere:
            self.elsewhere.build(self._tcp)

    def _node_options(self, container_pids: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        from topologies.hosts import ContainerHost, RoutedHost

        options: dict[str, dict[str, Any]] = {}
        for node in (*self.plan["hosts"], *self.plan["nodes"]):
            name = node["name"]
            # A host elsewhere stands in Mininet's topology and has nothing here.
            here = not self.elsewhere or name not in self.elsewhere.names
            options[name] = {
                "cls": RoutedHost,
                "routes": [route for route in self.plan["routes"] if route["host"] == name and here],
                "forwards": node.get("forwards", False),
                "congestion_control": self.fabric.congestion_control,
            }
            if name in container_pids:
                options[name] |= {"cls": ContainerHost, "container_pid": container_pids[name]}
        return options

    def pid(self, host: str) -> int:
        """A process inside the host's network namespace."""
        return int(self.net.get(host).pid)

    def namespaces(self) -> dict[str, str]:
        """Path of the network namespace of each host and further node that is on this machine, by its name."""
        names = [node["name"] for node in (*self.plan["hosts"], *self.plan["nodes"])]
        elsewhere = self.elsewhere.names if self.elsewhere else ()
        return {name: namespace_of(self.pid(name)) for name in names if name not in elsewhere}

    def start_middle(self) -> None:
        """From here on frames cross the links."""
        self.middle.start(self.links)

    def qdiscs(self) -> list[dict[str, Any]]:
        """``tc -s -j qdisc`` of every interface on the links, with the host (or the fabric) it is on."""
        found: list[dict[str, Any]] = []
        for place, path in {**self.namespaces(), FABRIC: self.fabric.path}.items():
            for entry in json.loads(run(in_namespace(path, ["tc", "-s", "-j", "qdisc", "show"]))):
                if entry.get("dev") != "lo":
                    found.append({"host": place, **entry})
        return found + (self.elsewhere.qdiscs() if self.elsewhere else [])

    def offloads(self) -> dict[str, list[str]]:
        """Offload features that are still on, per link interface (none is expected that matters)."""
        on: dict[str, list[str]] = {}
        for link in self.links:
            for end in (link["a"], link["b"]):
                if (path := self.namespaces().get(end["host"])) is None:
                    continue
                said = run(in_namespace(path, ["ethtool", "-k", end["interface"]]))
                features = [line.split(":")[0].strip() for line in said.splitlines() if ": on" in line]
                watched = ("segmentation-offload", "receive-offload", "tx-checksumming")
                on[end["interface"]] = [name for name in features if name.endswith(watched)]
        return on

    def programs(self) -> list[Ending]:
        """What runs for it beside the kernel."""
        return [self._relay] if self._relay else []

    def tear_down(self) -> None:
        """Stop the middle and Mininet and delete the fabric; each step is tried whatever became of the others."""
        problems = []
        for step in (self.middle.stop, self._stop_mininet, self.fabric.delete):
            try:
                step()
            except Exception as error:  # the next step must run: it may remove what this one could not
                problems.append(error)
                log.warning("tear-down: %s", error)
        if problems:
            raise problems[0]

    def _stop_mininet(self) -> None:
        if self.net is not None:
            self.net.stop()
            self.net = None


def relay_middle(
    plan: Plan, plan_file: Path, binary: Path, directory: Path, credentials: Path | None, log_file: Path
) -> RelayMiddle:
    """The relay as the run's middle, with telemetry of its own; without credentials it pushes none."""
    return RelayMiddle(
        Fabric(plan["namespace"]), binary, plan=plan_file, directory=directory, credentials=credentials, log=log_file
    )
