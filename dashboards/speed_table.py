"""Speed table: how fast each setting of links is with each policy, beside what others measured."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import DataTransformerConfig, VariableOption, VariableSort

from dashboards import panels, recent
from dashboards.document import dashboard, to_json
from dashboards.variables import chosen
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_of_run, select_table
from testbed.series.tables import CELLS

NAME = "speed-table"

_NONE = "No table of runs has been made here: ./run.sh run speed-table makes one."


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = named("cell_median")
    table, figure = (chosen("scenario", of, several=False), chosen("figure", of, within=("scenario",), several=False))
    table.current(VariableOption(True, NAME, NAME))
    figure.current(VariableOption(True, "goodput_mib_s", "goodput_mib_s"))
    board = dashboard(
        NAME,
        "NCP: speed table",
        "Tables of runs: a figure by row and column, medians of repetitions, in the unit that its name ends in.",
        [
            table,
            # A table's name begins with its time.
            chosen("run", of, within=("scenario",), several=False).sort(VariableSort.ALPHABETICAL_DESC),
            figure,
            chosen("row", of, within=("scenario", "run")),
            chosen("column", of, within=("scenario", "run")),
        ],
        time=("now-30d", "now"),
        refresh="1m",
    )
    of_run = select_table(CELLS, ("run", "figure", "row", "column"))
    by_row = [DataTransformerConfig("sortBy", options={"sort": [{"field": "position"}]})]
    board.with_panel(recent.runs())
    board.with_panel(
        panels.rows(
            "Medians: $figure of $scenario, table $run",
            "Rows are settings of links, columns policies and who else measured them (published, upstream).",
            of_run,
            height=10,
            nothing=_NONE,
        ).transformations(
            [
                *by_row,
                DataTransformerConfig(
                    "groupingToMatrix", options={"columnField": "column", "rowField": "row", "valueField": "median"}
                ),
            ]
        )
    )
    board.with_panel(
        panels.rows(
            "Cells",
            "With the lowest and highest of n repetitions, and what the links could carry at most (bound). "
            "What "
            "others measured has n 0.",
            of_run,
            height=10,
            hidden=("Time", "time", "position"),
            widths={
                "column": 210,
                "figure": 150,
                "median": 100,
                "lowest": 100,
                "highest": 100,
                "n": 60,
                "bound": 100,
                "engine": 100,
                "variant": 100,
            },
            nothing=_NONE,
        ).transformations(by_row)
    )
    board.with_row(Row("Row $row").repeat("row"))
    in_row = ("run", "figure", "row", "column")
    board.with_panel(
        panels.bars(
            "Row $row: $figure",
            "Each policy beside what others measured. No bar can be longer than the bound of the "
            "links, which is the axis's end.",
            "figure",
            select_of_run(of, in_row, by=("column",)),
            "$tag_column",
            width=panels.HALF,
            height=9,
            nothing=_NONE,
            bound=select_of_run(named("cell_bound"), in_row, function="max"),
        )
    )
    board.with_panel(
        panels.lines(
            "Row $row, table by table: $figure",
            "Median of each table's repetitions, in the figure's unit, by engine "
            "and form. A policy's should stay the same.",
            "figure",
            [
                (
                    select_dashboard(of, ("scenario", "figure", "row", "column"), by=("column", "engine", "variant")),
                    "$tag_column, $tag_engine $tag_variant",
                )
            ],
            points=True,
            height=9,
            nothing=_NONE,
        )
    )
    return to_json(board)
