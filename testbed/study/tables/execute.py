"""The cells of a table, as a study's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from testbed.engines import Programs
from testbed.judge.figures import unit_of
from testbed.planning.resolve import Choices
from testbed.study.cell import ScenarioCell
from testbed.study.result import CellResult
from testbed.study.tables.load import Cell, Contender, LoadedTable, scenario_of
from testbed.study.tables.model import Row
from testbed.study.tables.outcome import outcome_of


@dataclass(frozen=True)
class TableCells:
    """Makes the cells of one table."""

    loaded: LoadedTable
    rows: Mapping[str, Row]
    columns: Mapping[str, Contender]
    programs: Programs
    choices: Choices

    def cells(self, places: Sequence[Cell]) -> list[ScenarioCell]:
        """What is run in each place; repetitions have the next seeds."""
        scenarios = {
            (row, column): scenario_of(self.loaded, self.rows[row], self.columns[column])
            for row, column in dict.fromkeys((place.row, place.column) for place in places)
        }
        return [
            ScenarioCell(
                place.at,
                scenarios[place.row, place.column],
                replace(self.choices, seed=self.loaded.table.seed + place.repetition - 1),
                self.programs,
                self.columns[place.column].column.carrier,
                self.columns[place.column].column.congestion_control,
                name=f"row {place.row} {place.column} #{place.repetition}",
            )
            for place in places
        ]


def described(figure: str) -> Callable[[CellResult], str]:
    """Says of a cell its value of the headline figure, and its verdict."""

    def describe(result: CellResult) -> str:
        found = outcome_of(result)
        value = f"{found.figures[figure]:.4g} {unit_of(figure)}, " if figure in found.figures else ""
        again = f", {found.attempts} attempts" if found.attempts > 1 else ""
        why = f": {found.why[:160]}" if found.why else ""
        return f"{value}{found.verdict}{again}{why}"

    return describe
