"""A run's collectors: started before the transfer, their spools pushed as they grow, ended with a report of cost."""

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from collectors.host_load import HostLoad
from testbed.documents import write_json
from testbed.message import Message
from testbed.plan.model import Plan
from testbed.plan.place import FABRIC, HERE
from testbed.runtime import cross_traffic
from testbed.runtime.network import Network
from testbed.runtime.processes import Supervised
from testbed.runtime.site import Site
from topologies.link import Link, shaped_at_hosts
from topologies.netem_middle import shaping_interface

TCP_INTERVAL_MS = 50
SILENT_S = 3.0
"""The time after which a sampler without a new sample hangs."""
OWN_SPOOLS = ("host_load.lp", "events.lp")
"""The spools of this process; each of the others has a collector's name."""


class Collectors:
    """The host's load in this process, all else in ``ncp-collect``; ``ncp-push`` takes their spools, those of the
    timeline and of cross traffic to InfluxDB."""

    def __init__(
        self,
        parts: ExitStack,
        site: Site,
        network: Network,
        sockets: Iterable[Mapping[str, str]],
        further: Iterable[Path],
        credentials: Path | None,
    ) -> None:
        """Start all; they end with ``parts`` at the latest. ``sockets``: the ends of the plan's flows; ``further``:
        other spools to push. Without InfluxDB's ``credentials`` nothing is pushed."""
        plan, fabric = site.plan, network.fabric.path
        interval_s = plan["telemetry"]["interval_ms"] / 1000
        self.host_load = HostLoad(site.spools / "host_load.lp", plan["run"], plan["scenario"], interval_s)
        self.host_load.start()
        parts.callback(self.host_load.stop)
        watch, collect = site.spools / "watch.json", site.binaries["ncp-collect"]
        write_json(watch, watch_list(plan, network.namespaces(), fabric, sockets))
        command = [str(collect), "--watch", str(watch), "--dir", str(site.spools)]
        self._collect = Supervised("telemetry collectors", command, site.logs / "collect.log")
        parts.callback(self._collect.end)
        self._spools, self._looked_s, self._grown = site.spools, 0.0, dict[Path, tuple[int | None, float]]()
        self._push: Supervised | None = None
        if credentials is None:
            return
        flows = [f"iperf3-{flow['number']}.lp" for flow in plan["cross_traffic"]]
        pushed = [site.spools / name for name in (*OWN_SPOOLS, *spools_of(collect), *flows)]
        command = [str(site.binaries["ncp-push"]), "--plan", str(site.plan_file), "--credentials", str(credentials)]
        command += [part for spool in (*pushed, *further) for part in ("--spool", str(spool))]
        self._push = Supervised("telemetry pusher", command, site.logs / "push.log", namespace=fabric)
        parts.callback(self._push.stop_if_it_runs)

    def failure(self) -> Message | None:
        """The end of a collector that nobody ended, or None."""
        for process in (self._collect, self._push):
            if process and (said := process.failure()):
                return said
        if why := self.host_load.failure:
            return Message("collectors.host-load-failed", f"{why}")
        return self._silent()

    def _silent(self) -> Message | None:
        """A sampler whose spool does not grow, looked up once a second, or None."""
        if (now_s := time.monotonic()) - self._looked_s < 1:
            return None
        self._looked_s = now_s
        for spool in (*self._spools.glob("*.lp"), *self._spools.glob("relay/**/*.lp")):
            if (size := spool.stat().st_size) != self._grown.get(spool, (None, 0.0))[0]:
                self._grown[spool] = size, now_s
            elif now_s - self._grown[spool][1] > SILENT_S and not spool.name.startswith(("events", "iperf3")):
                said = f"{spool.relative_to(self._spools)} has had no new sample for {SILENT_S:g} s: its sampler hangs"
                return Message("collectors.silent", f"{said}, or this machine leaves it no time")
        return None

    def stop_sampling(self) -> None:
        """Stop with the last samples in the spools; raises :class:`Untrusted` if a collector had ended before."""
        self.host_load.stop()
        self._collect.stop()

    def stop_pushing(self) -> None:
        """Stop when the spools have been pushed, as far as the database took them."""
        if self._push:
            self._push.stop()

    def cost(self) -> dict[str, Any]:
        """The work and cost of each collector, as ``ncp-collect`` said at its end, and the host's load."""
        said = self._collect.log.read_text().splitlines()
        found = [collector for line in said if line.startswith("{") for collector in json.loads(line)["collectors"]]
        return {collector.pop("collector"): collector for collector in [*found, self.host_load.cost()]}


def spools_of(collect: Path) -> list[str]:
    """The spools that ``ncp-collect`` may write."""
    said = subprocess.run([str(collect), "--list"], capture_output=True, text=True, check=True).stdout
    return [f"{name}.lp" for name in json.loads(said)]


def watch_list(
    plan: Plan,
    namespaces: Mapping[str, str],
    fabric: str | None,
    sockets: Iterable[Mapping[str, str]],
    machine: str = HERE,
) -> dict[str, Any]:
    """``watch.json`` for one ``machine``, the interfaces, queues and sockets that ``ncp-collect`` samples
    (collectors/watch/): ``namespaces`` are paths by host, ``fabric`` that of link emulators (None: of
    hosts alone), ``sockets`` the ends of the plan's flows. Parts at other hosts and machines are left out."""
    links, elsewhere = plan["links"], plan.get("middles", {})
    own = {link["name"] for link in links if elsewhere.get(link["name"], HERE) == machine}
    by_netem = plan["middle"] == "netem"
    watched = dict(namespaces) if fabric is None else {**namespaces, FABRIC: fabric}
    return {
        "run": plan["run"],
        "scenario": plan["scenario"],
        "interval_ms": plan["telemetry"]["interval_ms"],
        "tcp_interval_ms": TCP_INTERVAL_MS,
        "namespaces": watched,
        "interfaces": [
            end
            for link in links
            for end in _interfaces(link, by_netem=by_netem)
            if end["host"] in watched and (end["host"] != FABRIC or link["name"] in own)
        ],
        "netem": [path for link in links for path in _netem(link)] if by_netem else [],
        "sockets": [end for end in (*sockets, *cross_traffic.sockets(plan)) if end["host"] in watched],
    }


def _interfaces(link: Link, *, by_netem: bool) -> Iterator[dict[str, str]]:
    """The link's ends, with the direction of the frames that leave by them."""
    ends = [
        (link["a"]["host"], link["a"]["interface"], "ab"),
        (link["b"]["host"], link["b"]["interface"], "ba"),
        (FABRIC, link["a"]["middle_interface"], "ba"),
        (FABRIC, link["b"]["middle_interface"], "ab"),
    ]
    if by_netem and not shaped_at_hosts(link):
        ends += [(FABRIC, shaping_interface(link, direction), direction) for direction in ("ab", "ba")]
    for host, interface, direction in ends:
        yield {"host": host, "interface": interface, "link": link["name"], "direction": direction}


def _netem(link: Link) -> Iterator[dict[str, str]]:
    for direction, end in (("ab", link["b"]), ("ba", link["a"])):
        queue = "" if shaped_at_hosts(link) else shaping_interface(link, direction)
        path = {"host": FABRIC, "link": link["name"], "direction": direction}
        yield {**path, "delay": end["middle_interface"], "queue": queue}
