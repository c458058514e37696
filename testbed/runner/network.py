"""The run's network: Mininet hosts, emulated links, management network, middle."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.plan.model import Plan
from testbed.runner.endings import Ending
from testbed.runner.trust import FABRIC
from topologies.commands import in_namespace, run
from topologies.fabric import Fabric, namespace_of
from topologies.middle import Middle, NetemMiddle, RelayMiddle

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HostsTcp:
    """How the kernel's TCP is set on all hosts, where agents send by it."""

    congestion_control: str | None = None
    sysctls: Mapping[str, str] = field(default_factory=dict)


class Network:
    """What Mininet built for one run. ``pids`` are the processes whose namespaces are the hosts'."""

    def __init__(self, plan: Plan, relay: RelayMiddle | None, tcp: HostsTcp) -> None:
        self.plan = plan
        self.links = plan["links"]
        self.fabric = Fabric(plan["namespace"], tcp.congestion_control, tcp.sysctls)
        self.middle: Middle = relay or NetemMiddle(self.fabric)
        self.net: Any = None

    def build(self, container_pids: Mapping[str, int] | None = None) -> None:
        """Hosts (in the namespaces of running containers where given), links, management network."""
        from mininet.log import setLogLevel

        from topologies.planned import planned_network

        setLogLevel("warning")
        self.fabric.create()
        self.net = planned_network(self._node_options(container_pids or {}), self.links, self.fabric)
        self.fabric.add_management({self.pid(h["name"]): h["management_address"] for h in self.plan["hosts"]})

    def _node_options(self, container_pids: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        from topologies.hosts import ContainerHost, RoutedHost

        options: dict[str, dict[str, Any]] = {}
        for node in (*self.plan["hosts"], *self.plan["nodes"]):
            name = node["name"]
            options[name] = {
                "cls": RoutedHost,
                "routes": [route for route in self.plan["routes"] if route["host"] == name],
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
        """Path of the network namespace of each host and further node, by its name."""
        names = [node["name"] for node in (*self.plan["hosts"], *self.plan["nodes"])]
        return {name: namespace_of(self.pid(name)) for name in names}

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
        return found

    def offloads(self) -> dict[str, list[str]]:
        """Offload features that are still on, per link interface (none is expected that matters)."""
        on: dict[str, list[str]] = {}
        for link in self.links:
            for end in (link["a"], link["b"]):
                path = self.namespaces()[end["host"]]
                said = run(in_namespace(path, ["ethtool", "-k", end["interface"]]))
                features = [line.split(":")[0].strip() for line in said.splitlines() if ": on" in line]
                watched = ("segmentation-offload", "receive-offload", "tx-checksumming")
                on[end["interface"]] = [name for name in features if name.endswith(watched)]
        return on

    def programs(self) -> list[Ending]:
        """What runs for it beside the kernel."""
        return [self.middle] if isinstance(self.middle, RelayMiddle) else []

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
