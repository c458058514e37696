"""Runs the cells of a table, one after the other; what is finished already is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from testbed.errors import CannotRun, TestbedError, Unsupported
from testbed.figures import unit_of
from testbed.matrix import outcome
from testbed.matrix.load import Cell, Contender, LoadedTable, scenario_of
from testbed.matrix.model import Row
from testbed.matrix.outcome import Outcome
from testbed.plan.resolve import Choices, Plan, expected_transfer_s, new_run_id, resolve
from testbed.plan.sessions import PolicyFacts
from testbed.runner.interrupts import Interrupted
from testbed.runner.kinds import run_class, why_unsupported
from testbed.runner.life import Run
from testbed.runner.mptcp import mptcp_plan
from testbed.runner.progress import Progress, Step
from testbed.scenario.load import LoadedScenario
from testbed.simulator.run import SimulatedRun
from testbed.simulator.run import run_id as simulated_run_id
from testbed.simulator.virtual_run import VirtualRun
from testbed.vkernel import kernel
from testbed.vkernel.run import GuestRun
from testbed.vkernel.run import run_id as guest_run_id

ATTEMPTS = 3
"""How often a cell is run before it stays untrusted."""
WAIT_FOR_OTHERS_S = 900.0
OVERHEAD_S = 8.0
"""What a run takes beside its transfer, until runs of this table tell better."""


class QuietProgress(Progress):
    """For a cell: its steps are timed, not told."""

    def update(self, step: Step, text: str) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""


@dataclass
class Matrix:
    """One table's runs on this machine. ``folder`` is the table's own result folder."""

    loaded: LoadedTable
    rows: Mapping[str, Row]
    columns: Mapping[str, Contender]
    folder: Path
    binaries: dict[str, Path]
    policies: PolicyFacts
    choices: Choices
    progress: Progress
    _overheads_s: list[float] = field(default_factory=list)
    _unsupported: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """What is known beforehand, by row and column."""
    _transfers_s: dict[tuple[str, str], float] = field(default_factory=dict)

    def run(self, cells: Sequence[Cell], done: Callable[[list[Outcome]], object]) -> list[Outcome]:
        """All cells' outcomes in order; ``done`` is called after each with those so far."""
        outcomes: list[Outcome] = []
        for number, cell in enumerate(cells, start=1):
            kept = self._kept(cell)
            found = kept or self._run_cell(cell, f"{number}/{len(cells)}")
            outcomes.append(found)
            left_s = sum(self._expected_s(later) for later in cells[number:] if self._kept(later) is None)
            self.progress.say(
                f"  [{number}/{len(cells)}] {self._told(cell, found, kept=bool(kept))}{_left(left_s)}"
            )
            done(outcomes)
        return outcomes

    def plan(self, cell: Cell) -> tuple[Plan, LoadedScenario]:
        """The plan of a cell's next run."""
        contender = self.columns[cell.column]
        scenario = scenario_of(self.loaded, self.rows[cell.row], contender)
        seed = self.loaded.table.seed + cell.repetition - 1
        plan = resolve(scenario, self.policies, replace(self.choices, seed=seed), new_run_id())
        if contender.column.carrier == "mptcp":
            plan = mptcp_plan(plan, contender.column.congestion_control)
        return plan, scenario

    def _kept(self, cell: Cell) -> Outcome | None:
        """The outcome of a cell that needs no further run."""
        runs = outcome.finished(self.folder / cell.folder)
        outcomes = [
            outcome.read_outcome(cell.row, cell.column, cell.repetition, run, attempts)
            for attempts, run in enumerate(runs, start=1)
        ]
        trusted = [found for found in outcomes if found.verdict != "untrusted"]
        if trusted:
            return trusted[-1]
        return outcomes[-1] if len(outcomes) >= ATTEMPTS else None

    def _run_cell(self, cell: Cell, place: str) -> Outcome:
        if why := self._why_unsupported(cell):
            return outcome.unsupported(cell.row, cell.column, cell.repetition, why)
        found = None
        while found is None:
            run = self._make_run(cell)
            step = Step(f"[{place}] row {cell.row} {cell.column}")
            self.progress.update(step, f"about {self._expected_s(cell):.0f} s")
            self._execute(run)
            self._overheads_s.append(max(0.0, step.elapsed_s - self._transfer_s(cell)))
            found = self._kept(cell)
        return found

    def _make_run(self, cell: Cell) -> Run | VirtualRun:
        plan, scenario = self.plan(cell)
        results = self.folder / cell.folder
        if self.choices.engine == "sim":
            simulator = self.binaries["ncp-sim"]
            plan["run"] = simulated_run_id(plan)
            return SimulatedRun(plan, scenario, simulator, QuietProgress(), results=results)
        if self.choices.engine == "vkernel":
            guest = kernel.chosen()
            plan["run"] = guest_run_id(plan, guest)
            return GuestRun(plan, scenario, guest, QuietProgress(), results=results)
        return run_class(plan)(plan, scenario, self.binaries, QuietProgress(), results=results)

    def _execute(self, run: Run | VirtualRun) -> None:
        """To its verdict; that of a run that broke down says why."""
        waiting_since_s = time.monotonic()
        while True:
            try:
                run.execute()
            except Interrupted:
                raise
            except Unsupported:
                if not (run.folder / "verdict.json").exists():  # which says so
                    raise
            except CannotRun as error:
                # Before its folder is made only another run on this machine can be the reason.
                if run.folder.exists() or time.monotonic() - waiting_since_s > WAIT_FOR_OTHERS_S:
                    raise
                self.progress.say(f"  waiting: {error.message}")
                time.sleep(5)
                continue
            except TestbedError:
                if not (run.folder / "verdict.json").exists():
                    raise
            return

    def refuse_if_none_can_be_run(self, cells: Sequence[Cell]) -> None:
        """Raise :class:`Unsupported` where it is known of every cell that it can't be run here."""
        reasons = {self._why_unsupported(cell) for cell in cells}
        if reasons and None not in reasons:
            raise Unsupported(
                f"no cell of this table can be run with --engine {self.choices.engine}: "
                + "; ".join(sorted(str(reason) for reason in reasons))
            )

    def _why_unsupported(self, cell: Cell) -> str | None:
        place = (cell.row, cell.column)
        if place not in self._unsupported:
            self._unsupported[place] = why_unsupported(self.plan(cell)[0])
        return self._unsupported[place]

    def _told(self, cell: Cell, found: Outcome, *, kept: bool) -> str:
        figure = self.loaded.table.figures[0]
        value = f"{found.figures[figure]:.4g} {unit_of(figure)}, " if figure in found.figures else ""
        again = f", {found.attempts} attempts" if found.attempts > 1 else ""
        why = f": {found.why[:160]}" if found.why else ""
        return (
            f"row {cell.row} {cell.column} #{cell.repetition}: {value}{found.verdict}{again}"
            f"{' (kept)' if kept else ''}{why}"
        )

    def _expected_s(self, cell: Cell) -> float:
        if self._unsupported.get((cell.row, cell.column)):
            return 0.0
        recent = self._overheads_s[-8:]
        overhead_s = sum(recent) / len(recent) if recent else OVERHEAD_S
        return self._transfer_s(cell) + overhead_s

    def _transfer_s(self, cell: Cell) -> float:
        # In virtual time a run takes about as long whatever it transfers.
        if self.choices.engine != "mininet":
            return 0.0
        place = (cell.row, cell.column)
        if place not in self._transfers_s:
            self._transfers_s[place] = expected_transfer_s(self.plan(cell)[0])
        return self._transfers_s[place]


def _left(seconds: float) -> str:
    if seconds < 1:
        return ""
    return f"  about {seconds / 60:.0f} min left" if seconds >= 90 else f"  about {seconds:.0f} s left"
