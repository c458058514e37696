"""The picture of a large table: every value is a point, and who is beaten is hollow, by the interval."""

from __future__ import annotations

import csv

import pytest

from testbed.results.report import style
from testbed.study.kinds.table_result import RowSummary, Spread
from testbed.study.report.plots import cells, is_beaten

LOW = Spread.of([0.60, 0.61, 0.62, 0.63, 0.64, 0.65])
HIGH = Spread.of([0.90, 0.91, 0.92, 0.93, 0.94, 0.95])
BESIDE = Spread.of([0.50, 0.61, 0.80, 0.81, 0.82, 0.97])


def row(name: str, figure: str, **cells: Spread) -> RowSummary:
    return RowSummary(name, name, "", {}, {figure: cells}, {}, [])


@pytest.mark.parametrize(
    ("figure", "a", "b", "beaten"),
    [
        ("of_optimum", LOW, HIGH, (True, False)),
        ("reused_s", LOW, HIGH, (False, True)),  # less is better
        ("rival_share", LOW, HIGH, (False, False)),  # nobody says what is better
        ("of_optimum", LOW, BESIDE, (False, False)),  # may be chance
        ("of_optimum", HIGH, HIGH, (False, False)),
        ("of_optimum", Spread.of([0.9], 3), Spread.of([0.91], 3), (True, False)),  # nothing is left to chance
        ("of_optimum", Spread.of([0.92], 3), HIGH, (False, False)),
        ("of_optimum", Spread.of([0.80], 3), HIGH, (True, False)),
        ("of_optimum", Spread.of([0.1]), Spread.of([0.9]), (False, False)),  # single runs say nothing of the spread
        ("of_optimum", Spread.of([]), HIGH, (False, False)),
    ],
)
def test_beaten_is_who_is_behind_by_more_than_chance(
    figure: str, a: Spread, b: Spread, beaten: tuple[bool, bool]
) -> None:
    cells = row("1", figure, a=a, b=b)
    assert (is_beaten(cells, "a", figure), is_beaten(cells, "b", figure)) == beaten


def test_a_large_table_s_picture_has_its_points_and_can_be_printed() -> None:
    columns = [f"c{number}" for number in range(6)]
    values = {column: HIGH if column == "c4" else LOW for column in columns[:5]}
    rows = [row(str(number), "of_optimum", **values, c5=Spread.of([])) for number in range(12)]
    with style.for_paper():
        (plot,) = cells(rows, columns)
    assert plot.pdf is not None
    found = {(point["line"], point["at"], point["x"]) for point in csv.DictReader(plot.data.splitlines())}
    assert {("c0", "3", "0.625"), ("c4", "3", "0.925")} <= found
    assert not any(line.startswith("c5") for line, *_ in found)  # it has no value, and no name in the legend
    # a ring for each that is beaten: filled with the paper, drawn in its colour
    ring = f"fill: {style.PAPER}; stroke: {style.SERIES_COLOURS[0]}"
    assert plot.svg.count(ring) >= len(rows)
    assert f"fill: {style.PAPER}; stroke: {style.SERIES_COLOURS[4]}" not in plot.svg
