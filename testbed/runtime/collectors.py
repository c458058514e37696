"""A run's collectors: started before the transfer, their spools pushed as they grow, ended with a report of cost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from collectors.host_load import HostLoad
from testbed.documents import write_json
from testbed.message import Message
from testbed.runtime.network import Network
from testbed.runtime.processes import Supervised
from testbed.runtime.site import Site
from testbed.runtime.watch import watch_list

OWN_SPOOLS = ("host_load.lp", "events.lp")
"""The spools of this process; each of the others has a collector's name."""


class Collectors:
    """The host's load in this process, all else in ``ncp-collect``; ``ncp-push`` takes their spools, those of the
    timeline and of cross traffic to InfluxDB."""

    def __init__(
        self, site: Site, network: Network, sockets: Iterable[Mapping[str, str]], further: Iterable[Path]
    ) -> None:
        """``sockets``: the ends of the plan's flows; ``further``: other spools to push."""
        self._site, self._network, self._sockets, self._further = site, network, sockets, further
        plan = site.plan
        interval_s = plan["telemetry"]["interval_ms"] / 1000
        self.host_load = HostLoad(site.spools / "host_load.lp", plan["run"], plan["scenario"], interval_s)
        self._collect: Supervised | None = None
        self._push: Supervised | None = None

    def start(self, parts: ExitStack, credentials: Path | None) -> None:
        """Start all; they end with ``parts`` at the latest. Without InfluxDB's ``credentials`` nothing is pushed."""
        site, fabric = self._site, self._network.fabric.path
        self.host_load.start()
        parts.callback(self.host_load.stop)
        watch, collect = site.spools / "watch.json", site.binaries["ncp-collect"]
        write_json(watch, watch_list(site.plan, self._network.namespaces(), fabric, self._sockets))
        command = [str(collect), "--watch", str(watch), "--dir", str(site.spools)]
        self._collect = Supervised.start("telemetry collectors", command, site.logs / "collect.log")
        parts.callback(_stop_quietly, self._collect)
        if credentials is None:
            return
        flows = [f"iperf3-{flow['number']}.lp" for flow in site.plan["cross_traffic"]]
        pushed = [site.spools / name for name in (*OWN_SPOOLS, *spools_of(collect), *flows)]
        command = [str(site.binaries["ncp-push"]), "--plan", str(site.plan_file), "--credentials", str(credentials)]
        command += [part for spool in (*pushed, *self._further) for part in ("--spool", str(spool))]
        self._push = Supervised.start("telemetry pusher", command, site.logs / "push.log", namespace=fabric)
        parts.callback(_stop_quietly, self._push)

    def failure(self) -> Message | None:
        """The end of a collector that nobody ended, or None."""
        for process in (self._collect, self._push):
            if process and (said := process.failure()):
                return said
        if why := self.host_load.failure:
            return Message("collectors.host-load-failed", f"{why}")
        return None

    def stop_sampling(self) -> None:
        """Stop with the last samples in the spools; raises :class:`RunFailed` if a collector had ended before."""
        self.host_load.stop()
        if self._collect:
            self._collect.stop()

    def stop_pushing(self) -> None:
        """Stop when the spools have been pushed, as far as the database took them."""
        if self._push:
            self._push.stop()

    def cost(self) -> dict[str, Any]:
        """The work and cost of each collector, as ``ncp-collect`` said at its end, and the host's load."""
        said = (self._site.logs / "collect.log").read_text().splitlines()
        found = [collector for line in said if line.startswith("{") for collector in json.loads(line)["collectors"]]
        return {collector.pop("collector"): collector for collector in [*found, self.host_load.cost()]}


def spools_of(collect: Path) -> list[str]:
    """The spools that ``ncp-collect`` may write."""
    said = subprocess.run([str(collect), "--list"], capture_output=True, text=True, check=True).stdout
    return [f"{name}.lp" for name in json.loads(said)]


def _stop_quietly(process: Supervised) -> None:
    if process.failure() is None:
        process.stop()
