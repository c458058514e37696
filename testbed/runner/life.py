"""A run's life: lock, build, network, calibrate, agents, transfer, drain, judge, report, tear down.

Whatever fails, what the run made is removed in reverse order and the data gathered so far is kept.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from collectors.host_load import HostLoad
from testbed import build, paths
from testbed.checks.result import Trust, Verdict
from testbed.errors import RunFailed, TestbedError
from testbed.influx import server
from testbed.influx.client import Client
from testbed.influx.endpoint import Endpoint
from testbed.plan.resolve import Plan
from testbed.runner import agents, calibration, live, provenance, telemetry, timeline
from testbed.runner.cross_traffic import Iperf3
from testbed.runner.interrupts import interruptible, uninterruptible
from testbed.runner.judging import judge_and_report, write_broken
from testbed.runner.live_target import LiveTarget
from testbed.runner.network import Network, relay_middle
from testbed.runner.processes import AGENT_UID, Supervised
from testbed.runner.progress import Progress
from testbed.runner.timeline import Timeline
from testbed.runner.transfer import await_ready, start_of_transfer, watch_transfer
from testbed.runner.trust import judge_trust
from testbed.scenario.load import LoadedScenario
from testbed.series import FromInflux


class Run:
    """One run of a plan on this machine."""

    def __init__(
        self, plan: Plan, loaded: LoadedScenario, binaries: dict[str, Path], progress: Progress
    ) -> None:
        self.plan, self.loaded, self.binaries, self.progress = plan, loaded, binaries, progress
        self.folder = paths.results() / plan["scenario"] / plan["run"]
        self.logs = self.folder / "logs"
        self.plan_file = self.folder / "plan.json"
        self.spools = self.folder / "spools"
        self.provenance: dict[str, Any] = {"run": provenance.of_plan(plan)}

    def execute(self) -> Verdict:
        """Run to the verdict; raises :class:`TestbedError` where it could not be reached."""
        with ExitStack() as stack:
            own = stack.enter_context(
                live.only_run(self.plan["run"], self.plan["scenario"], self.plan["namespace"])
            )
            stack.enter_context(interruptible())
            self._make_folder()
            try:
                return self._run(own)
            except Exception as error:
                message = (
                    error.message if isinstance(error, TestbedError) else f"{type(error).__name__}: {error}"
                )
                self._write_provenance()
                write_broken(self.plan, self.folder, message, getattr(error, "reasons", []))
                raise

    def _make_folder(self) -> None:
        for folder in (self.logs, self.spools, self.folder / "agents"):
            folder.mkdir(parents=True)
        self.plan_file.write_text(json.dumps(self.plan, indent=1, ensure_ascii=False) + "\n")
        (self.folder / "scenario.yaml").write_text(self.loaded.text)
        latest = self.folder.parent / "latest"
        latest.unlink(missing_ok=True)
        latest.symlink_to(self.plan["run"])

    def _run(self, own: Path) -> Verdict:
        with self.progress.step("database") as step:
            endpoint = server.ensure()
            step.note = f"InfluxDB at {endpoint.url}"
        trust, counts = self._on_the_network(own, endpoint)
        with self.progress.step("judge and report") as step:
            self._write_provenance()
            verdict = judge_and_report(self.plan, self.folder, endpoint, trust, counts)
            step.note = verdict.summary
        return verdict

    def _on_the_network(self, own: Path, endpoint: Endpoint) -> tuple[Trust, telemetry.Counts]:
        """Everything that needs the network; it is gone when this returns or raises."""
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
        self, parts: ExitStack, own: Path, endpoint: Endpoint, credentials: Path
    ) -> tuple[Trust, telemetry.Counts]:
        places = self._places(own, credentials)
        with self.progress.step("network") as step:
            network, started = self._build_network(parts, places, credentials)
            step.note = f"{len(network.links)} links, middle by {network.middle.name}, namespace {network.fabric.name}"
        gateway = telemetry.Gateway(network.fabric, endpoint.url, own, self.logs)
        parts.callback(gateway.stop)
        with self.progress.step("calibrate links") as step:
            network.start_middle()
            readings = self._calibrate(network)
            step.note = calibration.summary(readings)
        with self.progress.step("agents ready"):
            if not started:
                for place in places:
                    host_pid = network.pid(place.host)
                    agent = agents.ProcessAgent(self.binaries["ncp-agent"], host_pid, place)
                    parts.callback(agent.stop)
                    started.append(agent)
            await_ready(started, timeout_s=15)
        cross_traffic = self._start_cross_traffic(parts, network, started)
        host_load, pusher = self._start_collectors(parts, network, credentials)
        events = Timeline(
            self.plan,
            LiveTarget(network, started),
            lambda: start_of_transfer(started),
            self.spools / "events.lp",
        )
        parts.callback(events.stop)
        events.start()
        with self.progress.step("transfer") as step:
            failures = [network.middle.failed, gateway.failure, events.failure]
            failures += [flow.failure for flow in cross_traffic]
            watch_transfer(self.plan, started, failures, self.progress, step)
            for flow in cross_traffic:
                flow.wait()
            events.stop()
            timeline.write_csv(events.done, self.folder / "events.csv")
        with self.progress.step("drain") as step:
            qdiscs = network.qdiscs()
            self.provenance["qdiscs_after"] = qdiscs
            host_load.stop()
            network.middle.stop()
            pusher.stop()
            trust = judge_trust(
                self.plan["limits"], relay=self._relay_result(), idle=host_load.idle, qdiscs=qdiscs
            )
            merged = telemetry.merge_spools(self._spool_files(), self.folder / "telemetry.lp")
            with Client(endpoint, "reader") as reader:
                counts = telemetry.Counts(merged, FromInflux(reader, self.plan["run"]).count_points())
            step.note = f"{counts.in_file} points in the file, {counts.in_database} in the database"
        return trust, counts

    def _places(self, own: Path, credentials: Path) -> list[agents.AgentPlace]:
        places = []
        for session in self.plan["sessions"]:
            for role in ("receiver", "sender"):
                host = session[f"{role}_host"]
                place = agents.AgentPlace(
                    host=host, role=role, session=session["name"], plan=self.plan_file,
                    directory=self.spools / host, control=own / host, credentials=credentials,
                    log=self.logs / f"{host}.log", start_s=session["start_s"],
                )  # fmt: skip
                place.prepare()
                places.append(place)
        return places

    def _build_network(
        self, parts: ExitStack, places: list[agents.AgentPlace], credentials: Path
    ) -> tuple[Network, list[agents.Agent]]:
        started: list[agents.Agent] = []
        pids: dict[str, int] | None = None
        if self.plan["runtime"] == "docker":
            import docker

            client = docker.from_env()
            parts.callback(client.close)
            image = build.build_image(client, self.binaries["ncp-agent"])
            self.provenance["agent_image"] = image
            pids = {}
            for place in places:
                container = agents.ContainerAgent(client, image, self.plan, place)
                parts.callback(container.stop)
                started.append(container)
                pids[place.host] = container.pid
        relay = None
        if self.plan["middle"] == "relay":
            (self.spools / "relay").mkdir()
            relay = relay_middle(
                self.plan, self.plan_file, self.binaries["ncp-link"], self.spools / "relay", credentials,
                self.logs / "relay.log",
            )  # fmt: skip
        network = Network(self.plan, relay)
        parts.callback(network.tear_down)
        network.build(pids)
        self.provenance["sysctls"] = provenance.sysctls(network.namespaces())
        self.provenance["middle"] = network.middle.facts()
        self.provenance["qdiscs_before"] = network.qdiscs()
        self.provenance["offloads_on"] = network.offloads()
        return network, started

    def _calibrate(self, network: Network) -> list[calibration.LinkReading]:
        """Measure the links, a second time if the first was off (a busy moment of a shared machine)."""
        for attempt in (1, 2):
            readings = calibration.measure(
                self.plan,
                self.plan_file,
                self.binaries["ncp-link"],
                network.namespaces(),
                self.logs / "probe.log",
            )
            calibration.write_csv(readings, self.folder / "links.csv")
            self.provenance["calibration"] = [asdict(reading) for reading in readings]
            self.provenance["calibration_attempts"] = attempt
            reasons = calibration.off_limits(readings, self.plan["limits"])
            if not reasons:
                return readings
        raise LinksOff(reasons)

    def _start_cross_traffic(
        self, parts: ExitStack, network: Network, started: list[agents.Agent]
    ) -> list[Iperf3]:
        flows = []
        for flow in self.plan["cross_traffic"]:
            iperf3 = Iperf3(
                self.plan, flow, network.namespaces(), self.folder, lambda: start_of_transfer(started)
            )
            parts.callback(iperf3.stop)
            iperf3.start()
            flows.append(iperf3)
        return flows

    def _start_collectors(
        self, parts: ExitStack, network: Network, credentials: Path
    ) -> tuple[HostLoad, Supervised]:
        spool = self.spools / "host_load.lp"
        interval_s = self.plan["telemetry"]["interval_ms"] / 1000
        host_load = HostLoad(spool, self.plan["run"], self.plan["scenario"], interval_s)
        host_load.start()
        parts.callback(host_load.stop)
        pusher = Supervised.start(
            "telemetry pusher",
            [
                str(self.binaries["ncp-push"]), "--plan", str(self.plan_file), "--spool", str(spool),
                "--spool", str(self.spools / "events.lp"),
                *(arg for flow in self.plan["cross_traffic"]
                  for arg in ("--spool", str(self.spools / f"iperf3-{flow['number']}.lp"))),
                "--credentials", str(credentials),
            ],
            self.logs / "push.log",
            namespace=network.fabric.path,
        )  # fmt: skip
        parts.callback(_stop_quietly, pusher)
        return host_load, pusher

    def _spool_files(self) -> list[Path]:
        return sorted(self.spools.glob("**/*.lp"))

    def _relay_result(self) -> dict[str, Any] | None:
        if self.plan["middle"] != "relay":
            return None
        try:
            result: dict[str, Any] = json.loads((self.spools / "relay" / "result.json").read_text())
        except (OSError, ValueError) as error:
            raise RunFailed(
                f"the link relay left no result ({error}); see {self.logs / 'relay.log'}"
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
            for result in self.spools.glob("*/result.json"):
                if result.parent.name != "relay":
                    shutil.copyfile(result, self.folder / "agents" / f"{result.parent.name}.json")
            shutil.rmtree(self.spools)

    def _write_provenance(self) -> None:
        document = {
            **provenance.of_machine_and_code(),
            **self.provenance,
            "seconds": self.progress.seconds,
        }
        (self.folder / "provenance.json").write_text(
            json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        )


class LinksOff(RunFailed):
    """A link is not what was asked, so nothing was run over it."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__(
            "the links are not what was asked, so nothing was run over them:\n  " + "\n  ".join(reasons),
            "Free the machine of other load and run again.",
        )
        self.reasons = reasons


def _stop_quietly(process: Supervised) -> None:
    if process.failure() is None:
        process.stop()
