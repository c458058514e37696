"""The hosts of a run that are on other machines: reached, measured, wired to the middles here, watched, left clean."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from testbed import build
from testbed.checks.result import Trust
from testbed.errors import CannotRun, RunFailed
from testbed.far import underlay
from testbed.far.agents import PLAN, FarAgent, folders_of, socket_of
from testbed.far.machine import SOCKET, VXLAN_PORT, Machine, address_towards, mtu_towards
from testbed.far.refusals import too_short
from testbed.far.spools import FollowedSpools
from testbed.plan.model import Plan
from testbed.runner.agents import AgentPlace, ContainerAgent
from testbed.runner.collectors import spools_of
from testbed.runner.network import HostsTcp
from testbed.runner.processes import AGENT_UID
from testbed.runner.watch import watch_list
from topologies import shaper
from topologies.fabric import Tunnel
from topologies.link import Link, LinkEnd, shaped_at_hosts

LINK_MTU_BYTES = 1500
"""Of a link between hosts of one machine."""
ETHERNET_BYTES = 14
MTUS = (1500, 1400)
"""What is tried where the interface's own does not get through."""


class FarHosts:
    """Those of one run."""

    def __init__(
        self,
        plan: Plan,
        inventory: Mapping[str, Mapping[str, Any]],
        binaries: Mapping[str, Path],
        own: Path,
        folder: Path,
    ) -> None:
        """``inventory`` has the variables of each machine; ``own`` is the run's folder of sockets, ``folder`` that of
        its results."""
        self.plan, self._binaries, self._folder = plan, binaries, folder
        self.place = plan.get("place", {})
        self._logs, self._spools = folder / "logs", folder / "spools"
        self.machines = {
            name: Machine(name, inventory[name], plan["run"], own / name, self._logs / f"ssh-{name}.log")
            for name in dict.fromkeys(self.place.values())
        }
        self._key = secrets.randbits(63)
        self.samples: list[underlay.Sample] = []
        self.underlays: dict[str, underlay.Underlay] = {}
        self.tunnels: dict[str, Tunnel] = {}
        self._pids: dict[str, int] = {}
        self._watches: list[underlay.Watch] = []
        self._following: list[FollowedSpools] = []
        self._collecting: list[Machine] = []

    @property
    def names(self) -> Collection[str]:
        """The hosts'."""
        return self.place.keys()

    def connect(self, parts: ExitStack, places: Iterable[AgentPlace]) -> None:
        """Reach all machines, measure the ways to them, and lay out the tunnels; raises :class:`CannotRun` where a
        machine can't have hosts, or a link would be shorter than the way below it."""
        own = [place for place in places if place.host in self.place]
        for name, machine in self.machines.items():
            there = [place for place in own if self.place[place.host] == name]
            parts.callback(machine.stop)
            machine.connect([socket_of(place) for place in there])
            machine.start_helper(self._binaries["ncp-far"], self._key)
            plan = json.dumps(self.plan, indent=1, ensure_ascii=False).encode()
            made = [name for place in there for name in (place.name, *folders_of(place))]
            machine.put({PLAN: plan}, made, owner=AGENT_UID)
        for name, machine in self.machines.items():
            samples = underlay.before(self._binaries["ncp-far"], machine, self._key)
            self.samples += samples
            self.underlays[name] = underlay.of(samples)
            machine.ahead_ns = self.underlays[name].ahead_ns
        if short := too_short(self.plan, self.underlays):
            raise CannotRun("\n".join(short), "Lengthen the link, or place its hosts nearer.")
        for machine in self.machines.values():
            self._lay_tunnels(machine)

    def _lay_tunnels(self, machine: Machine) -> None:
        ends = [(link, end) for link in self.plan["links"] for end in _ends(link) if self._is_on(machine, end)]
        local, number = address_towards(machine.address), int(self.plan["run"].rsplit("-", 1)[-1], 16) & 0x7FFF
        mtu_bytes = self._mtu(machine, max(link["frame_bytes"] for link, _ in ends) - ETHERNET_BYTES)
        for link, end in ends:
            vni = number << 9 | link["index"] << 1 | (end is link["b"])
            self.tunnels[end["middle_interface"]] = Tunnel(vni, local, machine.address, VXLAN_PORT, mtu_bytes)

    def _mtu(self, machine: Machine, needed_bytes: int) -> int:
        """Of a link's frames to a machine, by what gets there in one piece."""
        for mtu in sorted({mtu_towards(machine.address), *MTUS, needed_bytes + underlay.VXLAN_BYTES}, reverse=True):
            if mtu < needed_bytes + underlay.VXLAN_BYTES:
                break
            if underlay.carries(self._binaries["ncp-far"], machine, self._key, mtu):
                return min(LINK_MTU_BYTES, mtu - underlay.VXLAN_BYTES)
        raise CannotRun(
            f"{machine.name}: packets of {needed_bytes + underlay.VXLAN_BYTES} bytes, which frames of "
            f"{needed_bytes + ETHERNET_BYTES} bytes take, don't get there in one piece",
            "Let the network between the machines have a larger MTU, or send smaller packets (ncp.mtu).",
        )

    def _is_on(self, machine: Machine, end: LinkEnd) -> bool:
        return self.place.get(end["host"]) == machine.name

    def start_agent(self, program: Path, place: AgentPlace, beside: ContainerAgent | None) -> FarAgent:
        """An agent in a container of its machine."""
        machine = self.machines[self.place[place.host]]
        agent = FarAgent(machine, build.build_image(machine.docker, program), self.plan, place, beside)
        self._pids.setdefault(place.host, agent.pid)
        return agent

    def build(self, tcp: HostsTcp) -> None:
        """The other ends of the tunnels, in the hosts' namespaces."""
        for name, machine in self.machines.items():
            hosts = {
                host: {
                    "pid": self._pids[host],
                    "sysctls": dict(tcp.sysctls),
                    "congestion_control": tcp.congestion_control or "",
                    "routes": [
                        {"to": route["to"], "via": route["via"], "interface": route["interface"]}
                        for route in self.plan["routes"]
                        if route["host"] == host
                    ],
                    "ends": [
                        self._far_end(link, end, self._pids[host])
                        for link in self.plan["links"]
                        for end in _ends(link)
                        if end["host"] == host
                    ],
                }
                for host, at in self.place.items()
                if at == name
            }
            machine.ask("POST", "/hosts", hosts)

    def _far_end(self, link: Link, end: LinkEnd, pid: int) -> dict[str, Any]:
        tunnel, peer = self.tunnels[end["middle_interface"]], link["b"] if end is link["a"] else link["a"]
        return {
            "pid": pid,
            "interface": end["interface"],
            "mac": end["mac"],
            "mtu": tunnel.mtu_bytes,
            "address": end["address"],
            "prefix": end["prefix"],
            "peer_mac": peer["mac"],
            "peer": peer["address"],
            "vni": tunnel.vni,
            "local": tunnel.remote,
            "remote": tunnel.local,
            "port": tunnel.port,
            "shaping": _shaping(link) if shaped_at_hosts(link) else None,
        }

    def qdiscs(self) -> list[dict[str, Any]]:
        """Counters of their queues."""
        return [queue for machine in self.machines.values() for queue in _answer(machine, "GET", "/queues")]

    def probes(self) -> list[str]:
        """The probe's options by which it measures links from there."""
        found = []
        for host, at in self.place.items():
            machine = self.machines[at]
            found += ["--far", f"{host}={machine.own / SOCKET},{machine.ahead_ns}"]
        return found

    def in_the_middle(self, link: Link, properties: Mapping[str, Any]) -> dict[str, Any]:
        """A delay is as much less there as the ways below the link take."""
        told = dict(properties)
        if "delay_ms" in told:
            told["delay_ms"] = max(0.0, told["delay_ms"] - self.below_ms(link))
        return told

    def below_ms(self, link: Link) -> float:
        """What the ways between machines add to a link's delay, one-way."""
        return sum(
            self.underlays[self.place[end["host"]]].one_way_ms for end in _ends(link) if end["host"] in self.place
        )

    def write_relay_plan(self, file: Path) -> Path:
        """The plan as the relay gets it."""
        links = [{**link, **self.in_the_middle(link, {"delay_ms": link["delay_ms"]})} for link in self.plan["links"]]
        file.write_text(json.dumps({**self.plan, "links": links}, indent=1, ensure_ascii=False) + "\n")
        return file

    def start_watching(
        self, parts: ExitStack, places: Sequence[AgentPlace], sockets: Sequence[Mapping[str, str]]
    ) -> None:
        """Sample the ways all through the run, and the hosts; what is sampled there comes here as it does."""
        for machine in self.machines.values():
            watch = underlay.Watch(self._binaries["ncp-far"], machine, self._key, self._logs)
            parts.callback(watch.stop)
            self._watches.append(watch)
            machine.ask("POST", "/collect", self._watch_list(machine, sockets))
            self._collecting.append(machine)
            followed = FollowedSpools(machine, self._spool_files(machine, places))
            parts.callback(_stop_quietly, followed)
            self._following.append(followed)
            followed.start()

    def _watch_list(self, machine: Machine, sockets: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        own = {host: f"/proc/{self._pids[host]}/ns/net" for host, at in self.place.items() if at == machine.name}
        return watch_list(self.plan, own, None, sockets)

    def _spool_files(self, machine: Machine, places: Sequence[AgentPlace]) -> dict[str, Path]:
        files = {
            f"{folders_of(place)[0]}/telemetry.lp": place.directory / "telemetry.lp"
            for place in places
            if self.place.get(place.host) == machine.name
        }
        names = spools_of(self._binaries["ncp-collect"])
        return files | {f"collected/{name}": self._spools / f"{machine.name}-{name}" for name in names}

    def pushed_spools(self, places: Sequence[AgentPlace]) -> list[Path]:
        """Those that come from there, and which nobody pushes there."""
        return [path for machine in self.machines.values() for path in self._spool_files(machine, places).values()]

    def failure(self) -> str | None:
        """What became of a machine, or of what watches it; None while all is well."""
        asked: list[Callable[[], str | None]] = [machine.failure for machine in self.machines.values()]
        asked += [watch.failure for watch in self._watches]
        asked += [followed.failure for followed in self._following]
        return next((said for failure in asked if (said := failure())), None)

    def stop_sampling(self) -> dict[str, Any]:
        """The last samples are here, those of the ways in ``underlay.csv``; what each collector did and cost."""
        cost = {}
        for machine in self._collecting:
            for one in _answer(machine, "POST", "/collect/end")["collectors"]:
                cost[f"{one.pop('collector')} on {machine.name}"] = one
        self._collecting.clear()
        for followed in self._following:
            followed.stop()
        self.keep_underlay()
        return cost

    def keep_underlay(self) -> None:
        """What was found of the ways so far."""
        for watch in self._watches:
            watch.stop()
            self.samples += watch.samples()
        self._watches.clear()
        underlay.write(self.samples, self._folder / underlay.FILE)

    def trust(self, trust: Trust) -> Trust:
        """With what the ways to the machines, and their clocks, take away of it."""
        return underlay.with_underlay(self.plan, self.samples, trust)

    def clocks(self) -> dict[str, float]:
        """What the times of each machine may be off for, in milliseconds, after the run."""
        return {
            name: underlay.clock_uncertainty_ms([one for one in self.samples if one.machine == name])
            for name in self.machines
        }

    def summary(self) -> str:
        """The ways to the machines, for the progress line."""
        return ", ".join(f"{name} {way.one_way_ms:.2f} ms one-way" for name, way in self.underlays.items())

    def facts(self) -> list[dict[str, Any]]:
        """Of each machine, for provenance."""
        found = []
        for name, machine in self.machines.items():
            said = machine.docker.info()
            mtus = [t.mtu_bytes for t in self.tunnels.values() if t.remote == machine.address]
            found.append(
                {
                    "machine": name,
                    "hosts": [host for host, at in self.place.items() if at == name],
                    "kernel": said["KernelVersion"],
                    "architecture": said["Architecture"],
                    "docker": said["ServerVersion"],
                    "link_mtu_bytes": min(mtus, default=None),
                    **asdict(self.underlays[name]),
                }
            )
        return found


def _ends(link: Link) -> tuple[LinkEnd, LinkEnd]:
    return link["a"], link["b"]


def _shaping(link: Link) -> dict[str, int]:
    options = shaper.rate_class(link["rate_bps"], link["burst_bytes"], link["frame_bytes"])
    return {
        "rate_bps": round(link["rate_bps"]),
        "burst_bytes": int(options["burst"]),
        "quantum_bytes": int(options["quantum"]),
        "limit_bytes": shaper.limit_bytes(link),
    }


def _answer(machine: Machine, method: str, path: str) -> Any:
    try:
        return machine.ask(method, path)
    except OSError as error:
        raise RunFailed(f"{machine.name} does not answer: {error}") from error


def _stop_quietly(followed: FollowedSpools) -> None:
    if followed.is_alive():
        try:
            followed.stop()
        except RunFailed:
            return  # what was fetched is kept
