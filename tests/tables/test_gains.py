"""What one column gains over another: its checks, its picture, and rows that are run less often than the table."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.judge.status import Status
from testbed.study.checks.table import DifferenceCheck, RisesCheck, judge_one
from testbed.study.kinds import table as table_run
from testbed.study.kinds.table import TableRequest
from testbed.study.kinds.table_file import columns_of, load
from testbed.study.kinds.table_result import KnownValue, RowSummary, Spread
from testbed.study.report.plots import gain, gains

PLOT = {
    "name": "by-size",
    "title": "By size",
    "x": "bytes",
    "rows": ["a", "b"],
    "column": "iw3",
    "over": "iw10",
    "figure": None,
}


def row(name: str, iw3: list[float], iw10: list[float], known: tuple[float, float] | None = None) -> RowSummary:
    values = zip(("iw3", "iw10"), known or (), strict=False)
    return RowSummary(
        name,
        name,
        "",
        {},
        {"page_s": {"iw3": Spread.of(iw3), "iw10": Spread.of(iw10)}},
        {"iw3": Status.PASS, "iw10": Status.PASS},
        [KnownValue("published", column, value, "page_s") for column, value in values],
    )


@pytest.mark.parametrize(
    ("iw3", "iw10", "status"),
    [
        ([2.5], [2.0], "pass"),
        ([2.5], [1.0], "fail"),
        ([2.5], [2.6], "fail"),
        ([2.5, 2.6, 2.5], [2.0, 2.1, 2.0], "pass"),
        ([2.5, 3.9, 2.4], [2.0, 2.1, 2.0], "inconclusive"),
        ([2.5], [], "insufficient-data"),
    ],
)
def test_a_difference_lies_inside_or_not(iw3: list[float], iw10: list[float], status: str) -> None:
    check = DifferenceCheck(name="d", judge="difference", column="iw3", over="iw10", min=0.2, max=1.0)
    assert judge_one(check, [row("a", iw3, iw10)], []).status == status


@given(st.lists(st.integers(0, 5), min_size=3, max_size=8))
def test_a_rise_is_one_from_row_to_row(differences: list[int]) -> None:
    rows = [row(f"r{n}", [10.0 + d], [10.0]) for n, d in enumerate(differences)]
    result = judge_one(RisesCheck(name="r", judge="rises", column="iw3", over="iw10"), rows, [])
    rises = all(b > a for a, b in pairwise(differences))
    assert (result.status == "pass") is rises


def test_a_rise_is_open_where_a_row_is_missing_and_names_where_it_falls() -> None:
    check = RisesCheck(name="r", judge="rises", column="iw3", over="iw10")
    up = [row("a", [2.0], [1.0]), row("b", [3.0], [1.0]), row("c", [4.0], [1.0])]
    assert judge_one(check, up[:2], []).status == "insufficient-data"
    assert judge_one(check, [*up, row("d", [], [1.0])], []).status == "insufficient-data"
    fallen = judge_one(check, [up[0], up[2], up[1]], [])
    assert fallen.status == "fail"
    assert "b after c" in fallen.reason


def test_a_gain_is_in_ms_and_percent_of_the_smaller() -> None:
    found = gain(np.array([[2.5, np.nan], [2.0, 2.0]]), 1000.0)
    assert found[:, 0].tolist() == [500.0, 25.0]
    assert np.isnan(found[:, 1]).all()


def test_the_picture_has_the_rows_that_were_run() -> None:
    rows = [row("a", [2.5], [2.0], known=(2.4, 2.0)), row("c", [2.5], [2.0])]
    (plot,) = gains([PLOT, {**PLOT, "name": "none", "rows": ["x"]}], rows)
    assert plot.name == "by-size"
    assert "published" in plot.svg
    assert gains([PLOT], [replace(rows[0], known=[])])[0].svg.count("published, ms") == 0
    assert plot.svg == gains([PLOT], rows)[0].svg


def test_a_row_that_takes_long_is_run_less_often(tmp_path: Path) -> None:
    loaded = load("initcwnd", (), quick=False)
    assert list(columns_of(loaded.table, [])) == ["iw3", "iw10"]
    chosen = table_run.select(loaded, TableRequest(rows="seg-3,bw-256"), {})
    counts = {name: sum(cell.row == name for cell in chosen.places()) for name in ("seg-3", "bw-256")}
    assert counts == {"seg-3": 6, "bw-256": 2}
    once = table_run.select(loaded, TableRequest(rows="seg-3,bw-256", repeat=1), {})
    assert len(once.places()) == 4
