"""A run on real packets: an emulation whose telemetry goes to the database as well, judged at its end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from testbed.engines.emulation.lifecycle import Emulation
from testbed.engines.measured import trust_in
from testbed.engines.mininet.live_database import LiveDatabase, announce
from testbed.engines.run import Run
from testbed.errors import CannotRun
from testbed.judge.checks.result import Verdict
from testbed.plan.model import Plan
from testbed.runtime.interrupts import Interrupted, uninterruptible
from testbed.runtime.progress import Progress
from testbed.scenario.kept import Kept
from testbed.services.influx import server
from testbed.services.influx.client import Client, NoAnswer
from testbed.services.influx.reader import FromInflux


class EmulatedRun(Run):
    """One run of a plan on this machine."""

    repeatable = False

    def __init__(
        self, plan: Plan, loaded: Kept, binaries: dict[str, Path], progress: Progress, results: Path | None = None
    ) -> None:
        super().__init__(plan, loaded, binaries, progress, results)
        self.emulation = Emulation(plan, self.folder, binaries, progress, self.provenance)
        self.database: LiveDatabase | None = None

    def without_database(self, database_points: int | None) -> Verdict:
        """Refuse: no run on real packets is like another."""
        raise CannotRun("run.not-repeatable", "a run on real packets can't be repeated: it would be another run")

    def _broke_down(self, error: Exception) -> None:
        from testbed.engines.judging import write_broken

        endpoint = self.database.endpoint if self.database and not isinstance(error, NoAnswer) else None
        # Whoever stops a run does not wait for plots, and may press Ctrl-C twice.
        report = not isinstance(error, Interrupted)
        with uninterruptible():
            self._write_provenance()
            write_broken(self.plan, self.folder, endpoint, error, getattr(error, "reasons", []), report=report)

    def shell(self, host: str, command: Sequence[str]) -> int:
        """Run a command on a host behind the scenario's measured links; returns its exit code."""
        return self.emulation.shell(host, command)

    @contextmanager
    def _own_folder(self) -> Iterator[Path]:
        """Hold the machine; yields the live run's folder of credentials and control sockets."""
        with self.emulation.own_folder() as own:
            self._keep_plan_and_scenario()
            yield own

    def _run(self, own: Path) -> Verdict:
        with self.progress.step("database") as step:
            endpoint = server.ensure()
            self.database = self.emulation.database = LiveDatabase(endpoint)
            announce(endpoint, self.plan, self.folder)
            step.note = f"InfluxDB at {endpoint.url}{server.started_elsewhere()}"
        measured = self.emulation.measure(own)
        with self.progress.step("judge and report") as step:
            from testbed.engines.judging import judge_and_report

            with Client(endpoint, "reader") as reader:
                stored = FromInflux(reader, self.plan["run"]).count_points()
            trust = trust_in(self.plan, self.folder, measured, self.provenance)
            self._write_provenance()
            verdict = judge_and_report(self.plan, self.folder, endpoint, trust, measured.points, stored)
            step.note = verdict.summary
        return verdict
