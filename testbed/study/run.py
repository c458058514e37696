"""Runs a study: each of its cells until it can be trusted, what is finished already left as it is, every attempt a line
of the ledger, and one progress line for all."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from testbed.engines.engine import Engine
from testbed.judge.checks.result import Verdict
from testbed.judge.status import Status
from testbed.runtime.interrupts import interruptible
from testbed.runtime.progress import Ended, Progress, SoFar, Step
from testbed.study.cell import Cell, Job
from testbed.study.executors import Executor, PartMade, chosen
from testbed.study.ledger import LEDGER, Ledger, begin
from testbed.study.record import CellResult, RunRecord, result_of

ATTEMPTS = 3
"""Most attempts at a run before it stays untrusted."""
RECENT = 8
"""Number of the last cells that give the speed."""
NAMED = 6
"""Most cells that are named in one line."""
LOOK_S = 0.5
"""Interval of looks at the running cells."""

Describe = Callable[[CellResult], str]
Each = Callable[[CellResult], object]


@dataclass(frozen=True)
class StudySpec:
    """Cells, and what determines their runs: a study is resumed with the same ``identity`` only."""

    kind: str
    """The kind as ``study.json`` has it; page and wording follow from it."""
    name: str
    cells: Sequence[Cell]
    identity: Mapping[str, Any]
    how: str = ""
    """Description of its runs, for people."""
    expected_s: float = 0.0
    """Seconds of its transfers."""
    engine: str = ""
    """Name of the engine, if not all cells have the first one's."""

    def begin(self, base: Path, resume: str = "", **beside: Any) -> Path:
        """Begin its result folder in ``base``, as :func:`testbed.study.ledger.begin` does."""
        return begin(base, self.kind, self.identity, resume, **beside)


@dataclass(frozen=True)
class Begun:
    """A study with its result folder, ready to be run alone or as a part of another."""

    spec: StudySpec
    folder: Path
    finish: Callable[[Mapping[str, CellResult]], Verdict]
    """Writes what follows from the results so far into the folder."""
    describe: Describe = lambda _result: ""


def should_retry(record: RunRecord, attempts: int, engine: Engine) -> bool:
    """Whether to repeat the run that a cell is judged by, after ``attempts`` of this command. A run that can't be
    trusted is made up to :data:`ATTEMPTS` times, unless it would be the same. One that broke down is repeated only
    when a study is resumed, as the reason may be gone."""
    if record.status == Status.UNTRUSTED:
        return not engine.deterministic() and attempts < ATTEMPTS
    return record.status in (Status.ERROR, Status.MISSING) and attempts == 0


def run_study(
    spec: StudySpec,
    folder: Path,
    progress: Progress,
    *,
    resume_by: str = "",
    ledger: Path | None = None,
    describe: Describe = lambda _result: "",
    each: Each = lambda _result: None,
    further: Callable[[], Sequence[Cell]] = lambda: (),
) -> dict[str, CellResult]:
    """All cells' results by their ids, in order, from its beginning to its end; where it is stopped, the user is shown
    how to resume it by ``resume_by``, usually with ``--resume``. ``further`` returns the cells that are to be run after
    what the last ones showed, none at the end. All else as :func:`run_cells` has it."""
    engine = spec.engine or spec.cells[0].engine.name
    progress.begun(spec.name, folder.name, engine, folder, len(spec.cells), spec.expected_s)
    how = f", {spec.how}" if spec.how else ""
    progress.say(f"{spec.name} {folder.name}: {len(spec.cells)} runs{how}, results in {folder}")
    try:
        results = run_cells(spec.cells, folder, progress, ledger=ledger, describe=describe, each=each)
        while more := further():
            results |= run_cells(more, folder, progress, ledger=ledger, describe=describe, each=each)
        return results
    except PartMade:
        raise
    except BaseException:
        resume_by = resume_by or f"add --resume {folder.name} to the same command"
        progress.say(f"stopped; what is finished is kept. To go on, {resume_by}")
        raise


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    progress: Progress,
    *,
    ledger: Path | None = None,
    describe: Describe = lambda _result: "",
    each: Each = lambda _result: None,
) -> dict[str, CellResult]:
    """All cells' results by their ids, in order. ``folder`` is the study's result folder, ``ledger`` where its ledger
    is elsewhere. ``describe`` has a cell's outcome in a line, "" of those that are too many, or good; ``each`` gets
    every result as soon as it is known, also one that counts until its cell is run again.

    An error that is no result, and Ctrl-C, end all and are raised.
    """
    executor = chosen()
    executor.progress = progress
    with interruptible():
        study = _Study(cells, folder, Ledger(ledger or folder / LEDGER), executor, describe, each)
        try:
            return study.run()
        finally:
            executor.close()


@dataclass
class _Study:
    """The cells of a study while they are run."""

    cells: Sequence[Cell]
    folder: Path
    ledger: Ledger
    executor: Executor
    describe: Describe
    each: Each
    records: dict[str, list[RunRecord]] = field(default_factory=dict)
    attempts: Counter[str] = field(default_factory=Counter)
    """Attempts of this command, by cell."""
    results: dict[str, CellResult] = field(default_factory=dict)
    expected_s: dict[str, float] = field(default_factory=dict)
    """Expected seconds of each cell that is to be made, by its label."""
    left_s: float = inf
    """Expected seconds of the cells that are left, kept up to date: adding up thousands at each end takes long."""
    paces: list[tuple[float, float]] = field(default_factory=list)
    """Seconds taken and expected."""
    step: Step = field(default_factory=lambda: Step("runs"))

    def run(self) -> dict[str, CellResult]:
        """Cells of engines with most slots first: in virtual time, as many as there are cores; then the others."""
        self.records = self._earlier()
        earlier = {cell.id: self._result(cell) for cell in self.cells}
        again = {
            cell.id: cell
            for cell in self.cells
            if (found := earlier[cell.id]) and should_retry(found.record, 0, cell.engine)
        }
        self._say_what_is_kept(sum(found is not None for found in earlier.values()) - len(again), list(again.values()))
        todo: list[Cell] = []
        for cell in self.cells:
            found = earlier[cell.id]
            if found and cell.id not in again:
                self._settle(cell, found, kept=True)
            elif why := cell.unsupported:
                record = RunRecord(cell=cell.id, status=Status.UNSUPPORTED, reason=why)
                self._settle(cell, CellResult(cell.id, cell.at, 0, record), kept=False)
            else:
                todo.append(cell)
                if found:
                    self.each(found)
        todo = self.executor.mine(todo)
        self.expected_s = {cell.label: cell.expected_s for cell in todo}
        self.left_s = sum(map(self._share_s, todo))
        groups: dict[int, list[Cell]] = {}
        for cell in todo:
            groups.setdefault(self.executor.slots(cell.engine), []).append(cell)
        for slots in sorted(groups, reverse=True):
            self._run_group(groups[slots])
        self.executor.check_complete(len(todo))
        if todo:
            taken_s = self.step.elapsed_s
            self.executor.progress.say(f"  {len(todo)} runs in {taken_s:.1f} s, {taken_s / len(todo):.2f} s each")
        return {cell.id: self.results[cell.id] for cell in self.cells}

    def _run_group(self, cells: Sequence[Cell]) -> None:
        """Cells of which the same number go at once."""
        for cell in cells:
            self.executor.submit(Job(cell, self.folder))
        all_settled = len(self.results) + len(cells)
        while len(self.results) < all_settled:
            self.executor.progress.runs_on(self.step, self.executor.running(), self.executor.where(), self._so_far())
            for done in self.executor.wait(LOOK_S):
                self._arrived(*done)

    def _arrived(self, job: Job, made: RunRecord, seconds: float) -> None:
        cell, record = job.cell, made.model_copy(update={"took_s": round(seconds, 1)})
        self.ledger.append([record])
        self.attempts[cell.id] += 1
        before = [earlier for earlier in self.records.get(cell.id, []) if earlier.run != record.run]
        self.records[cell.id] = [*before, record]
        self.paces.append((seconds, cell.expected_s))
        if should_retry(record, self.attempts[cell.id], cell.engine):
            self.executor.submit(job, first=True)
            return
        self.left_s -= self._share_s(cell)
        found = self._result(cell)
        assert found is not None
        self._settle(cell, found, kept=False)

    def _settle(self, cell: Cell, found: CellResult, *, kept: bool) -> None:
        self.results[cell.id] = found
        self.executor.progress.run_ended(Ended(cell.label, found.status, self.describe(found), kept), self._so_far())
        self.each(found)

    def _result(self, cell: Cell) -> CellResult | None:
        return result_of(cell.id, cell.at, self.records.get(cell.id, []))

    def _earlier(self) -> dict[str, list[RunRecord]]:
        """Finished records by cell; those that a ledger lacks become lines."""
        lines: dict[str, list[RunRecord]] = {}
        for record in self.ledger.read():
            lines.setdefault(record.cell, []).append(record)
        found = {cell.id: cell.earlier(self.folder, lines.get(cell.id, [])) for cell in self.cells}
        self.ledger.append(
            record for cell, records in found.items() for record in records if record not in lines.get(cell, [])
        )
        return {cell: records for cell, records in found.items() if records}

    def _share_s(self, cell: Cell) -> float:
        return cell.expected_s / self.executor.slots(cell.engine)

    def _say_what_is_kept(self, kept: int, again: Sequence[Cell]) -> None:
        if kept:
            self.executor.progress.say(f"  {kept} of {len(self.cells)} runs are finished already, and kept")
        if again:
            names = ", ".join(cell.label for cell in again[:NAMED])
            more = f" and {len(again) - NAMED} more" if len(again) > NAMED else ""
            self.executor.progress.say(
                f"  {len(again)} of {len(self.cells)} can't be trusted or broke down; made again: {names}{more}"
            )

    def _so_far(self) -> SoFar:
        """The time left by the duration of the last cells, and of those that are on for longer: the short ones end
        first."""
        left_s = None if self.left_s else 0.0
        if last := self.paces[-RECENT:]:
            on = ((on_s, self.expected_s[label]) for label, on_s in self.executor.running().items())
            left_s = self.left_s * _pace([*last, *(pair for pair in on if pair[0] > pair[1] * _pace(last))])
        return SoFar(len(self.results), len(self.cells), left_s)


def _pace(pairs: Sequence[tuple[float, float]]) -> float:
    """The seconds that cells took for each that was expected."""
    return sum(taken for taken, _ in pairs) / sum(expected for _, expected in pairs)
