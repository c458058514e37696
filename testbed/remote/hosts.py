"""The hosts of a run that are on other machines: reached, measured, connected to their link emulators, watched, and
removed."""

import json
import secrets
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from testbed.documents import write_json
from testbed.errors import CannotRun
from testbed.judge.trust import underlay
from testbed.machine import build
from testbed.message import Lines, Message
from testbed.plan.place import HERE, Way, way_between, ways_below
from testbed.remote import relays
from testbed.remote.agents import PLAN, RemoteAgent, folders_of, socket_of
from testbed.remote.machine import LEAD, SOCKET, VXLAN_PORT, Machine, address_towards, lead
from testbed.remote.programs import RemoteProgram, files_of
from testbed.remote.refusals import too_short
from testbed.remote.relays import RemoteRelay, SpreadRelay
from testbed.remote.telemetry import FetchedTelemetry
from testbed.remote.underlay_paths import VXLAN_BYTES, UnderlayPath
from testbed.runtime.agents import AgentPlace, ContainerAgent
from testbed.runtime.collectors import spools_of, watch_list
from testbed.runtime.network import HostsTcp, relay_emulator
from testbed.runtime.processes import AGENT_UID
from testbed.runtime.site import Site
from topologies import shaper
from topologies.fabric import Tunnel, namespace_of
from topologies.link import Link, LinkEnd, burst_bytes_at, shaped_at_hosts
from topologies.live_change import set_tunnel_carrier
from topologies.relay_middle import RelayMiddle
from topologies.units import whole_bps

RELAY_PLAN = "relay-plan.json"
LINK_MTU_BYTES = 1500
"""The MTU of a link whose frames stay on one machine, and the largest of others."""
ETHERNET_BYTES = 14
MTUS = (1550, 1500, 1460, 1450, 1400)
"""Packet sizes that are tried on an underlay path, the largest first."""


class InventoryHosts:
    """The hosts of one run that are on machines of an inventory; perhaps none."""

    def __init__(self, site: Site, inventory: Mapping[str, Mapping[str, Any]], own: Path) -> None:
        """``inventory`` has the variables of each machine; ``own`` is the run's folder of sockets."""
        self.site, self.plan = site, site.plan
        self.place, self._middles = self.plan.get("place", {}), self.plan.get("middles", {})
        self.machines = {
            name: Machine(name, inventory[name], self.plan["run"], own / name, site.logs / f"ssh-{name}.log")
            for name in dict.fromkeys(self.place.values())
        }
        program = site.binaries["ncp-far"]
        self._key = secrets.randbits(63)
        self._paths = {
            (one, other): UnderlayPath(self.machines.get(one), self.machines[other], program, self._key, site.logs)
            for one, other in underlay.ways_of(self.plan)
        }
        self.names = self.place.keys()
        """The hosts' names."""
        self.absent = {end["middle_interface"] for link, end in self._ends() if self._emulated_at(link) != HERE}
        """The interfaces of link emulators that are on other machines."""
        self.samples: list[underlay.Sample] = []
        """The samples of the underlay paths to their machines."""
        self.underlays: dict[Way, underlay.Underlay] = {}
        self.tunnels: dict[str, Tunnel] = {}
        """The tunnels of links that cross machines, by the interface of a host or of a link emulator here."""
        self._tunnels: dict[str, Tunnel] = {}
        self.relays: dict[str, RelayMiddle | RemoteRelay] = {}
        """The relays of the run, by machine; also the one that is here."""
        self._relay_pids: dict[str, int] = {}
        self._pids: dict[str, int] = {}
        self._fetching: list[FetchedTelemetry] = []
        self._changes = ThreadPoolExecutor(thread_name_prefix="changes elsewhere")

    def _ends(self) -> list[tuple[Link, LinkEnd]]:
        return [(link, end) for link in self.plan["links"] for end in (link["a"], link["b"])]

    def _at(self, end: LinkEnd) -> str:
        """The machine of a link's end."""
        return self.place.get(end["host"], HERE)

    def _emulated_at(self, link: Link) -> str:
        """The machine of a link's emulator."""
        return self._middles.get(link["name"], HERE)

    def _links_on(self, machine: str) -> list[Link]:
        """The links that are emulated on a machine."""
        return [link for link in self.plan["links"] if self._emulated_at(link) == machine]

    def _hosts_on(self, machine: str) -> list[str]:
        return [host for host, at in self.place.items() if at == machine]

    def connect(self, parts: ExitStack, places: Iterable[AgentPlace]) -> None:
        """Reach all machines, measure the paths between them, and lay out the tunnels; raises :class:`CannotRun` where
        a machine can't have hosts, or a link would be shorter than the underlay below it."""
        parts.callback(self._changes.shutdown)
        own = [place for place in places if place.host in self.place]
        plan = json.dumps(self.plan, indent=1, ensure_ascii=False).encode()
        for name, machine in self.machines.items():
            there = [place for place in own if self.place[place.host] == name]
            parts.callback(machine.stop)
            sockets = [relays.SOCKET] if self._links_on(name) else []
            machine.connect([*sockets, *(socket_of(place) for place in there)])
            machine.start_helper(self.site.binaries["ncp-far"], self._key)
            folders = [name for place in there for name in (place.name, *folders_of(place))]
            machine.put({PLAN: plan, LEAD: lead().encode()}, folders, owner=AGENT_UID)
            mine = set(self._hosts_on(name))
            tools = {
                one["tool"] for one in self.plan["cross_traffic"] if mine & {one["client_host"], one["server_host"]}
            }
            if files := {path: file for tool in tools for path, file in files_of(tool).items()}:
                machine.put(files, mode=0o755, into="/")
        # Those from here first: they tell the clocks by which the others are read.
        for from_here in (True, False):
            self._measure([path for path in self._paths.values() if (path.origin is None) == from_here])
        if short := too_short(self.plan, self.underlays):
            raise CannotRun("host.link-too-short", f"{Lines(short)}", "Lengthen the link, or place its hosts nearer.")
        self._lay_tunnels()

    def _measure(self, paths: Sequence[UnderlayPath]) -> None:
        with ThreadPoolExecutor(max_workers=max(1, len(paths))) as pool:
            for path, samples in zip(paths, pool.map(UnderlayPath.before, paths), strict=True):
                self.samples += samples
                self.underlays[path.ends] = underlay.of(samples)
                if path.origin is None:
                    path.machine.ahead_ns = self.underlays[path.ends].ahead_ns

    def _lay_tunnels(self) -> None:
        """Note each tunnel as the end's machine has it, by the emulator's interface, and those with an end here."""
        number = int(self.plan["run"].rsplit("-", 1)[-1], 16) & 0x7FFF
        ends = [(link, end, self._at(end), self._emulated_at(link)) for link, end in self._ends()]
        crossing = [(link, end, at, emulated_at) for link, end, at, emulated_at in ends if at != emulated_at]
        frame_bytes: dict[Way, int] = {}
        for link, _, at, emulated_at in crossing:
            path = way_between(at, emulated_at)
            frame_bytes[path] = max(frame_bytes.get(path, 0), link["frame_bytes"])
        mtus = {path: self._mtu(self._paths[path], most - ETHERNET_BYTES) for path, most in frame_bytes.items()}
        for link, end, at, emulated_at in crossing:
            vni = number << 9 | link["index"] << 1 | (end is link["b"])
            addresses = self._address(at, emulated_at), self._address(emulated_at, at)
            tunnel = Tunnel(vni, *addresses, VXLAN_PORT, mtus[way_between(at, emulated_at)])
            self._tunnels[end["middle_interface"]] = tunnel
            if at == HERE:
                self.tunnels[end["interface"]] = tunnel
            elif emulated_at == HERE:
                self.tunnels[end["middle_interface"]] = tunnel.other_end()

    def _address(self, machine: str, towards: str) -> str:
        """The address of a machine, on the path to another."""
        return self.machines[machine].address if machine else address_towards(self.machines[towards].address)

    def _mtu(self, path: UnderlayPath, needed_bytes: int) -> int:
        """The MTU of links on a path, by the largest packets that arrive in one piece."""
        least = needed_bytes + VXLAN_BYTES
        for mtu in sorted({least, *(mtu for mtu in MTUS if mtu > least)}, reverse=True):
            if path.carries(mtu):
                return min(LINK_MTU_BYTES, mtu - VXLAN_BYTES)
        raise CannotRun(
            "host.packets-too-large",
            f"{path.machine.name}: packets of {least} bytes, which frames of "
            f"{needed_bytes + ETHERNET_BYTES} bytes take, don't get there in one piece",
            "Let the network between the machines have a larger MTU, or send smaller packets (ncp.mtu).",
        )

    def _mtu_of(self, link: Link) -> int:
        """The MTU of a whole link."""
        found = [self._tunnels.get(end["middle_interface"]) for end in (link["a"], link["b"])]
        return min((tunnel.mtu_bytes for tunnel in found if tunnel), default=LINK_MTU_BYTES)

    def start_agent(self, program: Path, place: AgentPlace, beside: ContainerAgent | None) -> RemoteAgent:
        """An agent in a container of its machine."""
        machine = self.machines[self.place[place.host]]
        agent = RemoteAgent(machine, build.build_image(machine.docker, program), self.plan, place, beside)
        self._pids.setdefault(place.host, agent.pid)
        return agent

    def build(self, tcp: HostsTcp) -> None:
        """Make the hosts' ends of links, and the relays there; a host without an agent has no network yet."""
        for name, machine in self.machines.items():
            if links := self._links_on(name):
                image = build.build_image(machine.docker, self.site.binaries["ncp-link"])
                log = self.site.logs / f"relay-{name}.log"
                emulated = [self._emulated_link(link) for link in links]
                relay = self.relays[name] = RemoteRelay(machine, image, self.plan, emulated, log)
                self._relay_pids[name] = relay.pid
                machine.ask("POST", "/middles", {"pid": relay.pid, "ends": self._tunnel_ends(links)})
        for host, at in self.place.items():
            if host not in self._pids:
                self._pids[host] = self.machines[at].hold(f"{self.plan['namespace']}-{host}")
        for name, machine in self.machines.items():
            machine.ask("POST", "/hosts", {host: self._host(host, tcp) for host in self._hosts_on(name)})

    def _host(self, host: str, tcp: HostsTcp) -> dict[str, Any]:
        routes = [route for route in self.plan["routes"] if route["host"] == host]
        return {
            "pid": self._pids[host],
            "sysctls": dict(tcp.sysctls),
            "congestion_control": tcp.congestion_control or "",
            "routes": [{key: route[key] for key in ("to", "via", "interface")} for route in routes],
            "ends": [self._host_end(link, end) for link, end in self._ends() if end["host"] == host],
        }

    def _tunnel_ends(self, links: Sequence[Link]) -> list[dict[str, Any]]:
        """The emulators' sides of links that are connected to other machines."""
        return [
            {"interface": end["middle_interface"], "mtu": self._mtu_of(link), "tunnel": _tunnel(tunnel.other_end())}
            for link in links
            for end in (link["a"], link["b"])
            if (tunnel := self._tunnels.get(end["middle_interface"]))
        ]

    def _host_end(self, link: Link, end: LinkEnd) -> dict[str, Any]:
        peer, name = link["b"] if end is link["a"] else link["a"], end["middle_interface"]
        tunnel = self._tunnels.get(name)
        return {
            "pid": self._pids[end["host"]],
            "mtu": self._mtu_of(link),
            **{key: end[key] for key in ("interface", "mac", "address", "prefix")},
            "peer_mac": peer["mac"],
            "peer": peer["address"],
            "shaping": _shaping(link, link["rate_bps"]) if shaped_at_hosts(link) else None,
            "tunnel": _tunnel(tunnel) if tunnel else None,
            "middle": None if tunnel else {"pid": self._relay_pids[self._at(end)], "interface": name},
        }

    def qdiscs(self) -> list[dict[str, Any]]:
        """The counters of the hosts' queues, as :meth:`Network.qdiscs`."""
        return [queue for machine in self.machines.values() for queue in machine.answer("GET", "/queues")]

    def probes(self) -> list[str]:
        """Options with which the probe measures links from these hosts."""
        there = ((host, self.machines[at]) for host, at in self.place.items())
        options = (("--far", f"{host}={machine.own / SOCKET},{machine.ahead_ns}") for host, machine in there)
        return list(chain.from_iterable(options))

    def start_program(self, host: str, name: str, command: Sequence[str], at_unix_ns: int, log: Path) -> RemoteProgram:
        """Start a program at a host, at a time or at once if that has passed; ``log`` gets its errors."""
        return RemoteProgram(self.machines[self.place[host]], host, name, command, at_unix_ns, log)

    def change_rate(self, link: Link, direction: str, rate_bps: float, at_unix_ns: int) -> list[Future[int]]:
        """Change the rate at those ends of a link that send in a direction, if they are remote; gives the time (Unix
        nanoseconds) at which each did. The helper of each keeps the time itself."""
        return [
            self._change(self._at(end), end, at_unix_ns, shaping=_shaping(link, rate_bps))
            for name, end in (("ab", link["a"]), ("ba", link["b"]))
            if self._at(end) != HERE and direction in (name, "both")
        ]

    def set_link_up(self, link: Link, at_unix_ns: int, namespaces: Mapping[str, str], *, up: bool) -> list[Future[int]]:
        """Take up or down a link that crosses machines; ``namespaces`` are those of the hosts here. A tunnel does not
        tell one end that the other is down, so each is changed."""
        emulated_at, done = self._emulated_at(link), []
        for end in (link["a"], link["b"]):
            at = self._at(end)
            if emulated_at != HERE:
                done.append(self._change(emulated_at, end, at_unix_ns, emulator=True, up=up))
            if at == emulated_at:
                continue
            if at != HERE:
                done.append(self._change(at, end, at_unix_ns, up=up))
            else:
                path = namespaces[end["host"]]
                done.append(self._changes.submit(set_tunnel_carrier, path, end["interface"], at_unix_ns, up=up))
        return done

    def _change(
        self, machine: str, end: LinkEnd, at_unix_ns: int, *, emulator: bool = False, **change: Any
    ) -> Future[int]:
        """Change an end's interface at its host, or at the link's emulator."""
        there = self.machines[machine]
        where = {"at_unix_ns": at_unix_ns + there.ahead_ns} | ({} if emulator else {"host": end["host"]})
        path = f"/change?{urllib.parse.urlencode(where)}"
        body = {"interface": end["middle_interface"] if emulator else end["interface"], **change}
        return self._changes.submit(lambda: int(there.answer("POST", path, body)["applied_unix_ns"]) - there.ahead_ns)

    def emulated(self, link: Link, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties that a link's emulator must have, so that with the underlay below it the link has these."""
        found = dict(properties)
        if "delay_ms" in found:
            below = ways_below(link, self.place, self._emulated_at(link))
            found["delay_ms"] = max(0.0, found["delay_ms"] - sum(self.underlays[path].one_way_ms for path in below))
        return found

    def _emulated_link(self, link: Link) -> dict[str, Any]:
        return {**link, **self.emulated(link, {"delay_ms": link["delay_ms"]})}

    def emulator(self, own: Path, credentials: Path | None) -> RelayMiddle | SpreadRelay:
        """The emulator of all links: a relay for those that are here, with the folder ``own``, and remote ones. The
        links as they are emulated are in ``relay-plan.json`` then."""
        if not self.machines:
            alone = self.relays[HERE] = relay_emulator(self.site, self.site.plan_file, own, credentials)
            return alone
        emulated = {link["name"]: self._emulated_link(link) for link in self.plan["links"]}
        write_json(self.site.folder / RELAY_PLAN, {**self.plan, "links": list(emulated.values())})
        if links := self._links_on(HERE):
            write_json(own / "plan.json", {**self.plan, "links": [emulated[link["name"]] for link in links]})
            (own / "here").mkdir()
            self.relays[HERE] = relay_emulator(self.site, own / "plan.json", own / "here", credentials)
        return SpreadRelay(self.plan["links"], self._middles, self.relays, own / "here", own / "result.json")

    def start_watching(
        self, parts: ExitStack, places: Sequence[AgentPlace], sockets: Sequence[Mapping[str, str]]
    ) -> None:
        """Sample the underlay paths and the hosts all through the run, and fetch the samples as they come."""
        for path in self._paths.values():
            path.watch()
            parts.callback(path.stop)
        for machine in self.machines.values():
            own = {host: namespace_of(self._pids[host]) for host in self._hosts_on(machine.name)}
            relay_pid = self._relay_pids.get(machine.name)
            fabric = namespace_of(relay_pid) if relay_pid else None
            machine.ask("POST", "/collect", watch_list(self.plan, own, fabric, sockets, machine.name))
            watched = {path.file: path.samples_file for path in self._paths.values() if path.origin is machine}
            fetching = FetchedTelemetry(machine, self._spool_files(machine, places) | watched)
            parts.callback(fetching.stop_quietly)
            self._fetching.append(fetching)
            fetching.start()

    def _spool_files(self, machine: Machine, places: Sequence[AgentPlace]) -> dict[str, Path]:
        files = {
            f"{folders_of(place)[0]}/telemetry.lp": place.directory / "telemetry.lp"
            for place in places
            if self.place.get(place.host) == machine.name
        }
        if machine.name in self._relay_pids:
            files[relays.SPOOL] = self.site.spools / "relay" / f"{machine.name}.lp"
        names = spools_of(self.site.binaries["ncp-collect"])
        return files | {f"collected/{name}": self.site.spools / f"{machine.name}-{name}" for name in names}

    def pushed_spools(self, places: Sequence[AgentPlace]) -> list[Path]:
        """Telemetry that comes from the agents there, and that nobody pushes there."""
        return [path for machine in self.machines.values() for path in self._spool_files(machine, places).values()]

    def failure(self) -> Message | None:
        """The failure of a machine, or of a process that watches it; None while all is well."""
        watching: list[Machine | UnderlayPath | FetchedTelemetry]
        watching = [*self.machines.values(), *self._paths.values(), *self._fetching]
        return next((said for one in watching if (said := one.failure())), None)

    def stop_sampling(self) -> dict[str, Any]:
        """Fetch the last samples, write those of underlay paths to ``underlay.csv``; returns each collector's cost."""
        cost = {}
        for machine in (fetching.machine for fetching in self._fetching):
            for one in machine.answer("POST", "/collect/end")["collectors"]:
                cost[f"{one.pop('collector')} on {machine.name}"] = one
            machine.answer("POST", "/watch/end")
        for fetching in self._fetching:
            fetching.stop()
        for path in self._paths.values():
            path.stop()
            self.samples += path.samples()
        if self.machines:
            underlay.write(self.samples, self.site.folder / underlay.FILE)
        return cost

    def clocks(self) -> dict[str, float]:
        """The uncertainty of each machine's times, in milliseconds, after the run."""
        return {
            name: underlay.clock_uncertainty_ms([one for one in self.samples if one.way == (HERE, name)])
            for name in self.machines
        }

    def summary(self) -> str:
        """The paths between the machines, for the progress line."""
        found = (f"{'–'.join(filter(None, ends))} {one.one_way_ms:.2f} ms" for ends, one in self.underlays.items())
        return f"{', '.join(found)} one-way"

    def facts(self) -> list[dict[str, Any]]:
        """The facts of each machine, for provenance."""
        return [self._facts(name, machine.docker.info()) for name, machine in self.machines.items()]

    def _facts(self, name: str, engine: Mapping[str, Any]) -> dict[str, Any]:
        mtus = [self._mtu_of(link) for link, end in self._ends() if self._at(end) == name]
        return {
            "machine": name,
            "hosts": self._hosts_on(name),
            "kernel": engine["KernelVersion"],
            "architecture": engine["Architecture"],
            "docker": engine["ServerVersion"],
            "link_mtu_bytes": min(mtus, default=None),
            "middles": [link["name"] for link in self._links_on(name)],
            "ways": [asdict(one) for ends, one in self.underlays.items() if ends[0] == name],
            **asdict(self.underlays[HERE, name]),
        }


def _tunnel(tunnel: Tunnel) -> dict[str, Any]:
    """A tunnel in the helper's terms."""
    return {"vni": tunnel.vni, "local": tunnel.local, "remote": tunnel.remote, "port": tunnel.port}


def _shaping(link: Link, rate_bps: float) -> dict[str, int]:
    options = shaper.rate_class(rate_bps, burst_bytes_at(link, rate_bps), link["frame_bytes"])
    return {
        "rate_bps": whole_bps(rate_bps),
        "burst_bytes": int(options["burst"]),
        "quantum_bytes": int(options["quantum"]),
        "limit_bytes": shaper.limit_bytes(link),
    }
