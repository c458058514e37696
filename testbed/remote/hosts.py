"""The hosts of a run that are on other machines: reached, measured, wired to the middles of their links, watched,
left clean."""

from __future__ import annotations

import json
import secrets
import urllib.parse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from testbed.errors import CannotRun, RunFailed
from testbed.judge.trust import underlay
from testbed.machine import build
from testbed.message import Lines, Message
from testbed.plan.model import Plan
from testbed.plan.place import HERE, Way, way_between, ways_below
from testbed.remote import middles
from testbed.remote.agents import PLAN, FarAgent, folders_of, socket_of
from testbed.remote.machine import LEAD, SOCKET, VXLAN_PORT, Machine, address_towards, lead
from testbed.remote.middles import FarRelay, SpreadMiddle
from testbed.remote.programs import FarProgram, files_of
from testbed.remote.refusals import too_short
from testbed.remote.spools import FollowedSpools
from testbed.remote.underlay_paths import VXLAN_BYTES, Measured, Watch
from testbed.runtime.agents import AgentPlace, ContainerAgent
from testbed.runtime.collectors import spools_of
from testbed.runtime.network import HostsTcp, relay_middle
from testbed.runtime.processes import AGENT_UID
from testbed.runtime.watch import watch_list
from topologies import shaper
from topologies.fabric import Tunnel, namespace_of
from topologies.link import Link, LinkEnd, burst_bytes_at, shaped_at_hosts
from topologies.live_change import set_plug
from topologies.units import whole_bps

RELAY_PLAN = "relay-plan.json"
LINK_MTU_BYTES = 1500
"""Of a link whose frames stay on one machine, and the most of others."""
ETHERNET_BYTES = 14
MTUS = (1550, 1500, 1460, 1450, 1400)
"""What is tried of a way, the largest first."""


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
        self.place, self._middles = plan.get("place", {}), plan.get("middles", {})
        self._logs, self._spools = folder / "logs", folder / "spools"
        self.machines = {
            name: Machine(name, inventory[name], plan["run"], own / name, self._logs / f"ssh-{name}.log")
            for name in dict.fromkeys(self.place.values())
        }
        self._key = secrets.randbits(63)
        self._ways = {
            (one, other): Measured(self.machines.get(one), self.machines[other], binaries["ncp-far"], self._key)
            for one, other in underlay.ways_of(plan)
        }
        self.samples: list[underlay.Sample] = []
        self.underlays: dict[Way, underlay.Underlay] = {}
        self._tunnels: dict[str, Tunnel] = {}
        self._relays: dict[str, FarRelay] = {}
        self._pids: dict[str, int] = {}
        self._watches: list[Watch] = []
        self._following: list[FollowedSpools] = []
        self._collecting: list[Machine] = []
        self._changes = ThreadPoolExecutor(thread_name_prefix="changes elsewhere")

    @property
    def names(self) -> Collection[str]:
        """The hosts'."""
        return self.place.keys()

    @property
    def tunnels(self) -> dict[str, Tunnel]:
        """Of links with an end or the middle here and the other there, by the interface here."""
        found = {}
        for link, end in self._ends():
            if tunnel := self._tunnels.get(end["middle_interface"]):
                if self._at(end) == HERE:
                    found[end["interface"]] = tunnel
                elif self._middle_of(link) == HERE:
                    found[end["middle_interface"]] = tunnel.other_end()
        return found

    @property
    def absent(self) -> set[str]:
        """The interfaces of middles that are there."""
        return {end["middle_interface"] for link, end in self._ends() if self._middle_of(link) != HERE}

    def _ends(self) -> list[tuple[Link, LinkEnd]]:
        return [(link, end) for link in self.plan["links"] for end in (link["a"], link["b"])]

    def _at(self, end: LinkEnd) -> str:
        """The machine of a link's end."""
        return self.place.get(end["host"], HERE)

    def _middle_of(self, link: Link) -> str:
        return self._middles.get(link["name"], HERE)

    def _links_on(self, machine: str) -> list[Link]:
        """Those whose middles are there."""
        return [link for link in self.plan["links"] if self._middle_of(link) == machine]

    def connect(self, parts: ExitStack, places: Iterable[AgentPlace]) -> None:
        """Reach all machines, measure the ways between them, and lay out the tunnels; raises :class:`CannotRun` where a
        machine can't have hosts, or a link would be shorter than the ways below it."""
        parts.callback(self._changes.shutdown)
        own = [place for place in places if place.host in self.place]
        for name, machine in self.machines.items():
            there = [place for place in own if self.place[place.host] == name]
            parts.callback(machine.stop)
            relays = [middles.SOCKET] if self._links_on(name) else []
            machine.connect([*relays, *(socket_of(place) for place in there)])
            machine.start_helper(self._binaries["ncp-far"], self._key)
            plan = json.dumps(self.plan, indent=1, ensure_ascii=False).encode()
            made = [name for place in there for name in (place.name, *folders_of(place))]
            machine.put({PLAN: plan, LEAD: lead().encode()}, made, owner=AGENT_UID)
            if tools := self._tools(name):
                machine.put_programs({path: file for tool in tools for path, file in files_of(tool).items()})
        # Those from here first: they tell the clocks by which the others are told.
        for of_here in (True, False):
            self._measure([way for way in self._ways.values() if (way.origin is None) == of_here])
        if short := too_short(self.plan, self.underlays):
            raise CannotRun(
                "host.link-too-short", "{links}", "Lengthen the link, or place its hosts nearer.", links=Lines(short)
            )
        self._lay_tunnels()

    def _measure(self, ways: Sequence[Measured]) -> None:
        with ThreadPoolExecutor(max_workers=max(1, len(ways))) as side_by_side:
            for way, samples in zip(ways, side_by_side.map(Measured.before, ways), strict=True):
                self.samples += samples
                self.underlays[way.way] = underlay.of(samples)
                if way.origin is None:
                    way.machine.ahead_ns = self.underlays[way.way].ahead_ns

    def _tools(self, machine: str) -> set[str]:
        """Programs beside the sessions that a machine runs."""
        return {
            flow["tool"]
            for flow in self.plan["cross_traffic"]
            if machine in (self.place.get(flow["client_host"]), self.place.get(flow["server_host"]))
        }

    def _lay_tunnels(self) -> None:
        """Each as the end's machine has it, by the interface of the middle."""
        number = int(self.plan["run"].rsplit("-", 1)[-1], 16) & 0x7FFF
        crossed: dict[Way, list[Link]] = {}
        for link, end in self._ends():
            if self._at(end) != self._middle_of(link):
                crossed.setdefault(way_between(self._at(end), self._middle_of(link)), []).append(link)
        mtus = {
            way: self._mtu(self._ways[way], max(link["frame_bytes"] for link in links) - ETHERNET_BYTES)
            for way, links in crossed.items()
        }
        for link, end in self._ends():
            at, middle = self._at(end), self._middle_of(link)
            if at != middle:
                vni = number << 9 | link["index"] << 1 | (end is link["b"])
                self._tunnels[end["middle_interface"]] = Tunnel(
                    vni, self._address(at, middle), self._address(middle, at), VXLAN_PORT, mtus[way_between(at, middle)]
                )

    def _address(self, machine: str, towards: str) -> str:
        """Of a machine, on the way to another."""
        return self.machines[machine].address if machine else address_towards(self.machines[towards].address)

    def _mtu(self, way: Measured, needed_bytes: int) -> int:
        """Of links' frames on a way, by what gets there in one piece."""
        for mtu in sorted({*MTUS, needed_bytes + VXLAN_BYTES}, reverse=True):
            if mtu < needed_bytes + VXLAN_BYTES:
                break
            if way.carries(mtu):
                return min(LINK_MTU_BYTES, mtu - VXLAN_BYTES)
        raise CannotRun(
            "host.packets-too-large",
            "{machine}: packets of {packet_bytes} bytes, which frames of {frame_bytes} bytes take, don't get there "
            "in one piece",
            "Let the network between the machines have a larger MTU, or send smaller packets (ncp.mtu).",
            machine=way.machine.name,
            packet_bytes=needed_bytes + VXLAN_BYTES,
            frame_bytes=needed_bytes + ETHERNET_BYTES,
        )

    def _mtu_of(self, link: Link) -> int:
        """What passes all of a link."""
        found = [self._tunnels.get(end["middle_interface"]) for end in (link["a"], link["b"])]
        return min((tunnel.mtu_bytes for tunnel in found if tunnel), default=LINK_MTU_BYTES)

    def start_agent(self, program: Path, place: AgentPlace, beside: ContainerAgent | None) -> FarAgent:
        """An agent in a container of its machine."""
        machine = self.machines[self.place[place.host]]
        agent = FarAgent(machine, build.build_image(machine.docker, program), self.plan, place, beside)
        self._pids.setdefault(place.host, agent.pid)
        return agent

    def build(self, tcp: HostsTcp) -> None:
        """Their hosts' ends of links, and the relays that are there; a host without an agent has no network yet."""
        for name, machine in self.machines.items():
            if links := self._links_on(name):
                image = build.build_image(machine.docker, self._binaries["ncp-link"])
                relay = self._relays[name] = FarRelay(
                    machine, image, self.plan, [self._as_told(one) for one in links], self._logs / f"relay-{name}.log"
                )
                machine.ask("POST", "/middles", {"pid": relay.pid, "ends": self._ends_of_middles(links)})
        for host, at in self.place.items():
            if host not in self._pids:
                self._pids[host] = self.machines[at].hold(f"{self.plan['namespace']}-{host}")
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
                        self._far_end(link, end, self._pids[host]) for link, end in self._ends() if end["host"] == host
                    ],
                }
                for host, at in self.place.items()
                if at == name
            }
            machine.ask("POST", "/hosts", hosts)

    def _ends_of_middles(self, links: Sequence[Link]) -> list[dict[str, Any]]:
        """Their sides that are wired to other machines."""
        wired = [
            (link, self._tunnels.get(end["middle_interface"]), end) for link in links for end in (link["a"], link["b"])
        ]
        return [
            {"interface": end["middle_interface"], "mtu": self._mtu_of(link), "tunnel": _tunnel(tunnel.other_end())}
            for link, tunnel, end in wired
            if tunnel
        ]

    def _far_end(self, link: Link, end: LinkEnd, pid: int) -> dict[str, Any]:
        tunnel, peer = self._tunnels.get(end["middle_interface"]), link["b"] if end is link["a"] else link["a"]
        wired: dict[str, Any] = (
            {"tunnel": _tunnel(tunnel)}
            if tunnel
            else {"middle": {"pid": self._relays[self._at(end)].pid, "interface": end["middle_interface"]}}
        )
        return {
            "pid": pid,
            "interface": end["interface"],
            "mac": end["mac"],
            "mtu": self._mtu_of(link),
            "address": end["address"],
            "prefix": end["prefix"],
            "peer_mac": peer["mac"],
            "peer": peer["address"],
            "shaping": _shaping(link, link["rate_bps"]) if shaped_at_hosts(link) else None,
            **wired,
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

    def start_program(self, host: str, name: str, command: Sequence[str], at_unix_ns: int, log: Path) -> FarProgram:
        """One at a host, see :class:`FarProgram`."""
        return FarProgram(self.machines[self.place[host]], host, name, command, at_unix_ns, log)

    def change_rate(self, link: Link, direction: str, rate_bps: float, at_unix_ns: int) -> list[Future[int]]:
        """At the ends that are theirs and send that way. The helper of each keeps the time itself; the answers, when it
        was done, come from threads of their own."""
        return [
            self._change(self._at(end), end, at_unix_ns, shaping=_shaping(link, rate_bps))
            for way, end in zip(("ab", "ba"), (link["a"], link["b"]), strict=True)
            if self._at(end) != HERE and direction in (way, "both")
        ]

    def change_plug(self, link: Link, at_unix_ns: int, here: Mapping[str, str], *, up: bool) -> list[Future[int]]:
        """Of a link whose middle is not here, or an end; ``here`` are the paths of hosts' namespaces. A tunnel does not
        tell one end that the other is down, so each is pulled."""
        middle, done = self._middle_of(link), []
        for end in (link["a"], link["b"]):
            at = self._at(end)
            if middle != HERE:
                done.append(self._change(middle, end, at_unix_ns, middle=True, up=up))
            if at == middle:
                continue
            if at != HERE:
                done.append(self._change(at, end, at_unix_ns, up=up))
            else:
                done.append(self._changes.submit(set_plug, here[end["host"]], end["interface"], at_unix_ns, up=up))
        return done

    def _change(
        self, machine: str, end: LinkEnd, at_unix_ns: int, *, middle: bool = False, **change: Any
    ) -> Future[int]:
        """Of an end's interface at its host, or at the middle."""
        there = self.machines[machine]
        asked = {"at_unix_ns": at_unix_ns + there.ahead_ns} | ({} if middle else {"host": end["host"]})
        path = f"/change?{urllib.parse.urlencode(asked)}"
        body = {"interface": end["middle_interface"] if middle else end["interface"], **change}
        return self._changes.submit(lambda: int(_answer(there, "POST", path, body)["applied_unix_ns"]) - there.ahead_ns)

    def in_the_middle(self, link: Link, properties: Mapping[str, Any]) -> dict[str, Any]:
        """A delay is as much less there as the ways below the link take."""
        told = dict(properties)
        if "delay_ms" in told:
            told["delay_ms"] = max(0.0, told["delay_ms"] - self.below_ms(link))
        return told

    def below_ms(self, link: Link) -> float:
        """What the ways between machines add to a link's delay, one-way."""
        return sum(self.underlays[way].one_way_ms for way in ways_below(link, self.place, self._middle_of(link)))

    def _as_told(self, link: Link) -> dict[str, Any]:
        """As its middle is to have it."""
        return {**link, **self.in_the_middle(link, {"delay_ms": link["delay_ms"]})}

    def middle(self, own: Path, credentials: Path | None) -> SpreadMiddle:
        """That of all links: a relay here for those that are here, with the folder ``own``, and those there. All links
        are in ``relay-plan.json`` as their middles are to have them."""
        told = {**self.plan, "links": [self._as_told(link) for link in self.plan["links"]]}
        (self._folder / RELAY_PLAN).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        here = None
        if links := self._links_on(HERE):
            file = own / "plan.json"
            file.write_text(json.dumps({**self.plan, "links": [self._as_told(link) for link in links]}))
            (own / "here").mkdir()
            here = relay_middle(
                self.plan, file, self._binaries["ncp-link"], own / "here", credentials, self._logs / "relay.log"
            )
        return SpreadMiddle(self.plan["links"], self._middles, here, self._relays, own / "here", own / "result.json")

    def start_watching(
        self, parts: ExitStack, places: Sequence[AgentPlace], sockets: Sequence[Mapping[str, str]]
    ) -> None:
        """Sample the ways all through the run, and the hosts; what is sampled there comes here as it does."""
        for way in self._ways.values():
            watch = way.watch(self._logs)
            parts.callback(watch.stop)
            self._watches.append(watch)
        for machine in self.machines.values():
            machine.ask("POST", "/collect", self._watch_list(machine, sockets))
            self._collecting.append(machine)
            ways = {one.measured.file: one.file for one in self._watches if one.measured.origin is machine}
            followed = FollowedSpools(machine, self._spool_files(machine, places) | ways)
            parts.callback(_stop_quietly, followed)
            self._following.append(followed)
            followed.start()

    def _watch_list(self, machine: Machine, sockets: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        own = {host: namespace_of(self._pids[host]) for host, at in self.place.items() if at == machine.name}
        relay = self._relays.get(machine.name)
        middles = namespace_of(relay.pid) if relay else None
        return watch_list(self.plan, own, middles, sockets, machine.name)

    def _spool_files(self, machine: Machine, places: Sequence[AgentPlace]) -> dict[str, Path]:
        files = {
            f"{folders_of(place)[0]}/telemetry.lp": place.directory / "telemetry.lp"
            for place in places
            if self.place.get(place.host) == machine.name
        }
        if machine.name in self._relays:
            files[middles.SPOOL] = self._spools / "relay" / f"{machine.name}.lp"
        names = spools_of(self._binaries["ncp-collect"])
        return files | {f"collected/{name}": self._spools / f"{machine.name}-{name}" for name in names}

    def pushed_spools(self, places: Sequence[AgentPlace]) -> list[Path]:
        """Those that come from there, and which nobody pushes there."""
        return [path for machine in self.machines.values() for path in self._spool_files(machine, places).values()]

    def failure(self) -> Message | None:
        """What became of a machine, or of what watches it; None while all is well."""
        asked: list[Callable[[], Message | None]] = [machine.failure for machine in self.machines.values()]
        asked += [watch.failure for watch in self._watches]
        asked += [followed.failure for followed in self._following]
        return next((said for failure in asked if (said := failure())), None)

    def stop_sampling(self) -> dict[str, Any]:
        """The last samples are here, those of the ways in ``underlay.csv``; what each collector did and cost."""
        cost = {}
        for machine in self._collecting:
            for one in _answer(machine, "POST", "/collect/end")["collectors"]:
                cost[f"{one.pop('collector')} on {machine.name}"] = one
            _answer(machine, "POST", "/watch/end")
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

    def clocks(self) -> dict[str, float]:
        """What the times of each machine may be off for, in milliseconds, after the run."""
        return {
            name: underlay.clock_uncertainty_ms([one for one in self.samples if one.way == (HERE, name)])
            for name in self.machines
        }

    def summary(self) -> str:
        """The ways between the machines, for the progress line."""
        return (
            ", ".join(f"{'–'.join(filter(None, way))} {one.one_way_ms:.2f} ms" for way, one in self.underlays.items())
            + " one-way"
        )

    def facts(self) -> list[dict[str, Any]]:
        """Of each machine, for provenance."""
        found = []
        for name, machine in self.machines.items():
            said = machine.docker.info()
            mtus = [self._mtu_of(link) for link, end in self._ends() if self._at(end) == name]
            found.append(
                {
                    "machine": name,
                    "hosts": [host for host, at in self.place.items() if at == name],
                    "kernel": said["KernelVersion"],
                    "architecture": said["Architecture"],
                    "docker": said["ServerVersion"],
                    "link_mtu_bytes": min(mtus, default=None),
                    "middles": [link["name"] for link in self._links_on(name)],
                    "ways": [asdict(one) for way, one in self.underlays.items() if way[0] == name],
                    **asdict(self.underlays[HERE, name]),
                }
            )
        return found


def _tunnel(tunnel: Tunnel) -> dict[str, Any]:
    """As the helper takes it."""
    return {"vni": tunnel.vni, "local": tunnel.local, "remote": tunnel.remote, "port": tunnel.port}


def _shaping(link: Link, rate_bps: float) -> dict[str, int]:
    options = shaper.rate_class(rate_bps, burst_bytes_at(link, rate_bps), link["frame_bytes"])
    return {
        "rate_bps": whole_bps(rate_bps),
        "burst_bytes": int(options["burst"]),
        "quantum_bytes": int(options["quantum"]),
        "limit_bytes": shaper.limit_bytes(link),
    }


def _answer(machine: Machine, method: str, path: str, body: object = None) -> Any:
    try:
        return machine.ask(method, path, body)
    except OSError as error:
        raise RunFailed(
            "host.does-not-answer", "{machine} does not answer: {error}", machine=machine.name, error=error
        ) from error


def _stop_quietly(followed: FollowedSpools) -> None:
    if followed.is_alive():
        try:
            followed.stop()
        except RunFailed:
            return  # what was fetched is kept
