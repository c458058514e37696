"""The cells of a table, as a study's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from testbed.engines import Programs
from testbed.judge.figures import unit_of
from testbed.planning.resolve import Choices
from testbed.study.cell import Cell
from testbed.study.runs import Runs
from testbed.study.tables import load, outcome
from testbed.study.tables.load import Contender, LoadedTable, scenario_of
from testbed.study.tables.model import Row
from testbed.study.tables.outcome import Outcome


@dataclass
class TableCells(Runs[Outcome]):
    """One table's runs on this machine. ``folder`` is the table's own result folder."""

    loaded: LoadedTable
    rows: Mapping[str, Row]
    columns: Mapping[str, Contender]
    programs: Programs
    choices: Choices

    def cells(self, places: Sequence[load.Cell]) -> list[Cell]:
        """What is run in each place; repetitions have the next seeds."""
        scenarios = {
            (row, column): scenario_of(self.loaded, self.rows[row], self.columns[column])
            for row, column in dict.fromkeys((place.row, place.column) for place in places)
        }
        return [
            Cell(
                place.key,
                scenarios[place.row, place.column],
                replace(self.choices, seed=self.loaded.table.seed + place.repetition - 1),
                self.programs,
                self.columns[place.column].column.carrier,
                self.columns[place.column].column.congestion_control,
            )
            for place in places
        ]

    def read(self, key: Cell, run: Path, attempts: int) -> Outcome:
        """Its verdict and figures."""
        return outcome.read_outcome(*_place(key), run, attempts)

    def unsupported(self, key: Cell, why: str) -> Outcome:
        """It has no figures."""
        return outcome.unsupported(*_place(key), why)

    def name(self, key: Cell) -> str:
        """Its place in the table."""
        return "row {} {} #{}".format(*key.key)

    def word(self, key: Cell, found: Outcome) -> str:
        """Its verdict, or why it has none."""
        return found.verdict

    def told(self, key: Cell, found: Outcome) -> str:
        """The headline figure and the verdict."""
        figure = self.loaded.table.figures[0]
        value = f"{found.figures[figure]:.4g} {unit_of(figure)}, " if figure in found.figures else ""
        again = f", {found.attempts} attempts" if found.attempts > 1 else ""
        why = f": {found.why[:160]}" if found.why else ""
        return f"{value}{found.verdict}{again}{why}"


def _place(cell: Cell) -> tuple[str, str, int]:
    row, column, repetition = cell.key
    return row, column, int(repetition)
