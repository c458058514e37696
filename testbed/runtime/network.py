"""The run's network: Mininet hosts, emulated links, management network, link emulator."""

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from testbed.plan.model import Plan
from testbed.plan.place import FABRIC
from testbed.runtime.site import Site
from topologies.commands import in_namespace, run
from topologies.fabric import Fabric, namespace_of
from topologies.middle import Middle, NetemMiddle, RelayMiddle

log = logging.getLogger(__name__)

SYSCTLS = (
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
    "net.core.default_qdisc",
)


@dataclass(frozen=True)
class HostsTcp:
    """The kernel's TCP settings on all hosts, where agents send by it."""

    congestion_control: str | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)


class Program(Protocol):
    """An end of a flow beside the sessions, on this machine or another one."""

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that it prints, to its end, each with the time (Unix nanoseconds) at which it came."""
        ...

    def has_ended(self) -> bool:
        """Whether it runs no longer."""
        ...

    def end(self) -> None:
        """End it, whatever it is doing."""

    def keep(self, file: Path) -> None:
        """Leave its output in a file, once it has ended."""


class Network:
    """The network that Mininet built for one run."""

    def __init__(self, plan: Plan, fabric: Fabric, relay: Middle | None, elsewhere: Collection[str]) -> None:
        """``relay``: the link emulator, if it is not netem; ``elsewhere``: the hosts on other machines."""
        self.plan, self.links, self.fabric, self._elsewhere = plan, plan["links"], fabric, elsewhere
        self.emulator = relay or NetemMiddle(fabric)
        self.net: Any = None

    def build(self, container_pids: Mapping[str, int]) -> None:
        """Make hosts (in the namespaces of running containers where given), links and management network."""
        from mininet.log import setLogLevel

        from topologies.planned import planned_network

        setLogLevel("warning")
        self.fabric.create()
        if isinstance(self.emulator, RelayMiddle):
            self.emulator.prepare(self.links)
        self.net = planned_network(self._node_options(container_pids), self.links, self.fabric)
        here = self.namespaces()
        self.fabric.add_management(
            {self.pid(h["name"]): h["management_address"] for h in self.plan["hosts"] if h["name"] in here}
        )

    def _node_options(self, container_pids: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        from topologies.hosts import ContainerHost, RoutedHost

        options: dict[str, dict[str, Any]] = {}
        for node in (*self.plan["hosts"], *self.plan["nodes"]):
            name = node["name"]
            here = name not in self._elsewhere  # a remote host stands in Mininet's topology and has nothing here
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
        return {name: namespace_of(self.pid(name)) for name in names if name not in self._elsewhere}

    def qdiscs(self) -> list[dict[str, Any]]:
        """``tc -s -j qdisc`` of every interface on the links, with the host (or the fabric) it is on."""
        return [
            {"host": place, **entry}
            for place, path in {**self.namespaces(), FABRIC: self.fabric.path}.items()
            for entry in json.loads(run(in_namespace(path, ["tc", "-s", "-j", "qdisc", "show"])))
            if entry.get("dev") != "lo"
        ]

    def sysctls(self) -> dict[str, dict[str, str]]:
        """The settings in force in each host's namespace; those that a kernel lacks there are left out."""
        # -e: without those that are not there
        namespaces = self.namespaces()
        said = {host: run(in_namespace(path, ["sysctl", "-e", *SYSCTLS])) for host, path in namespaces.items()}
        return {host: dict(line.split(" = ", 1) for line in text.splitlines()) for host, text in said.items()}

    def offloads(self) -> dict[str, list[str]]:
        """Offload features that are still on, per link interface (none is expected that matters)."""
        on, here = {}, self.namespaces()
        watched = ("segmentation-offload", "receive-offload", "tx-checksumming")
        for end in (end for link in self.links for end in (link["a"], link["b"]) if end["host"] in here):
            said = run(in_namespace(here[end["host"]], ["ethtool", "-k", end["interface"]]))
            features = [line.split(":")[0].strip() for line in said.splitlines() if ": on" in line]
            on[end["interface"]] = [name for name in features if name.endswith(watched)]
        return on

    def tear_down(self) -> None:
        """Stop the link emulator and Mininet and delete the fabric; a step that fails does not keep the others."""
        problems = []
        for step in (self.emulator.stop, self._stop_mininet, self.fabric.delete):
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


def relay_emulator(site: Site, plan_file: Path, directory: Path, credentials: Path | None) -> RelayMiddle:
    """The relay as the run's link emulator, with telemetry of its own; without credentials it pushes none."""
    return RelayMiddle(
        Fabric(site.plan["namespace"]),
        site.binaries["ncp-link"],
        plan=plan_file,
        directory=directory,
        credentials=credentials,
        log=site.logs / "relay.log",
    )
