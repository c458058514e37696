"""One attempt at a cell, and how a run of a scenario is carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from testbed.documents import read_json, write_json
from testbed.engines import Programs, Run, provenance
from testbed.engines.judging import write_broken
from testbed.errors import CannotRun, RunFailed, TestbedError, Unsupported
from testbed.judge.status import Status
from testbed.plan.engines import engine_of
from testbed.runtime import lock
from testbed.runtime.interrupts import Interrupted
from testbed.runtime.progress import Progress, Step
from testbed.study.programs import OfCommit
from testbed.study.record import RunRecord

if TYPE_CHECKING:
    from testbed.study.cell import Cell

Found = TypeVar("Found")


@dataclass(frozen=True)
class Job:
    """One attempt at a cell, of the study whose result folder is ``study``."""

    cell: Cell
    study: Path

    def __str__(self) -> str:
        return self.cell.label

    def run(self, progress: Progress) -> RunRecord:
        """The record; raises errors that end the study."""
        try:
            return self.cell.run(self.study, progress)
        except Exception as error:
            said = said_by(error)
            if self.cell.ends_study or isinstance(error, Interrupted) or said["code"] in lock.BUSY_CODES:
                raise
            return RunRecord(cell=self.cell.id, status=Status.ERROR, **said)


def said_by(error: Exception) -> dict[str, str]:
    """An error's ``reason``, and the ``code`` that programs know it by: "" of errors of Python."""
    if isinstance(error, TestbedError):
        return {"code": error.code, "reason": error.message}
    return {"code": "", "reason": f"{type(error).__name__}: {error}"}


@dataclass(frozen=True)
class Done:
    """A job that is done, and the seconds that it took."""

    job: Job
    record: RunRecord
    seconds: float


def when_free(attempt: Callable[[], Found], describe: Callable[[str], object]) -> Found:
    """Run an attempt once no other run has the machine; ``describe`` gets the name of the other run."""
    while True:
        try:
            return attempt()
        except CannotRun as error:
            if error.code not in lock.BUSY_CODES:
                raise
        lock.wait_for_others(describe)


def carry_out(run: Run, progress: Progress, machine_and_code: Mapping[str, Any] | None = None) -> None:
    """Run to the verdict; that of a run that broke down has the reason. Waits while another run has the machine.
    ``machine_and_code`` as :class:`ScenarioCell` has it.

    Raises:
        CannotRun: this machine can't make such runs at all.
        TestbedError: it broke down and left no verdict.
    """
    if machine_and_code is not None and not engine_of(run.plan).kernel:
        _without_pages(run, machine_and_code)
        return
    waiting = Step("waiting")
    try:
        when_free(run.execute, lambda name: progress.update(waiting, name))
    except TestbedError as error:
        of_the_machine = isinstance(error, CannotRun) and not isinstance(error, Unsupported)
        if isinstance(error, Interrupted) or of_the_machine or not (run.folder / "verdict.json").exists():
            raise


def _without_pages(run: Run, machine_and_code: Mapping[str, Any]) -> None:
    document: dict[str, Any] = {**machine_and_code, "run": provenance.of_plan(run.plan)}
    try:
        run.without_database(None)
        document["simulation"] = read_json(run.folder / "sim.json")
    except RunFailed as error:
        write_broken(run.plan, run.folder, None, error, [])
    document["run"] |= provenance.of_program(run.folder)
    write_json(run.folder / "provenance.json", document)


def note_code(run: Path, programs: Programs) -> None:
    """Let a run's provenance name the commit that its end points were built from, where that is not the checkout's."""
    file = run / "provenance.json"
    if isinstance(programs, OfCommit) and file.is_file():
        write_json(file, {**read_json(file), "commit": programs.commit, "of_commit": True})
