"""A run's life: lock, build, network, calibrate, agents, transfer, drain, judge, report, tear down.

Whatever fails, what the run made is removed in reverse order and the data gathered so far is kept.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collectors.host_load import clock_step_s
from testbed import paths, traffic
from testbed.engines import provenance, telemetry
from testbed.engines.mininet import calibration, timeline
from testbed.engines.mininet.live_target import LiveTarget
from testbed.engines.mininet.telemetry_lag import TelemetryLag
from testbed.engines.mininet.time_alignment import TimeAlignment, announce
from testbed.engines.mininet.timeline import Timeline
from testbed.errors import CannotRun, RunFailed
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.trust import Measured, of_measurements
from testbed.judge.trust.machine import HOST_LOAD, write_spans
from testbed.machine import build
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.results.folder import make_latest
from testbed.runtime import agents, live
from testbed.runtime.collectors import Collectors
from testbed.runtime.cross_traffic import Iperf3
from testbed.runtime.endings import end_together
from testbed.runtime.interrupts import Interrupted, interruptible, uninterruptible
from testbed.runtime.network import Network, RelayedMiddle, relay_middle
from testbed.runtime.processes import AGENT_UID
from testbed.runtime.progress import Progress
from testbed.runtime.transfer import await_ready
from testbed.scenario.kept import Kept, keep
from testbed.series import FromFile, FromInflux
from testbed.services.influx import server
from testbed.services.influx.client import Client, NoAnswer, QueryFailed
from testbed.services.influx.endpoint import Endpoint

if TYPE_CHECKING:
    from testbed.engines.mininet.link_captures import LinkCaptures
    from testbed.remote.hosts import FarHosts


class EmulatedRun:
    """One run of a plan on this machine."""

    repeatable = False

    def __init__(
        self, plan: Plan, loaded: Kept, binaries: dict[str, Path], progress: Progress, results: Path | None = None
    ) -> None:
        """``results``: where its result folder goes, without it that of the scenario's results."""
        self.plan, self.loaded, self.binaries, self.progress = plan, loaded, binaries, progress
        self.folder = (results or paths.results() / plan["scenario"]) / plan["run"]
        self.logs = self.folder / "logs"
        self.plan_file = self.folder / "plan.json"
        self.spools = self.folder / "spools"
        self.places: list[agents.AgentPlace] = []
        self.endpoint: Endpoint | None = None
        self.inventory: Mapping[str, Mapping[str, Any]] = {}
        """The machines' variables, by name, where hosts are elsewhere."""
        self._far: FarHosts | None = None
        self.provenance: dict[str, Any] = {"run": provenance.of_plan(plan)}
        self.traffic = traffic.of(plan)(traffic.Site(plan, self.folder, binaries, progress, self.provenance))

    def without_database(self, database_points: int | None) -> Verdict:
        """No run on real packets is like another."""
        raise CannotRun("run.not-repeatable", "a run on real packets can't be made again: it would be another run")

    def execute(self) -> Verdict:
        """Run to the verdict; raises :class:`TestbedError` where it could not be reached."""
        with ExitStack() as stack:
            own = stack.enter_context(live.only_run(self.plan["run"], self.plan["scenario"], self.plan["namespace"]))
            stack.enter_context(interruptible())
            self._make_folder()
            try:
                return self._run(own)
            except Exception as error:
                from testbed.engines.judging import write_broken

                self._write_provenance()
                write_broken(
                    self.plan,
                    self.folder,
                    None if isinstance(error, NoAnswer) else self.endpoint,
                    error,
                    getattr(error, "reasons", []),
                    # Who stops a run does not wait for plots.
                    report=not isinstance(error, Interrupted),
                )
                raise

    def measure(self) -> Trust:
        """Run without a database and without a verdict: telemetry and results are left in the folder.

        Raises :class:`TestbedError` where the run could not be carried out.
        """
        with ExitStack() as stack:
            own = stack.enter_context(live.only_run(self.plan["run"], self.plan["scenario"], self.plan["namespace"]))
            stack.enter_context(interruptible())
            self._make_folder()
            trust, _ = self._on_the_network(own, None)
        return trust

    def _make_folder(self) -> None:
        for folder in (self.logs, self.spools, self.folder / "agents"):
            folder.mkdir(parents=True)
        self.plan_file.write_text(json.dumps(self.plan, indent=1, ensure_ascii=False) + "\n")
        keep(self.loaded, self.folder, self.plan["topology"].get("file"))
        self.provenance["run"] |= provenance.of_program(self.folder)
        make_latest(self.folder)

    def _run(self, own: Path) -> Verdict:
        with self.progress.step("database") as step:
            endpoint = self.endpoint = server.ensure()
            announce(endpoint, self.plan, self.folder)
            step.note = f"InfluxDB at {endpoint.url}"
        trust, counts = self._on_the_network(own, endpoint)
        with self.progress.step("judge and report") as step:
            from testbed.engines.judging import judge_and_report

            self._write_provenance()
            verdict = judge_and_report(self.plan, self.folder, endpoint, trust, counts)
            step.note = verdict.summary
        return verdict

    def _on_the_network(self, own: Path, endpoint: Endpoint | None) -> tuple[Trust, telemetry.Counts]:
        """Everything that needs the network; it is gone when this returns or raises.

        Without an ``endpoint`` telemetry stays in files, and no point of the database is counted.
        """
        credentials = None
        if endpoint is not None:
            credentials = own / "agent-credentials.json"
            endpoint.logins["agent"].write(credentials)
            # The agents' group may read it; the folder above is root's.
            shutil.chown(credentials, group=AGENT_UID)
            credentials.chmod(0o440)
        with ExitStack() as parts:
            try:
                return self._measure_and_transfer(parts, own, endpoint, credentials)
            finally:
                with self.progress.step("tear down"), uninterruptible():
                    self._tear_down(parts)

    def _measure_and_transfer(
        self, parts: ExitStack, own: Path, endpoint: Endpoint | None, credentials: Path | None
    ) -> tuple[Trust, telemetry.Counts]:
        places = self.places = self.traffic.places(own, credentials)
        if self.plan.get("place"):
            self._far = self._reach_machines(parts, places, own)
        with self.progress.step("network") as step:
            network, started = self._build_network(parts, places, credentials)
            step.note = f"{len(network.links)} links, middle by {network.middle.name}, namespace {network.fabric.name}"
        failures = [network.middle.failed]
        if endpoint is not None:
            gateway = telemetry.Gateway(network.fabric, endpoint.url, own, self.logs)
            parts.callback(gateway.stop)
            failures.append(gateway.failure)
        # All that push at their end do so side by side, and while the gateway is still there.
        parts.callback(lambda: end_together([*started, *network.programs()]))
        with self.progress.step("calibrate links") as step:
            network.start_middle()
            readings = self._calibrate(network, endpoint)
            step.note = calibration.summary(readings)
        with self.progress.step("agents ready"):
            if not started:
                for place in places:
                    host_pid = network.pid(place.host)
                    program = self.binaries[self.traffic.program]
                    limited = engine_of(self.plan).limits_processes
                    started.append(agents.ProcessAgent(program, host_pid, place, limited=limited))
            await_ready(started, timeout_s=15)
        sent = self.traffic
        cross_traffic = self._start_cross_traffic(parts, network, started)
        collectors = self._start_collectors(parts, network, places, credentials)
        captures = self._start_captures(parts, network)
        events = Timeline(
            self.plan, LiveTarget(network, started), lambda: sent.started_unix_ns(started), self.spools / "events.lp"
        )
        parts.callback(events.stop)
        events.start()
        with self.progress.step("transfer") as step:
            failures += [events.failure, collectors.failure, *(flow.failure for flow in cross_traffic)]
            failures += [self._far.failure] if self._far else []
            with self.progress.watching(self.plan, self.spools), ExitStack() as watched:
                if endpoint is not None:
                    following = TimeAlignment(endpoint, self.plan, self.spools, lambda: sent.started_unix_ns(started))
                    for thread in (TelemetryLag(endpoint, self.plan), following):
                        watched.callback(thread.stop)
                        thread.start()
                self.traffic.transfer(network, started, failures, step)
            for flow in cross_traffic:
                flow.wait()
            if captures:
                captures.end()
                self.provenance.setdefault("frames_not_captured", {}).update(captures.lost())
            events.stop()
            timeline.write_csv(events.done, self.folder / "events.csv")
        with self.progress.step("drain") as step:
            qdiscs = network.qdiscs()
            self.provenance["qdiscs_after"] = qdiscs
            collectors.stop_sampling()
            network.middle.stop()
            there = self._stop_sampling_elsewhere()
            collectors.stop_pushing()
            self.provenance["collectors"] = collectors.cost() | there
            spans = collectors.host_load.spans
            write_spans(spans, self.folder / HOST_LOAD)
            step_s = clock_step_s(collectors.host_load.clocks)
            if step_s:
                self.provenance["clock_step_s"] = step_s
            merged = telemetry.merge_spools(self._spool_files(), self.folder / "telemetry.lp")
            underlay = self._far.samples if self._far else None
            measured = Measured(self.folder / "links.csv", self._relay_result(), qdiscs, spans, step_s, underlay)
            happened = FromFile(self.folder / "telemetry.lp", {"event"}).events() if self._far else []
            trust = of_measurements(self.plan, measured, happened)
            counts = telemetry.Counts(merged, self._stored_points(endpoint))
            step.note = f"{counts.in_file} points in the file"
            if counts.in_database is not None:
                step.note += f", {counts.in_database} in the database"
        return trust, counts

    def _stored_points(self, endpoint: Endpoint | None) -> int | None:
        if endpoint is None:
            return None
        with Client(endpoint, "reader") as reader:
            return FromInflux(reader, self.plan["run"]).count_points()

    def _build_network(
        self, parts: ExitStack, places: list[agents.AgentPlace], credentials: Path | None
    ) -> tuple[Network, list[agents.Agent]]:
        started: list[agents.Agent] = []
        pids: dict[str, int] | None = None
        if self.plan["runtime"] == "docker":
            import docker

            client = docker.from_env()
            parts.callback(client.close)
            image = build.build_image(client, self.binaries[self.traffic.program])
            self.provenance["agent_image"] = image
            first: dict[str, agents.ContainerAgent] = {}
            for place in places:
                container = self._container(client, image, place, first.get(place.host))
                parts.callback(container.stop)
                started.append(container)
                first.setdefault(place.host, container)
            elsewhere = self._far.names if self._far else ()
            pids = {host: container.pid for host, container in first.items() if host not in elsewhere}
        relay: RelayedMiddle | None = None
        if self.plan["middle"] == "relay":
            own = self.spools / "relay"
            own.mkdir()
            relay = (
                self._far.middle(own, credentials)
                if self._far
                else relay_middle(
                    self.plan, self.plan_file, self.binaries["ncp-link"], own, credentials, self.logs / "relay.log"
                )
            )
        network = Network(self.plan, relay, self.traffic.hosts_tcp(self.plan), self._far)
        parts.callback(network.tear_down)
        for agent in started:
            if agent.exit_code() is not None:  # there is no namespace to build in
                raise RunFailed.of(agents.why_it_ended(agent))
        network.build(pids)
        self.provenance["sysctls"] = provenance.sysctls(network.namespaces())
        self.provenance["middle"] = network.middle.facts()
        self.provenance["qdiscs_before"] = network.qdiscs()
        self.provenance["offloads_on"] = network.offloads()
        self.traffic.set_hosts(network)
        return network, started

    def _calibrate(self, network: Network, endpoint: Endpoint | None) -> list[calibration.LinkReading]:
        def note(readings: list[calibration.LinkReading], attempt: int) -> None:
            if endpoint is not None:  # links.csv has them all
                with suppress(QueryFailed), Client(endpoint, "admin") as writer:
                    writer.write(calibration.lines(self.plan, readings, time.time_ns()))
            self.provenance["calibration"] = [asdict(reading) for reading in readings]
            self.provenance["calibration_attempts"] = attempt

        return calibration.calibrate(
            self.plan,
            self.plan_file,
            self.binaries["ncp-link"],
            network.namespaces(),
            self.logs / "probe.log",
            self.folder / "links.csv",
            note,
            self._far.probes() if self._far else (),
        )

    def _reach_machines(self, parts: ExitStack, places: list[agents.AgentPlace], own: Path) -> FarHosts:
        from testbed.remote.hosts import FarHosts

        with self.progress.step("machines") as step:
            far = FarHosts(self.plan, self.inventory, self.binaries, own, self.folder)
            far.connect(parts, places)
            self.provenance["machines"] = far.facts()
            step.note = far.summary()
        return far

    def _stop_sampling_elsewhere(self) -> dict[str, Any]:
        """What each collector on another machine cost."""
        if self._far is None:
            return {}
        cost, clocks = self._far.stop_sampling(), self._far.clocks()
        for facts in self.provenance["machines"]:
            facts["clock_uncertainty_ms"] = clocks[facts["machine"]]
        return cost

    def _container(
        self, client: Any, image: str, place: agents.AgentPlace, beside: agents.ContainerAgent | None
    ) -> agents.ContainerAgent:
        if self._far and place.host in self._far.names:
            return self._far.start_agent(self.binaries[self.traffic.program], place, beside)
        return agents.ContainerAgent(client, image, self.plan, place, beside)

    def _start_collectors(
        self, parts: ExitStack, network: Network, places: list[agents.AgentPlace], credentials: Path | None
    ) -> Collectors:
        sockets = list(self.traffic.sockets(self.plan))
        further = self._far.pushed_spools(places) if self._far else ()
        collectors = Collectors(
            self.plan, self.plan_file, self.binaries, network, sockets, self.spools, self.logs, further
        )
        collectors.start(parts, credentials)
        if self._far:
            self._far.start_watching(parts, places, sockets)
        return collectors

    def _start_captures(self, parts: ExitStack, network: Network) -> LinkCaptures | None:
        """Of the links that were asked for."""
        if not self.plan.get("traces", {}).get("pcap"):
            return None
        from testbed.engines.mininet.link_captures import (
            LinkCaptures,  # not loaded without need: in a guest it would show
        )

        captures = LinkCaptures(self.plan, network.namespaces(), self.folder, self.logs)
        parts.callback(captures.stop)
        captures.start()
        return captures

    def _start_cross_traffic(self, parts: ExitStack, network: Network, started: list[agents.Agent]) -> list[Iperf3]:
        flows, sent = [], self.traffic
        for flow in self.plan["cross_traffic"]:
            iperf3 = Iperf3(
                self.plan,
                flow,
                network.namespaces(),
                self.folder,
                lambda: sent.started_unix_ns(started),
                network.elsewhere,
            )
            parts.callback(iperf3.stop)
            iperf3.start()
            flows.append(iperf3)
        return flows

    def _spool_files(self) -> list[Path]:
        return sorted(self.spools.glob("**/*.lp"))

    def _relay_result(self) -> dict[str, Any] | None:
        if self.plan["middle"] != "relay":
            return None
        try:
            result: dict[str, Any] = json.loads((self.spools / "relay" / "result.json").read_text())
        except (OSError, ValueError) as error:
            raise RunFailed(
                "relay.no-result",
                "the link relay left no result ({error}); see {log}",
                error=error,
                log=self.logs / "relay.log",
            ) from error
        return result

    def _tear_down(self, parts: ExitStack) -> None:
        try:
            parts.close()
        finally:
            # What a broken run spooled is kept as well.
            if not (self.folder / "telemetry.lp").exists():
                telemetry.merge_spools(self._spool_files(), self.folder / "telemetry.lp")
            relay = self.spools / "relay" / "result.json"
            if relay.exists():
                shutil.copyfile(relay, self.folder / "relay.json")
            self.traffic.keep_results(self.places)
            shutil.rmtree(self.spools)

    def _write_provenance(self) -> None:
        document = {**provenance.of_machine_and_code(), **self.provenance, "seconds": self.progress.seconds}
        (self.folder / "provenance.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
