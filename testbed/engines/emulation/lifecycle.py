"""A plan carried out on a kernel's network, this machine's or a guest's: build, calibrate, agents, transfer, drain,
tear down. Nothing here judges, and a database is another's.

Whatever fails, all parts of the run are removed in reverse order and the data gathered so far is kept.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from testbed import traffic
from testbed.documents import write_json
from testbed.engines.emulation import calibration, telemetry, timeline
from testbed.engines.emulation.timeline import LiveTarget, Timeline
from testbed.errors import BadInput, RunFailed, Untrusted
from testbed.message import unknown
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.remote.hosts import InventoryHosts
from testbed.runtime import agents, live
from testbed.runtime.collectors import Collectors
from testbed.runtime.cross_traffic import Iperf3
from testbed.runtime.interrupts import interruptible, left_to_children, uninterruptible
from testbed.runtime.network import Network
from testbed.runtime.parts import Failure, end_together, needed
from testbed.runtime.progress import Progress
from testbed.runtime.site import Site
from testbed.runtime.transfer import await_ready
from topologies.commands import in_namespace
from topologies.fabric import Fabric
from topologies.middle import Middle

if TYPE_CHECKING:
    from testbed.engines.emulation.calibration import LinkReading


class Database(Protocol):
    """The database that a run's telemetry goes to while it is on."""

    def credentials(self, own: Path) -> Path:
        """A file in the folder ``own`` with the agents' login."""
        ...

    def open_gateway(self, parts: ExitStack, fabric: Fabric, own: Path, logs: Path) -> list[Failure]:
        """Let agents reach it until ``parts`` end; gives what to ask for failures."""
        ...

    def note_links(self, plan: Plan, readings: list[LinkReading]) -> None:
        """Store the links' calibration."""

    def following(
        self, plan: Plan, spools: Path, started_unix_ns: Callable[[], int | None]
    ) -> AbstractContextManager[object]:
        """Store the points of a transfer as they come."""
        ...


@dataclass(frozen=True)
class Measurements:
    """The measurements of links and machine during a run, from which :func:`testbed.engines.measured.trust_in` follows;
    JSON types only."""

    relay: dict[str, Any] | None
    """The relay's own result; None with netem."""
    qdiscs: list[dict[str, Any]]
    host_load: Sequence[tuple[float, float]]
    clocks: Sequence[float]
    """The readings of :class:`collectors.host_load.HostLoad`."""
    underlay_samples: Sequence[Any] | None
    """Samples of the network between machines; None where all hosts are on one."""
    points: int
    """The number of points in ``telemetry.lp``."""


class Emulation:
    """One plan on this machine's kernel."""

    def __init__(
        self, plan: Plan, folder: Path, binaries: dict[str, Path], progress: Progress, provenance: dict[str, Any]
    ) -> None:
        """``folder`` gets results, ``provenance`` facts."""
        self.plan, self.folder, self.binaries, self.progress = plan, folder, binaries, progress
        self.provenance = provenance
        self.places: list[agents.AgentPlace] = []
        self.database: Database | None = None
        """None: telemetry stays in files."""
        self.inventory: Mapping[str, Mapping[str, Any]] = {}
        """The variables of the machines that have hosts, by name."""
        self.site = Site(plan, folder, binaries, progress, provenance)
        self.traffic = traffic.of(plan)(self.site)

    @contextmanager
    def own_folder(self) -> Iterator[Path]:
        """Hold the machine, with a result folder; yields the live run's folder of credentials and control sockets."""
        only_run = live.only_run(self.plan["run"], self.plan["scenario"], self.plan["namespace"])
        with only_run as own, interruptible():
            for folder in (self.site.logs, self.site.spools, self.folder / "agents"):
                folder.mkdir(parents=True)
            write_json(self.folder / "plan.json", self.plan)
            yield own

    def shell(
        self,
        host: str,
        command: Sequence[str],
        ready: Callable[[Network, ExitStack], object] = lambda _network, _parts: None,
    ) -> int:
        """Run a command on a host behind the scenario's links once they are measured and ``ready`` was called, and take
        all down again; returns its exit code. Nothing else sends."""
        hosts = [each["name"] for each in self.plan["hosts"]]
        if (name := host or self.site.session["sender_host"]) not in hosts:
            raise BadInput.of(unknown("shell.no-such-host", "host", host, hosts))
        with self.own_folder(), ExitStack() as parts:
            try:
                with self.progress.step("network"):
                    network, _ = self._build_network(parts, InventoryHosts(self.site, {}, self.folder))
                with self.progress.step("calibrate links") as step:
                    network.emulator.start(network.links)
                    step.note = self._calibrate(network, ())
                for link in network.links:
                    ends = ", ".join(f"{link[end]['host']} {link[end]['address']}" for end in ("a", "b"))
                    self.progress.say(f"  {link['name']:<24} {ends}")
                ready(network, parts)
                here = in_namespace(network.namespaces()[name], command)
                with left_to_children():
                    return subprocess.run(here, check=False).returncode
            finally:
                with self.progress.step("tear down"), uninterruptible():
                    parts.close()

    def measure(self, own: Path) -> Measurements:
        """Carry out the part that needs the network, which is gone when this returns or raises; ``own`` is that of
        :meth:`own_folder`. Raises :class:`TestbedError` where it could not be carried out."""
        with ExitStack() as parts:
            try:
                return self._measure_and_transfer(parts, own)
            finally:
                with self.progress.step("tear down"), uninterruptible():
                    self._tear_down(parts)

    def _measure_and_transfer(self, parts: ExitStack, own: Path) -> Measurements:
        sent, spools, database = self.traffic, self.site.spools, self.database
        credentials = database.credentials(own) if database else None
        places = self.places = sent.places(own, credentials)
        remote = InventoryHosts(self.site, self.inventory, own)
        if remote.names:
            with self.progress.step("machines") as step:
                remote.connect(parts, places)
                self.provenance["machines"] = remote.facts()
                step.note = remote.summary()
        with self.progress.step("network") as step:
            network, started = self._build_network(parts, remote, credentials)
            step.note = (
                f"{len(network.links)} links, emulated by {network.emulator.name}, namespace {network.fabric.name}"
            )
        evidence: list[Failure] = [network.emulator.failed]
        if database is not None:
            evidence += database.open_gateway(parts, network.fabric, own, self.site.logs)
        # Agents and relays push their last points in parallel, and while the gateway is still there.
        parts.callback(lambda: end_together([*started, *remote.relays.values()]))
        with self.progress.step("calibrate links") as step:
            network.emulator.start(network.links)  # from here on frames cross the links
            step.note = self._calibrate(network, remote.probes())
        with self.progress.step("agents ready"):
            if not started:
                limited = engine_of(self.plan).limits_processes
                for place in places:
                    program = self.binaries[sent.program]
                    started.append(agents.ProcessAgent(program, network.pid(place.host), place, limited=limited))
            await_ready(started, timeout_s=15)

        def started_unix_ns() -> int | None:
            return sent.started_unix_ns(started)

        of_flows = network.namespaces(), self.folder, started_unix_ns, remote.start_program
        flows = [parts.enter_context(Iperf3(self.plan, flow, *of_flows)) for flow in self.plan["cross_traffic"]]
        sockets = list(sent.sockets(self.plan))
        further = [place.directory / "telemetry.lp" for place in places if place.by_node or place.code]
        further += remote.pushed_spools(places)
        collectors = Collectors(parts, self.site, network, sockets, further, credentials)
        remote.start_watching(parts, places, sockets)
        captures = None
        if self.plan.get("traces", {}).get("pcap"):
            from testbed.runtime.packets import captured_links  # its load time would show in a guest

            captures = captured_links(parts, self.site, network.namespaces())
            evidence.append(captures.failure)
        target = LiveTarget(network, started, remote)
        events = parts.enter_context(Timeline(self.plan, target, started_unix_ns, spools / "events.lp"))
        with self.progress.step("transfer") as step:
            complete = needed(*evidence, collectors.failure)
            failures = [complete, events.failure, *(flow.failure for flow in flows), remote.failure]
            following = database.following(self.plan, spools, started_unix_ns) if database else nullcontext()
            with self.progress.watching(self.plan, spools), following:
                sent.transfer(network, started, failures, step)
            for flow in flows:
                flow.wait()
            complete()
            if captures:
                self.provenance.setdefault("frames_not_captured", {}).update(captures.end())
            events.stop()
        with self.progress.step("drain") as step:
            measured = self._drain(network, collectors, remote)
            step.note = f"{measured.points} points in the file"
        return measured

    def _drain(self, network: Network, collectors: Collectors, remote: InventoryHosts) -> Measurements:
        """Stop sampling and merge all telemetry."""
        qdiscs = self.provenance["qdiscs_after"] = network.qdiscs() + remote.qdiscs()
        collectors.stop_sampling()
        network.emulator.stop()
        remote_cost, clocks = remote.stop_sampling(), remote.clocks()
        for facts in self.provenance.get("machines", ()):
            facts["clock_uncertainty_ms"] = clocks[facts["machine"]]
        collectors.stop_pushing()
        self.provenance["collectors"] = collectors.cost() | remote_cost
        load = collectors.host_load
        return Measurements(
            self._relay_result(),
            qdiscs,
            load.spans,
            load.clocks,
            remote.samples if remote.names else None,
            self._merge_spools(),
        )

    def _build_network(
        self, parts: ExitStack, remote: InventoryHosts, credentials: Path | None = None
    ) -> tuple[Network, list[agents.Agent]]:
        started: list[agents.Agent] = []
        pids: dict[str, int] = {}
        if self.plan["runtime"] == "docker":
            import docker

            from testbed.machine import build

            client = docker.from_env()
            parts.callback(client.close)
            program = self.binaries[self.traffic.program]
            image = self.provenance["agent_image"] = build.build_image(client, program)
            first: dict[str, agents.ContainerAgent] = {}
            for place in self.places:
                if place.host in remote.names:
                    container: agents.ContainerAgent = remote.start_agent(program, place, first.get(place.host))
                else:
                    container = agents.ContainerAgent(client, image, self.plan, place, first.get(place.host))
                parts.callback(container.stop)
                started.append(container)
                first.setdefault(place.host, container)
            pids = {host: container.pid for host, container in first.items() if host not in remote.names}
        relay: Middle | None = None
        if self.plan["middle"] == "relay":
            own = self.site.spools / "relay"
            own.mkdir()
            relay = remote.emulator(own, credentials)
        tcp = self.traffic.hosts_tcp(self.plan)
        fabric = Fabric(self.plan["namespace"], tcp.congestion_control, tcp.sysctls, remote.tunnels, remote.absent)
        network = Network(self.plan, fabric, relay, remote.names)
        parts.callback(network.tear_down)
        for agent in started:
            if agent.exit_code() is not None:  # there is no namespace to build in
                raise RunFailed.of(agents.why_it_ended(agent))
        network.build(pids)
        remote.build(tcp)
        self.provenance |= {
            "sysctls": network.sysctls(),
            "middle": network.emulator.facts(),
            "qdiscs_before": network.qdiscs() + remote.qdiscs(),
            "offloads_on": network.offloads(),
        }
        self.traffic.set_hosts(network, parts)
        return network, started

    def _calibrate(self, network: Network, options: Sequence[str]) -> str:
        """Measure the links; returns the worst errors."""
        probed = self.plan, self.folder, self.binaries["ncp-link"], network.namespaces(), options
        worst = ""
        for attempt, readings in enumerate(calibration.calibrate(*probed), start=1):
            if self.database is not None:  # links.csv has them all
                self.database.note_links(self.plan, readings)
            self.provenance["calibration"] = [asdict(reading) for reading in readings]
            self.provenance["calibration_attempts"] = attempt
            worst = calibration.summary(readings)
        return worst

    def _merge_spools(self) -> int:
        """Writes all samples and events into the folder; returns the number of points."""
        merged = self.folder / "telemetry.lp"
        points = telemetry.merge_spools(sorted(self.site.spools.glob("**/*.lp")), merged)
        timeline.write_csv(merged, self.folder / "events.csv")
        return points

    def _relay_result(self) -> dict[str, Any] | None:
        if self.plan["middle"] != "relay":
            return None
        try:
            result: dict[str, Any] = json.loads((self.site.spools / "relay" / "result.json").read_text())
        except (OSError, ValueError) as error:
            log = self.site.logs / "relay.log"
            raise Untrusted("relay.no-result", f"the link relay left no result ({error}); see {log}") from error
        return result

    def _tear_down(self, parts: ExitStack) -> None:
        try:
            parts.close()
        finally:
            # The telemetry of a broken run is kept as well.
            if not (self.folder / "telemetry.lp").exists():
                self._merge_spools()
            relay = self.site.spools / "relay" / "result.json"
            if relay.exists():
                shutil.copyfile(relay, self.folder / "relay.json")
            self.traffic.keep_results(self.places)
            shutil.rmtree(self.site.spools)
