"""A run's collectors: started before the transfer, their spools pushed as they grow, ended with what they cost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from collectors.host_load import HostLoad
from testbed.message import Message
from testbed.plan.model import Plan
from testbed.runtime.network import Network
from testbed.runtime.processes import Supervised
from testbed.runtime.watch import watch_list

OWN_SPOOLS = ("host_load.lp", "events.lp")
"""Of this process; each of the others has a collector's name."""


class Collectors:
    """The host's load in this process, all else in ``ncp-collect``; ``ncp-push`` takes their spools, those of the
    timeline and of cross traffic to InfluxDB."""

    def __init__(
        self,
        plan: Plan,
        plan_file: Path,
        binaries: Mapping[str, Path],
        network: Network,
        sockets: Iterable[Mapping[str, str]],
        spools: Path,
        logs: Path,
        further: Iterable[Path] = (),
    ) -> None:
        """``sockets``: the ends of what the plan's traffic sends; ``further``: spools of others, pushed as well."""
        self._plan, self._plan_file, self._binaries, self._network = plan, plan_file, binaries, network
        self._sockets, self._spools, self._logs, self._further = sockets, spools, logs, further
        self.host_load = HostLoad(
            spools / "host_load.lp", plan["run"], plan["scenario"], plan["telemetry"]["interval_ms"] / 1000
        )
        self._collect: Supervised | None = None
        self._push: Supervised | None = None

    def start(self, parts: ExitStack, credentials: Path | None) -> None:
        """Start all; they end with ``parts`` at the latest. Without InfluxDB's ``credentials`` nothing is pushed."""
        self.host_load.start()
        parts.callback(self.host_load.stop)
        watch = self._spools / "watch.json"
        watch.write_text(
            json.dumps(
                watch_list(self._plan, self._network.namespaces(), self._network.fabric.path, self._sockets), indent=1
            )
        )
        self._collect = Supervised.start(
            "telemetry collectors",
            [str(self._binaries["ncp-collect"]), "--watch", str(watch), "--dir", str(self._spools)],
            self._logs / "collect.log",
        )
        parts.callback(_stop_quietly, self._collect)
        if credentials is None:
            return
        names = [
            *OWN_SPOOLS,
            *spools_of(self._binaries["ncp-collect"]),
            *(f"iperf3-{flow['number']}.lp" for flow in self._plan["cross_traffic"]),
        ]
        self._push = Supervised.start(
            "telemetry pusher",
            [
                str(self._binaries["ncp-push"]),
                "--plan",
                str(self._plan_file),
                "--credentials",
                str(credentials),
                *(argument for name in names for argument in ("--spool", str(self._spools / name))),
                *(argument for path in self._further for argument in ("--spool", str(path))),
            ],
            self._logs / "push.log",
            namespace=self._network.fabric.path,
        )
        parts.callback(_stop_quietly, self._push)

    def failure(self) -> Message | None:
        """How one of them ended by itself, or None."""
        for process in (self._collect, self._push):
            if process and (said := process.failure()):
                return said
        if why := self.host_load.failure:
            return Message("collectors.host-load-failed", "{why}", why=why)
        return None

    def stop_sampling(self) -> None:
        """The last samples are in the spools; raises :class:`RunFailed` if a collector did not last."""
        self.host_load.stop()
        if self._collect:
            self._collect.stop()

    def stop_pushing(self) -> None:
        """The spools have been pushed, or as far as it goes."""
        if self._push:
            self._push.stop()

    def cost(self) -> dict[str, Any]:
        """What each collector did and cost, as ``ncp-collect`` said at its end, and the host's load."""
        said = (self._logs / "collect.log").read_text().splitlines()
        found = [collector for line in said if line.startswith("{") for collector in json.loads(line)["collectors"]]
        return {collector.pop("collector"): collector for collector in [*found, self.host_load.cost()]}


def spools_of(collect: Path) -> list[str]:
    """The spools that ``ncp-collect`` may write."""
    said = subprocess.run([str(collect), "--list"], capture_output=True, text=True, check=True).stdout
    return [f"{name}.lp" for name in json.loads(said)]


def _stop_quietly(process: Supervised) -> None:
    if process.failure() is None:
        process.stop()
