"""The lifecycle of an emulated run: lock, build, network, calibrate, agents, transfer, drain, judge, tear down.

Whatever fails, all parts of the run are removed in reverse order and the data gathered so far is kept.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from collectors.host_load import clock_step_s
from testbed import traffic
from testbed.engines import provenance, telemetry
from testbed.engines.mininet import calibration, timeline
from testbed.engines.mininet.live_database import LiveDatabase, announce
from testbed.engines.mininet.timeline import LiveTarget, Timeline
from testbed.engines.run import Run
from testbed.errors import BadInput, CannotRun, RunFailed, Untrusted
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.trust import of_measurements
from testbed.judge.trust.machine import HOST_LOAD, write_spans
from testbed.machine import build
from testbed.message import unknown
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.remote.hosts import InventoryHosts
from testbed.runtime import agents, live
from testbed.runtime.collectors import Collectors
from testbed.runtime.cross_traffic import Iperf3
from testbed.runtime.interrupts import Interrupted, interruptible, left_to_children, uninterruptible
from testbed.runtime.network import Network
from testbed.runtime.parts import Failure, end_together, needed
from testbed.runtime.processes import AGENT_UID
from testbed.runtime.progress import Progress
from testbed.runtime.site import Site
from testbed.runtime.transfer import await_ready
from testbed.scenario.kept import Kept
from testbed.series import FromFile
from testbed.services.influx import server
from testbed.services.influx.client import Client, NoAnswer, QueryFailed
from testbed.services.influx.endpoint import Endpoint
from testbed.services.influx.reader import FromInflux
from topologies.commands import in_namespace
from topologies.fabric import Fabric
from topologies.middle import Middle

Measured = tuple[Trust, int, int | None]
"""Whether a run can be trusted, and its points of telemetry, in the file and in the database (None: there is none)."""


class EmulatedRun(Run):
    """One run of a plan on this machine."""

    repeatable = False

    def __init__(
        self, plan: Plan, loaded: Kept, binaries: dict[str, Path], progress: Progress, results: Path | None = None
    ) -> None:
        super().__init__(plan, loaded, binaries, progress, results)
        self.places: list[agents.AgentPlace] = []
        self.endpoint: Endpoint | None = None
        self.credentials: Path | None = None
        """File with the agents' login for the database; None: telemetry stays in files."""
        self.inventory: Mapping[str, Mapping[str, Any]] = {}
        """The variables of the machines that have hosts, by name."""
        self.site = Site(plan, self.folder, binaries, progress, self.provenance)
        self.traffic = traffic.of(plan)(self.site)

    def without_database(self, database_points: int | None) -> Verdict:
        """Refuse: no run on real packets is like another."""
        raise CannotRun("run.not-repeatable", "a run on real packets can't be repeated: it would be another run")

    def _broke_down(self, error: Exception) -> None:
        from testbed.engines.judging import write_broken

        endpoint = None if isinstance(error, NoAnswer) else self.endpoint
        # Whoever stops a run does not wait for plots, and may press Ctrl-C twice.
        report = not isinstance(error, Interrupted)
        with uninterruptible():
            self._write_provenance()
            write_broken(self.plan, self.folder, endpoint, error, getattr(error, "reasons", []), report=report)

    def measure(self) -> Trust:
        """Run without a database and without a verdict: telemetry and results are left in the folder.

        Raises :class:`TestbedError` where the run could not be carried out.
        """
        with self._own_folder() as own:
            return self._on_the_network(own)[0]

    def shell(self, host: str, command: Sequence[str]) -> int:
        """Run a command on a host behind the scenario's links once they are measured, and take all down again; returns
        its exit code. Nothing else sends."""
        hosts = [each["name"] for each in self.plan["hosts"]]
        if (name := host or self.site.session["sender_host"]) not in hosts:
            raise BadInput.of(unknown("shell.no-such-host", "host", host, hosts))
        with self._own_folder(), ExitStack() as parts:
            try:
                with self.progress.step("network"):
                    network, _ = self._build_network(parts, InventoryHosts(self.site, {}, self.folder))
                with self.progress.step("calibrate links") as step:
                    network.emulator.start(network.links)
                    step.note = self._calibrate(network, ())
                for link in network.links:
                    ends = ", ".join(f"{link[end]['host']} {link[end]['address']}" for end in ("a", "b"))
                    self.progress.say(f"  {link['name']:<24} {ends}")
                here = in_namespace(network.namespaces()[name], command)
                with left_to_children():
                    return subprocess.run(here, check=False).returncode
            finally:
                with self.progress.step("tear down"), uninterruptible():
                    parts.close()

    @contextmanager
    def _own_folder(self) -> Iterator[Path]:
        """Hold the machine, with a result folder; yields the live run's folder of credentials and control sockets."""
        only_run = live.only_run(self.plan["run"], self.plan["scenario"], self.plan["namespace"])
        with only_run as own, interruptible():
            for folder in (self.site.logs, self.site.spools, self.folder / "agents"):
                folder.mkdir(parents=True)
            self._keep_plan_and_scenario()
            yield own

    def _run(self, own: Path) -> Verdict:
        with self.progress.step("database") as step:
            endpoint = self.endpoint = server.ensure()
            announce(endpoint, self.plan, self.folder)
            step.note = f"InfluxDB at {endpoint.url}{server.started_elsewhere()}"
        measured = self._on_the_network(own)
        with self.progress.step("judge and report") as step:
            from testbed.engines.judging import judge_and_report

            self._write_provenance()
            verdict = judge_and_report(self.plan, self.folder, endpoint, *measured)
            step.note = verdict.summary
        return verdict

    def _on_the_network(self, own: Path) -> Measured:
        """Carry out the part that needs the network, which is gone when this returns or raises.

        Without an endpoint telemetry stays in files, and no point of the database is counted.
        """
        if self.endpoint is not None:
            credentials = self.credentials = own / "agent-credentials.json"
            self.endpoint.logins["agent"].write(credentials)
            # The agents' group may read it; the folder above is root's.
            shutil.chown(credentials, group=AGENT_UID)
            credentials.chmod(0o440)
        with ExitStack() as parts:
            try:
                return self._measure_and_transfer(parts, own)
            finally:
                with self.progress.step("tear down"), uninterruptible():
                    self._tear_down(parts)

    def _measure_and_transfer(self, parts: ExitStack, own: Path) -> Measured:
        sent, spools, endpoint = self.traffic, self.site.spools, self.endpoint
        places = self.places = sent.places(own, self.credentials)
        remote = InventoryHosts(self.site, self.inventory, own)
        if remote.names:
            with self.progress.step("machines") as step:
                remote.connect(parts, places)
                self.provenance["machines"] = remote.facts()
                step.note = remote.summary()
        with self.progress.step("network") as step:
            network, started = self._build_network(parts, remote)
            step.note = (
                f"{len(network.links)} links, emulated by {network.emulator.name}, namespace {network.fabric.name}"
            )
        evidence: list[Failure] = [network.emulator.failed]
        if endpoint is not None:
            evidence += telemetry.open_gateway(parts, network.fabric, endpoint.url, own, self.site.logs)
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
        collectors = Collectors(parts, self.site, network, sockets, further, self.credentials)
        remote.start_watching(parts, places, sockets)
        captures = None
        if self.plan.get("traces", {}).get("pcap"):
            from testbed.runtime.packets import LinkCaptures  # its load time would show in a guest

            captures = LinkCaptures(parts, self.site, network.namespaces())
            evidence.append(captures.failure)
        target = LiveTarget(network, started, remote)
        events = parts.enter_context(Timeline(self.plan, target, started_unix_ns, spools / "events.lp"))
        with self.progress.step("transfer") as step:
            complete = needed(*evidence, collectors.failure)
            failures = [complete, events.failure, *(flow.failure for flow in flows), remote.failure]
            following = LiveDatabase(endpoint, self.plan, spools, started_unix_ns) if endpoint else nullcontext()
            with self.progress.watching(self.plan, spools), following:
                sent.transfer(network, started, failures, step)
            for flow in flows:
                flow.wait()
            complete()
            if captures:
                self.provenance.setdefault("frames_not_captured", {}).update(captures.end())
            events.stop()
        with self.progress.step("drain") as step:
            trust, in_file, in_database = self._drain(network, collectors, remote)
            step.note = f"{in_file} points in the file"
            if in_database is not None:
                step.note += f", {in_database} in the database"
        return trust, in_file, in_database

    def _drain(self, network: Network, collectors: Collectors, remote: InventoryHosts) -> Measured:
        """Stop sampling, merge all telemetry and say whether the run can be trusted."""
        qdiscs = self.provenance["qdiscs_after"] = network.qdiscs() + remote.qdiscs()
        collectors.stop_sampling()
        network.emulator.stop()
        remote_cost, clocks = remote.stop_sampling(), remote.clocks()
        for facts in self.provenance.get("machines", ()):
            facts["clock_uncertainty_ms"] = clocks[facts["machine"]]
        collectors.stop_pushing()
        self.provenance["collectors"] = collectors.cost() | remote_cost
        load = collectors.host_load
        write_spans(load.spans, self.folder / HOST_LOAD)
        if step_s := clock_step_s(load.clocks):
            self.provenance["clock_step_s"] = step_s
        points = self._merge_spools()
        trust = of_measurements(
            self.plan,
            links=self.folder / "links.csv",
            relay=self._relay_result(),
            qdiscs=qdiscs,
            host_load=load.spans,
            clock_step_s=step_s,
            underlay_samples=remote.samples if remote.names else None,
            events=FromFile(self.folder / "telemetry.lp", {"event"}).events(),
        )
        if self.endpoint is None:
            return trust, points, None
        with Client(self.endpoint, "reader") as reader:
            return trust, points, FromInflux(reader, self.plan["run"]).count_points()

    def _build_network(self, parts: ExitStack, remote: InventoryHosts) -> tuple[Network, list[agents.Agent]]:
        started: list[agents.Agent] = []
        pids: dict[str, int] = {}
        if self.plan["runtime"] == "docker":
            import docker

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
            relay = remote.emulator(own, self.credentials)
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
            "sysctls": provenance.sysctls(network.namespaces()),
            "middle": network.emulator.facts(),
            "qdiscs_before": network.qdiscs() + remote.qdiscs(),
            "offloads_on": network.offloads(),
        }
        self.traffic.set_hosts(network)
        return network, started

    def _calibrate(self, network: Network, options: Sequence[str]) -> str:
        """Measure the links; returns the worst errors."""
        probed = self.plan, self.folder, self.binaries["ncp-link"], network.namespaces(), options
        worst = ""
        for attempt, readings in enumerate(calibration.calibrate(*probed), start=1):
            if self.endpoint is not None:  # links.csv has them all
                with suppress(QueryFailed), Client(self.endpoint, "admin") as writer:
                    writer.write(calibration.lines(self.plan, readings, time.time_ns()))
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
