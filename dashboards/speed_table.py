"""Speed table: how fast each setting of links is with each policy, beside what others measured."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import DataTransformerConfig

from dashboards import panels
from dashboards.document import add_report_link, dashboard, to_json
from dashboards.variables import chosen
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_table
from testbed.series.tables import CELLS

NAME = "speed-table"


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = named("cell_median")
    board = dashboard(
        NAME,
        "NCP: speed table",
        "Tables of runs: a figure by row and column, medians of repetitions, in the unit that its name ends in.",
        [
            chosen("scenario", of, several=False),
            chosen("run", of, within=("scenario",), several=False, newest_first=True),
            chosen("figure", of, within=("scenario",), several=False),
            chosen("row", of, within=("scenario",)),
            chosen("column", of, within=("scenario",)),
        ],
        time=("now-30d", "now"),
        refresh="5m",
    )
    add_report_link(board, of)
    of_run = select_table(CELLS, ("run", "figure", "row", "column"))
    board.with_panel(
        panels.rows(
            "Medians", "Rows are settings, columns contenders and sources.", of_run, height=10
        ).with_transformation(
            DataTransformerConfig(
                "groupingToMatrix",
                options={"columnField": "column", "rowField": "row", "valueField": "median"},
            )
        )
    )
    board.with_panel(
        panels.rows(
            "Cells", "With the lowest and highest of n repetitions, and what the links could carry at most.", of_run,
            height=10, hidden=("Time", "time"),
        )
    )  # fmt: skip
    board.with_row(Row("Row $row").repeat("row"))
    board.with_panel(
        panels.lines(
            "Row $row, table by table", "Median of the table's repetitions.", "",
            [(select_dashboard(of, ("scenario", "figure", "row", "column"), by=("column",)), "$tag_column")],
            width=panels.FULL,
        )
    )  # fmt: skip
    return to_json(board)
