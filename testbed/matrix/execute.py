"""Runs the cells of a table, in virtual time side by side; what is finished already is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from testbed.errors import CannotRun, TestbedError, Unsupported
from testbed.figures import unit_of
from testbed.matrix import outcome
from testbed.matrix.load import Cell, Contender, LoadedTable, scenario_of
from testbed.matrix.model import Row
from testbed.matrix.outcome import Outcome
from testbed.plan.resolve import Choices, Plan, expected_transfer_s, new_run_id, resolve
from testbed.plan.sessions import PolicyFacts
from testbed.runner import live
from testbed.runner.attempts import attempts_of, until_trusted
from testbed.runner.interrupts import Interrupted
from testbed.runner.kinds import run_class, why_unsupported
from testbed.runner.life import Run
from testbed.runner.progress import Progress, QuietProgress, Step
from testbed.runner.side_by_side import side_by_side, width_of
from testbed.scenario.load import LoadedScenario
from testbed.simulator.run import SimulatedRun
from testbed.simulator.run import run_id as simulated_run_id
from testbed.simulator.virtual_run import VirtualRun
from testbed.traffic.mptcp import mptcp_plan
from testbed.vkernel import kernel
from testbed.vkernel.kernel import is_exact
from testbed.vkernel.run import GuestRun
from testbed.vkernel.run import run_id as guest_run_id

OVERHEAD_S = 8.0
"""What a run takes beside its transfer, until runs of this table tell better."""


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
        """All cells' outcomes in order; ``done`` is called after each that is made, with those so far.

        A cell that is made again has its earlier outcome until then.
        """
        earlier = {cell: became for cell in cells if (became := self._earlier(cell))}
        again = [cell for cell, became in earlier.items() if self._wanted_again(cell, became)]
        found: dict[Cell, Outcome] = {}
        todo: list[Cell] = []
        width = width_of(self.choices.engine)
        step = Step("runs")

        def left() -> str:
            return _left(sum(self._expected_s(cell) for cell in todo if cell not in found) / width)

        def settle(cell: Cell, became: Outcome, *, kept: bool = False) -> None:
            found[cell] = became
            told = self._told(cell, became, kept=kept)
            self.progress.say(f"  [{len(found)}/{len(cells)}] {told}{left()}")
            if kept:
                return
            so_far = earlier | found
            done([so_far[cell] for cell in cells if cell in so_far])

        def ended(cell: Cell, became: Outcome, seconds: float) -> None:
            self._overheads_s.append(max(0.0, seconds - self._transfer_s(cell)))
            settle(cell, became)

        def on(running: Sequence[Cell]) -> None:
            names = ", ".join(f"row {cell.row} {cell.column}" for cell in running)
            self.progress.update(step, names + left())

        self._tell_again([earlier[cell] for cell in again], len(cells))
        for cell in cells:
            if cell in earlier and cell not in again:
                settle(cell, earlier[cell], kept=True)
            elif why := self._why_unsupported(cell):
                settle(cell, outcome.unsupported(cell.row, cell.column, cell.repetition, why))
            else:
                todo.append(cell)
        one = replace(self, progress=QuietProgress()) if width > 1 else self
        side_by_side(todo, one.run_cell, ended, width=width, on=on)
        return [found[cell] for cell in cells]

    def plan(self, cell: Cell) -> tuple[Plan, LoadedScenario]:
        """The plan of a cell's next run."""
        contender = self.columns[cell.column]
        scenario = scenario_of(self.loaded, self.rows[cell.row], contender)
        seed = self.loaded.table.seed + cell.repetition - 1
        plan = resolve(scenario, self.policies, replace(self.choices, seed=seed), new_run_id())
        if contender.column.carrier == "mptcp":
            plan = mptcp_plan(plan, contender.column.congestion_control)
        return plan, scenario

    def _earlier(self, cell: Cell) -> Outcome | None:
        """The outcome of a cell by the runs that were made of it before."""
        return outcome.read_standing(cell.row, cell.column, cell.repetition, self.folder / cell.folder)

    def _wanted_again(self, cell: Cell, earlier: Outcome) -> bool:
        return outcome.wanted_again(self.folder / cell.folder / earlier.run, self.choices.engine)

    def run_cell(self, cell: Cell) -> Outcome:
        """What comes of a cell that needs a run, or more."""
        return until_trusted(
            lambda: self._attempt(cell), lambda found: found.verdict == "untrusted", attempts_of(self.choices.engine)
        )

    def _attempt(self, cell: Cell) -> Outcome:
        run = self._make_run(cell)
        self.progress.update(
            Step(f"row {cell.row} {cell.column} #{cell.repetition}"), f"about {self._expected_s(cell):.0f} s"
        )
        self._execute(run)
        runs = outcome.finished(self.folder / cell.folder)
        return outcome.read_outcome(cell.row, cell.column, cell.repetition, run.folder, len(runs))

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
        while True:
            try:
                run.execute()
            except Interrupted:
                raise
            except Unsupported:
                if not (run.folder / "verdict.json").exists():  # which says so
                    raise
            except CannotRun:
                # Before its folder is made only another run on this machine can be the reason.
                if run.folder.exists():
                    raise
                live.wait_for_others(partial(self.progress.update, Step("waiting")))
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

    def _tell_again(self, earlier: Sequence[Outcome], of: int) -> None:
        untrusted = sum(became.verdict == "untrusted" for became in earlier)
        if untrusted:
            self.progress.say(f"  {untrusted} of {of} runs not to be trusted: made again")
        if broken := len(earlier) - untrusted:
            self.progress.say(f"  {broken} of {of} runs broken down: made again")

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
        # In virtual time what a run transfers says little of how long it takes.
        if is_exact(self.choices.engine):
            return 0.0
        place = (cell.row, cell.column)
        if place not in self._transfers_s:
            self._transfers_s[place] = expected_transfer_s(self.plan(cell)[0])
        return self._transfers_s[place]


def _left(seconds: float) -> str:
    if seconds < 1:
        return ""
    return f"  about {seconds / 60:.0f} min left" if seconds >= 90 else f"  about {seconds:.0f} s left"
