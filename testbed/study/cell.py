"""The cells of a study: what is run, planned once; an attempt at one, and how a run of a scenario is carried out."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from typing_extensions import Self

from testbed import engines, traffic
from testbed.documents import read_json, write_json
from testbed.engines import provenance
from testbed.engines.engine import Engine, Options, Programs
from testbed.engines.judging import write_broken
from testbed.engines.run import Run
from testbed.errors import BadInput, CannotRun, RunFailed, TestbedError, Unsupported
from testbed.judge.status import Status
from testbed.machine.need import Need
from testbed.plan.duration import expected_transfer_s
from testbed.plan.engines import engine_of
from testbed.plan.model import Middle, Plan, Runtime
from testbed.planning.program import not_built
from testbed.planning.resolve import Choices, with_new_id
from testbed.runtime import lock
from testbed.runtime.interrupts import Interrupted
from testbed.runtime.progress import Progress, QuietProgress, Step
from testbed.scenario.load import LoadedScenario
from testbed.study.programs import OfCommit, build_missing
from testbed.study.record import RunRecord, read_record, records_in

CELLS = "cells"
Found = TypeVar("Found")
USUAL_S = 8.0
"""Cost of a cell of which nothing is known, until cells of this study give a better estimate."""


class Target(NamedTuple):
    """Needs of a machine that makes a cell's runs."""

    engine: str
    runtime: Runtime = "docker"
    middle: Middle = "relay"


def folder_of(*points: str) -> Path:
    """The folder of the runs of the cell at these points, in the study's result folder."""
    place = Path(CELLS, *points)
    if place.parts[0] != CELLS or ".." in place.parts or len(place.parts) != len(points) + 1:
        raise BadInput("result.no-cell", f"{' '.join(points)!r} names no cell: each part of it is the name of a folder")
    return place


class Cell(ABC):
    """One thing that a study runs, until it can be trusted. Pickled, it is all that another machine needs."""

    at: Mapping[str, str]
    """Axis → point. No two cells of a study have the same points."""
    expected_s = USUAL_S
    """Expected seconds, in relation to other cells of its study."""
    unsupported = ""
    """The reason why it can't be made here, as far as that is known before the first attempt."""
    name = ""
    """The label, if not its points."""
    part = ""
    """The study that it is of, where that is a part of the one that is run."""
    place = Path()
    """The part's result folder, in the study's."""
    ends_study = True
    """Whether an error that is no result ends the study; else it is the cell's record, and other cells go on."""

    @property
    def id(self) -> str:
        """The id in the study."""
        return "/".join(filter(None, (self.part, *self.at.values())))

    @property
    def label(self) -> str:
        """The name in lines of progress."""
        return self.name or " ".join(self.at.values())

    def in_part(self, part: str, place: Path, *, ends_study: bool = False) -> Self:
        """The same cell where its study is a part of another, at ``place`` in the result folder of that."""
        placed = copy(self)
        vars(placed).update(name=f"{part} {self.label}".strip(), part=part, place=place, ends_study=ends_study)
        return placed

    @property
    @abstractmethod
    def engine(self) -> Engine:
        """The engine of its runs."""

    @property
    def target(self) -> Target:
        """Needs of a machine that makes it."""
        return Target(self.engine.name)

    @property
    def folder(self) -> Path:
        """The folder of its runs, in the study's result folder; without points they are the study's only ones."""
        return self.place / folder_of(*self.at.values()) if self.at else self.place

    @abstractmethod
    def run(self, study: Path, progress: Progress) -> RunRecord:
        """One attempt; ``study`` is the study's result folder."""

    def earlier(self, study: Path, lines: Sequence[RunRecord]) -> list[RunRecord]:
        """The finished attempts, in their order; ``lines`` are the ledger's with its id."""
        return list(lines)


@dataclass(frozen=True, eq=False)
class ScenarioCell(Cell):
    """A scenario with its overrides, the seed, the engine with all else that was chosen for it, and whose end points it
    is run with; each run leaves a result folder."""

    at: Mapping[str, str]
    loaded: LoadedScenario
    choices: Choices
    programs: Programs
    carrier: str | None = None
    """The traffic that takes NCP's place, if any does."""
    congestion_control: str | None = None
    """The carrier's; None: the kernel's default."""
    machine_and_code: Mapping[str, Any] | None = None
    """Machine and code for provenance, of runs in the simulator that leave their data alone: no page, no plots, nothing
    in the database. None: they leave all."""
    name: str = ""

    @property
    def engine(self) -> Engine:
        """The engine of its runs."""
        return engines.named(self.choices.engine)

    @property
    def target(self) -> Target:
        """Needs of a machine that makes it."""
        return Target(self.choices.engine, self.choices.runtime, self.choices.middle)

    @property
    def seed(self) -> int:
        """The run's, which may be the scenario's own."""
        return self.loaded.scenario.seed if self.choices.seed is None else self.choices.seed

    @cached_property
    def plan(self) -> Plan:
        """The plan of its runs, but for their names; raises BadInput."""
        return self.engine.plan(self.loaded, self.programs, self.choices, self._changed)

    @cached_property
    def transfer_s(self) -> float:
        """Seconds of its transfer at its links' full rate."""
        return expected_transfer_s(self.plan)

    @property
    def expected_s(self) -> float:  # type: ignore[override]
        """The expected cost. In virtual time the size of a transfer says little of its duration."""
        return USUAL_S + (0.0 if self.engine.deterministic() else self.transfer_s)

    @cached_property
    def unsupported(self) -> str:  # type: ignore[override]
        """The reason why it can't be made here, as far as that is known before the first attempt. Raises BadInput where
        there is no plan of it."""
        reasons, sessions = self.engine.unsupported(self.plan), len(self.loaded.scenario.sessions)
        if self.carrier is not None and sessions > 1:
            alone = f"carrier {self.carrier}: it takes the place of one session, and the scenario has {sessions}"
            reasons = [alone, *reasons]
        return "; ".join(reasons) or not_built(self.plan)

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Run to the verdict."""
        build_missing(self.programs)
        plan = with_new_id(self.plan)
        self.engine.name_run(plan, self.programs)
        made = self.engine.run(plan, self.loaded, self.programs, QuietProgress(), study / self.folder)
        carry_out(made, progress, self.machine_and_code)
        file = made.folder / "provenance.json"
        if isinstance(self.programs, OfCommit) and file.is_file():
            write_json(file, {**read_json(file), "commit": self.programs.commit, "of_commit": True})
        return read_record(made.folder, study, self.id) or RunRecord(cell=self.id, status=Status.MISSING)

    def earlier(self, study: Path, lines: Sequence[RunRecord]) -> list[RunRecord]:
        """Records by the folders of its runs, each with its line in the ledger if that has one."""
        kept = [line for line in lines if line.sha256 and not (study / line.folder).is_dir()]
        today = {line.run: line for line in lines if line.rules == provenance.code()}
        return [*records_in(self.id, study / self.folder, study, today), *kept]

    def with_seed(self, at: Mapping[str, str], seed: int) -> Self:
        """The same scenario with a seed, at other points."""
        return replace(self, at=at, choices=replace(self.choices, seed=seed))

    def _changed(self, plan: Plan) -> Plan:
        if self.carrier is None:
            return plan
        return traffic.named(self.carrier).in_place_of_ncp(plan, self.congestion_control)


@dataclass(frozen=True, eq=False)
class RecordCell(ScenarioCell):
    """One of so many runs that only what their checks say is kept."""

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Run to the verdict, in a folder that is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="ncp-record-") as place:
            return super().run(Path(place), progress).model_copy(update={"folder": ""})

    def earlier(self, study: Path, lines: Sequence[RunRecord]) -> list[RunRecord]:
        """Lines of this code: nothing is left to be read anew."""
        return [line for line in lines if line.rules == provenance.code()]


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
    try:
        run.without_database(None)
    except RunFailed as error:
        write_broken(run.plan, run.folder, None, error, [])
    document = {**machine_and_code, **run.provenance}
    if provenance.worker:  # machine and code are the submitter's
        document["worker"] = provenance.worker
    provenance.write(run.folder, document)


def refuse_if_none_can_be_made(cells: Sequence[Cell]) -> None:
    """Raise :class:`Unsupported` where it is known of every cell that it can't be made here, and :class:`BadInput` for
    what is wrong with any of them."""
    reasons = {cell.unsupported: cell.engine.name for cell in cells}
    if reasons and "" not in reasons:
        raise Unsupported(
            "run.none-supported",
            f"none of these can be run with --engine {', '.join(sorted(set(reasons.values())))}: "
            f"{'; '.join(sorted(reasons))}",
        )


def refuse_unsupported(cells: Sequence[Cell]) -> None:
    """Raise :class:`Unsupported` where it is known of a cell that it can't be made here: for studies that need all."""
    for cell in cells:
        if cell.unsupported:
            raise Unsupported("run.unsupported", f"{cell.label}: {cell.unsupported}")


def ready(
    engine: Engine, options: Options, progress: Progress, command: str, further: frozenset[Need] = frozenset()
) -> Programs:
    """The checkout's programs, on a machine that can make runs on an engine and has nothing left of killed ones: what
    every study does before its first run.

    ``command`` is what the user typed, ``further`` what it needs beyond its runs.

    Raises:
        CannotRun: this machine, or this user, can't make such runs.
    """
    engine.refuse_user(command)
    engine.refuse_options(options)
    programs = engine.prepare(progress, options.runtime or "docker", further=further)
    engine.clear(progress.say)
    return programs
