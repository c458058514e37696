"""Tables with repetitions: a check holds, fails or is undecided by the interval, and by the median below three runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.figures import GOODPUT
from testbed.matrix.judging import judge_one
from testbed.matrix.model import BoundCheck, KnownCheck, RatioCheck, TableCheck
from testbed.matrix.outcome import Spread
from testbed.matrix.summary import KnownValue, RowSummary


def row_of(known: float = 1.0, **values: list[float]) -> RowSummary:
    cells = {column: Spread.of(found) for column, found in values.items()}
    return RowSummary(
        "1",
        "1",
        "",
        {GOODPUT: 1.0},
        {GOODPUT: cells},
        dict.fromkeys(cells, "ok"),
        [KnownValue("them", "a", known, GOODPUT)],
    )


RATIO = RatioCheck(name="x", judge="ratio", column="a", over="b", min=1)
BOUND = BoundCheck(name="x", judge="bound", columns=["a"], min=0.9, max=1)
KNOWN = KnownCheck(name="x", judge="known", columns=["a"], tolerance=0.1)


@pytest.mark.parametrize(
    ("check", "values", "status"),
    [
        (RATIO, [1.1, 1.2, 1.3], "pass"),
        (RATIO, [0.7, 0.8, 0.9], "fail"),
        (RATIO, [0.9, 1.1, 1.2], "undecided"),
        (BOUND, [0.91, 0.95, 0.99], "pass"),
        (BOUND, [0.95, 0.97, 1.01], "undecided"),
        (BOUND, [1.1, 1.2, 1.3], "fail"),
        (KNOWN, [0.95, 1.0, 1.05], "pass"),
        (KNOWN, [0.95, 1.0, 1.2], "undecided"),
        (KNOWN, [1.2, 1.3, 1.4], "fail"),
    ],
)
def test_the_interval_decides(check: TableCheck, values: list[float], status: str) -> None:
    result = judge_one(check, [row_of(a=values, b=[1.0, 1.0, 1.0])], ["a", "b"], [])
    assert result.status == status, result.reason
    assert set(result.figures["intervals"]) == {"1 a"}
    assert "median alone" not in result.reason


@pytest.mark.parametrize(("values", "status"), [([0.9, 1.2], "pass"), ([0.9], "fail")])
def test_below_three_runs_it_is_the_median_and_that_is_said(values: list[float], status: str) -> None:
    result = judge_one(RATIO, [row_of(a=values, b=[1.0])], ["a", "b"], [])
    assert result.status == status
    assert "intervals" not in result.figures
    assert "Judged by the median alone, of fewer than 3 runs" in result.reason


def test_one_cell_outside_fails_whatever_else_is_undecided() -> None:
    rows = [row_of(a=[0.9, 1.1, 1.2], b=[1.0] * 3), row_of(a=[0.5, 0.6, 0.7], b=[1.0] * 3)]
    assert judge_one(RATIO, rows, ["a", "b"], []).status == "fail"
    assert judge_one(RATIO, rows[:1], ["a", "b"], []).status == "undecided"


def test_near_any_known_value_is_enough_also_for_an_interval() -> None:
    row = row_of(known=2.0, a=[0.95, 1.0, 1.05])
    both = replace(row, known=[*row.known, KnownValue("others", "a", 1.02, GOODPUT)])
    assert judge_one(KNOWN, [row], ["a"], []).status == "fail"
    assert judge_one(KNOWN, [both], ["a"], []).status == "pass"
