"""Tables with repetitions: a check holds, fails or is undecided by the interval, and by the median below three runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.judge import power
from testbed.judge.figures import GOODPUT
from testbed.judge.status import Status
from testbed.study.checks.table import BoundCheck, DifferenceCheck, KnownCheck, RatioCheck, TableCheck, judge_one
from testbed.study.kinds.table_result import KnownValue, RowSummary, Spread


def row_of(known: float = 1.0, **values: list[float]) -> RowSummary:
    cells = {column: Spread.of(found) for column, found in values.items()}
    return RowSummary(
        "1",
        "1",
        "",
        {GOODPUT: 1.0},
        {GOODPUT: cells},
        dict.fromkeys(cells, Status.PASS),
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
        (RATIO, [0.9, 1.1, 1.2], "inconclusive"),
        (BOUND, [0.91, 0.95, 0.99], "pass"),
        (BOUND, [0.95, 0.97, 1.01], "inconclusive"),
        (BOUND, [1.1, 1.2, 1.3], "fail"),
        (KNOWN, [0.95, 1.0, 1.05], "pass"),
        (KNOWN, [0.95, 1.0, 1.2], "inconclusive"),
        (KNOWN, [1.2, 1.3, 1.4], "fail"),
    ],
)
def test_the_interval_decides(check: TableCheck, values: list[float], status: str) -> None:
    result = judge_one(check, [row_of(a=values, b=[1.0, 1.0, 1.0])], [])
    assert result.status == status, result.reason
    assert set(result.figures["intervals"]) == {"1 a"}
    assert "median alone" not in result.reason
    assert "Decided by intervals of at least " in result.reason


@pytest.mark.parametrize(("values", "status"), [([0.9, 1.2], "pass"), ([0.9], "fail")])
def test_below_three_runs_it_is_the_median_and_that_is_said(values: list[float], status: str) -> None:
    result = judge_one(RATIO, [row_of(a=values, b=[1.0])], [])
    assert result.status == status
    assert "intervals" not in result.figures
    assert "Judged by the median alone, of fewer than 3 runs" in result.reason


def test_one_cell_outside_fails_whatever_else_is_undecided() -> None:
    rows = [row_of(a=[0.9, 1.1, 1.2], b=[1.0] * 3), row_of(a=[0.5, 0.6, 0.7], b=[1.0] * 3)]
    assert judge_one(RATIO, rows, []).status == "fail"
    assert judge_one(RATIO, rows[:1], []).status == "inconclusive"


def test_near_any_known_value_is_enough_also_for_an_interval() -> None:
    row = row_of(known=2.0, a=[0.95, 1.0, 1.05])
    both = replace(row, known=[*row.known, KnownValue("others", "a", 1.02, GOODPUT)])
    assert judge_one(KNOWN, [row], []).status == "fail"
    assert judge_one(KNOWN, [both], []).status == "pass"
    theirs = KNOWN.model_copy(update={"by": "others"})
    assert judge_one(theirs, [both], []).status == "pass"
    assert judge_one(KNOWN.model_copy(update={"by": row.known[0].by}), [both], []).status == "fail"
    assert judge_one(theirs, [row], []).status == "insufficient-data"


@pytest.mark.parametrize(("values", "missed", "partly"), [([0.95, 1.0, 1.05], 2.0, 0.95), ([1.0, 1.0, 2.0], 0.88, 1.2)])
def test_partly_near_one_known_value_is_open_though_another_is_missed(
    values: list[float], missed: float, partly: float
) -> None:
    known = [KnownValue("them", "a", missed, GOODPUT), KnownValue("others", "a", partly, GOODPUT)]
    assert judge_one(KNOWN, [replace(row_of(a=values), known=known)], []).status == "inconclusive"


@pytest.mark.parametrize(
    ("n", "one", "two"), [(3, 75, 50), (4, 88, 75), (5, 94, 88), (6, 97, 94), (7, 98, 97), (11, 99, 98)]
)
def test_the_level_that_n_gives_is_told_and_no_other(n: int, one: int, two: int) -> None:
    row = row_of(a=[0.91 + number / 1000 for number in range(n)], b=[0.5 + number / 1000 for number in range(n)])
    bound, ratio = judge_one(BOUND, [row], []), judge_one(RATIO, [row], [])
    assert f"Decided by intervals of at least {one}%." in bound.reason
    assert f"Decided by intervals of at least {two}%." in ratio.reason
    if n < 6:
        assert not any(f"{percent}%" in text for percent in (95, 96, 97) for text in (bound.reason, ratio.reason))


def row_of_spreads(**spreads: Spread) -> RowSummary:
    return replace(row_of(), cells={GOODPUT: spreads})


@pytest.mark.parametrize(("value", "status"), [(1.1, "pass"), (0.9, "fail")])
def test_one_observation_is_judged_by_its_value_and_that_is_said(value: float, status: str) -> None:
    row = row_of_spreads(a=Spread.of([value], 3), b=Spread.of([1.0], 3))
    result = judge_one(RATIO, [row], [])
    assert (result.status, result.figures["observations"]) == (status, 1)
    assert "3 runs, one observation: nothing is left to chance" in result.reason
    assert "interval" not in result.reason
    assert "intervals" not in result.figures


def test_a_ratio_to_what_has_no_chance_in_it_keeps_the_others_level() -> None:
    row = row_of_spreads(a=Spread.of([0.9, 1.1, 1.2]), b=Spread.of([1.0], 3))
    result = judge_one(RATIO, [row], [])
    assert (result.status, result.figures["observations"]) == ("inconclusive", 3)
    assert result.figures["intervals"] == {"1 a": [0.9, 1.2, 0.75]}


def test_a_single_run_is_not_taken_for_what_has_no_chance_in_it() -> None:
    row = row_of_spreads(a=Spread.of([0.9, 1.1, 1.2]), b=Spread.of([1.0]))
    assert "Judged by the median alone" in judge_one(RATIO, [row], []).reason


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=9))
def test_what_may_be_0_divides_nothing(values: list[float]) -> None:
    result = judge_one(RATIO, [row_of(a=[1.0] * 3, b=values)], [])
    assert (result.status == "insufficient-data") == (min(values) <= 0 <= max(values))


DIFFERENCE = DifferenceCheck(name="x", judge="difference", column="a", over="b", min=0, max=1)
SCATTERED = [0.94, 0.95, 0.96, 0.97]


@pytest.mark.parametrize(
    ("check", "a", "b", "seen"),
    [
        (BOUND, Spread.of(SCATTERED), Spread.of([1.0]), 0.0219),
        (KNOWN, Spread.of(SCATTERED), Spread.of([1.0]), 0.0219),
        (RATIO, Spread.of(SCATTERED), Spread.of(SCATTERED), 0.0539),  # two medians, each by itself
        (RATIO, Spread.of(SCATTERED), Spread.of([1.0], 3), 0.0219),  # nothing scatters in the other
        (RATIO, Spread.of([0.9], 3), Spread.of([1.0], 3), None),
        (BOUND, Spread.of(SCATTERED[:2]), Spread.of([1.0]), None),
        (DIFFERENCE, Spread.of(SCATTERED), Spread.of([0.1, 0.11, 0.12]), None),  # it may lie on both sides of 0
    ],
)
def test_a_range_check_says_the_smallest_distance_that_so_many_runs_would_show(
    check: TableCheck, a: Spread, b: Spread, seen: float | None
) -> None:
    found = judge_one(check, [row_of_spreads(a=a, b=b)], []).figures.get("least_seen")
    assert (found and found["relative"]) == (seen and pytest.approx(seen, rel=0.01))
    assert found is None or (found["n"], found["runs"] % 4) == (4, 0)


def test_saboteur_a_distance_that_is_told_as_half_of_it_is_shown_too_seldom() -> None:
    """Tables of four runs whose ratio lies so far above its limit as is told, and half as far."""
    rng, times, sigma = np.random.default_rng(4), 400, 0.02

    def shown(effect: float) -> float:
        rows = [
            row_of(**{c: (m * np.exp(rng.normal(0, sigma, 4))).tolist() for c, m in (("a", effect), ("b", 1))})
            for _ in range(times)
        ]
        return sum(judge_one(RATIO, [row], []).status == Status.PASS for row in rows) / times

    told = math.expm1(2 * power.of_interval(4, of_two=True) * sigma)
    assert shown(1 + told) > power.POWER > 0.8 * shown(1 + told)
    assert shown(1 + told / 2) < power.POWER
