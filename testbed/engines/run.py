"""The common part of runs, whichever engine makes them: plan, result folder, provenance, end."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.documents import write_json
from testbed.engines import provenance
from testbed.judge.checks.result import Verdict
from testbed.plan.model import Plan
from testbed.results import make_latest
from testbed.runtime.progress import Progress
from testbed.scenario.kept import Kept, keep


class Run(ABC):
    """One run of a plan, not yet made."""

    def __init__(
        self, plan: Plan, loaded: Kept, binaries: dict[str, Path], progress: Progress, results: Path | None = None
    ) -> None:
        """``results``: where its result folder goes, if not to the scenario's results."""
        self.plan, self.loaded, self.binaries, self.progress = plan, loaded, binaries, progress
        self.folder = (results or paths.results() / plan["scenario"]) / plan["run"]
        self.provenance: dict[str, Any] = {"run": provenance.of_plan(plan)}

    @property
    def repeatable(self) -> bool:
        """Whether it comes out the same each time; of some runs this is known at their end."""
        return True

    def execute(self) -> Verdict:
        """Run to the verdict; raises :class:`TestbedError` where it could not be reached."""
        with self._own_folder() as own:
            try:
                return self._run(own)
            except Exception as error:
                self._broke_down(error)
                raise

    def shell(self, host: str, command: Sequence[str]) -> int:
        """Run a command on a host behind the links; only real packets have hosts."""
        raise NotImplementedError

    @abstractmethod
    def without_database(self, database_points: int | None) -> Verdict:
        """Run as one of many, or to be compared with an earlier run of the plan: without database, provenance and
        report. ``database_points``: the number of the earlier run's points in the database. Raises :class:`CannotRun`
        where time is real, and no run is like another."""

    @abstractmethod
    def _own_folder(self) -> AbstractContextManager[Path]:
        """Hold the run, with a result folder; gives the folder of what is there only while it is on."""

    @abstractmethod
    def _run(self, own: Path) -> Verdict:
        """Run to the verdict."""

    @abstractmethod
    def _broke_down(self, error: Exception) -> None:
        """Leave the verdict of a run that ended with an error."""

    def _keep_plan_and_scenario(self) -> None:
        """Leave plan and scenario in the result folder."""
        write_json(self.folder / "plan.json", self.plan)
        keep(self.loaded, self.folder, self.plan["topology"].get("file"))
        self.provenance["run"] |= provenance.of_program(self.folder)
        make_latest(self.folder)

    def _write_provenance(self) -> None:
        document = {**provenance.of_machine_and_code(), **self.provenance, "seconds": self.progress.seconds}
        provenance.write(self.folder, document)
