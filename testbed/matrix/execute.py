"""The cells of a table, as a study's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from testbed.engines import Programs
from testbed.figures import unit_of
from testbed.matrix import outcome
from testbed.matrix.load import Cell, Contender, LoadedTable, scenario_of
from testbed.matrix.model import Row
from testbed.matrix.outcome import Outcome
from testbed.plan.resolve import Choices
from testbed.study import cell as study
from testbed.study.runs import Runs


@dataclass
class Matrix(Runs[Cell, Outcome]):
    """One table's runs on this machine. ``folder`` is the table's own result folder."""

    loaded: LoadedTable
    rows: Mapping[str, Row]
    columns: Mapping[str, Contender]
    programs: Programs
    choices: Choices

    def cell(self, key: Cell) -> study.Cell:
        """A repetition has the next seed."""
        contender = self.columns[key.column]
        return study.Cell(
            key.key,
            scenario_of(self.loaded, self.rows[key.row], contender),
            replace(self.choices, seed=self.loaded.table.seed + key.repetition - 1),
            self.programs,
            contender.column.carrier,
            contender.column.congestion_control,
        )

    def place(self, key: Cell) -> Path:
        """Without reading the cell's scenario."""
        return self.folder / key.folder

    def alike(self, key: Cell) -> tuple[str, str]:
        """Repetitions are."""
        return key.row, key.column

    def read(self, key: Cell, run: Path, attempts: int) -> Outcome:
        """Its verdict and figures."""
        return outcome.read_outcome(key.row, key.column, key.repetition, run, attempts)

    def unsupported(self, key: Cell, why: str) -> Outcome:
        """It has no figures."""
        return outcome.unsupported(key.row, key.column, key.repetition, why)

    def untrusted(self, found: Outcome) -> bool:
        """By the run's verdict."""
        return found.verdict == "untrusted"

    def name(self, key: Cell) -> str:
        """Its place in the table."""
        return f"row {key.row} {key.column} #{key.repetition}"

    def told(self, key: Cell, found: Outcome) -> str:
        """The headline figure and the verdict."""
        figure = self.loaded.table.figures[0]
        value = f"{found.figures[figure]:.4g} {unit_of(figure)}, " if figure in found.figures else ""
        again = f", {found.attempts} attempts" if found.attempts > 1 else ""
        why = f": {found.why[:160]}" if found.why else ""
        return f"{value}{found.verdict}{again}{why}"
