"""Speed table: how fast each setting of links is with each policy, beside what others measured."""

from __future__ import annotations

from dashboards import panels
from dashboards.document import dashboard
from dashboards.source import Curve
from dashboards.variables import ALPHABETICAL_DOWN, chosen
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_of_run, select_table
from testbed.series.tables import CELLS

NAME = "speed-table"

_NONE = "No table of runs has been made here: ./run.sh run speed-table makes one."

_MEDIAN = named("cell_median")
_CELL = ("run", "figure", "row", "column")
_BY_ROW = ("sortBy", {"sort": [{"field": "position"}]})
_AS_MATRIX = ("groupingToMatrix", {"columnField": "column", "rowField": "row", "valueField": "median"})

_OVER_TABLES = Curve(
    select_dashboard(_MEDIAN, ("scenario", "figure", "row", "column"), by=("column", "engine", "variant")),
    "$tag_column, $tag_engine $tag_variant",
    "figure",
)

PANELS = [
    panels.rows(
        "Medians: $figure of $scenario, table $run",
        "Rows are settings of links, columns policies and who else measured them (published, upstream).",
        select_table(CELLS, _CELL),
        height=10,
        nothing=_NONE,
        transformations=[_BY_ROW, _AS_MATRIX],
    ),
    panels.rows(
        "Cells",
        "With the lowest and highest of n repetitions, and what the links could carry at most (bound). What "
        "others measured has n 0.",
        select_table(CELLS, _CELL),
        height=10,
        hidden=("Time", "time", "position"),
        widths={"column": 210, "figure": 150}
        | dict.fromkeys(("median", "lowest", "highest"), 100)
        | {"n": 60, "bound": 100, "engine": 100, "variant": 100},
        nothing=_NONE,
        transformations=[_BY_ROW],
    ),
    panels.row("Row $row", "row"),
    panels.bars(
        "Row $row: $figure",
        "Each policy beside what others measured. No bar can be longer than the bound of the links, which is the "
        "axis's end.",
        select_of_run(_MEDIAN, _CELL, by=("column",)),
        "$tag_column",
        bound=select_of_run(named("cell_bound"), _CELL, function="max"),
        height=9,
        nothing=_NONE,
    ),
    panels.lines(
        "Row $row, table by table: $figure",
        "Median of each table's repetitions, in the figure's unit, by engine and form. A policy's should stay the "
        "same.",
        _OVER_TABLES,
        points=True,
        height=9,
        nothing=_NONE,
    ),
]

DASHBOARD = dashboard(
    NAME,
    "NCP: speed table",
    "Tables of runs: a figure by row and column, medians of repetitions, in the unit that its name ends in.",
    [
        chosen("scenario", _MEDIAN, several=False, first=NAME),
        # A table's name begins with its time.
        chosen("run", _MEDIAN, within=("scenario",), several=False, sort=ALPHABETICAL_DOWN),
        chosen("figure", _MEDIAN, within=("scenario",), several=False, first="goodput_mib_s"),
        chosen("row", _MEDIAN, within=("scenario", "run")),
        chosen("column", _MEDIAN, within=("scenario", "run")),
    ],
    PANELS,
    since="now-30d",
    refresh="1m",
)
