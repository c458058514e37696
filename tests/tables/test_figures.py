"""Tables about any figure: limits, rows against each other, lines through cells, and what earlier tables left."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import BadInput
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.figures import GOODPUT, figures_of, title_of, unit_of
from testbed.judge.status import Status
from testbed.study.checks.table import DifferenceCheck, KnownCheck, RowRatioCheck, SlopeCheck, WithinCheck, judge_one
from testbed.study.kinds.table import summarise
from testbed.study.kinds.table_file import load
from testbed.study.kinds.table_result import KnownValue, RowSummary, Spread, write_csv
from testbed.study.report.page import filled_in
from tests.raises import Containing, raises
from tests.tables.small_table import outcome_by

SLOPE = SlopeCheck(name="x", judge="slope", x="theory_mbps", columns=["a"], min=0.95, max=1.05, least_r2=0.99)


def row(name: str, **figures: float | list[float] | None) -> RowSummary:
    spreads = {
        figure: {"a": Spread.of([] if v is None else [v] if isinstance(v, float) else v)}
        for figure, v in figures.items()
    }
    return RowSummary(name, name, "", {}, spreads, {"a": Status.PASS}, [])


def test_a_figures_name_has_its_unit() -> None:
    named = {"throughput_mbps": "Mbit/s", GOODPUT: "MiB/s", "completion_ms": "ms", "transfer_s": "s", "marks": ""}
    assert {name: unit_of(name) for name in named} == named
    titles = {
        "observed_window_bytes": "Observed window",
        "rtt_ms": "RTT",
        "rtts": "Round trips",
        "theory_rtts": "Theory round trips",
        "bulk.completion_ms": "bulk: Completion",
    }
    assert {name: title_of(name) for name in titles} == titles


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.floats(0.1, 100))
def test_within(value: float, low: float, high: float) -> None:
    check = WithinCheck(name="x", judge="within", figure="b_ms", columns=["a"], min=low, max=high)
    status = judge_one(check, [row("1", a_mbps=1.0, b_ms=value)], []).status
    assert status == ("pass" if low <= value <= high else "fail")


def test_within_by_the_interval_of_three_runs() -> None:
    check = WithinCheck(name="x", judge="within", columns=["a"], min=1.0, max=2.0)
    for values, status in (([1.1, 1.2, 1.3], "pass"), ([0.9, 1.2, 1.3], "inconclusive"), ([0.7, 0.8, 0.9], "fail")):
        assert judge_one(check, [row("1", t_mbps=values)], []).status == status


def test_a_figure_without_a_unit_is_told_as_a_number() -> None:
    both = replace(row("1"), cells={"marks": {"a": Spread.of([2.0] * 3), "b": Spread.of([1.0] * 3)}})
    more = DifferenceCheck(name="x", judge="difference", column="a", over="b", min=0.5, max=2)
    assert judge_one(more, [both], []).reason.startswith("Holds: row 1 1 [1, 1]. ")
    few = WithinCheck(name="x", judge="within", columns=["a"], max=3)
    assert judge_one(few, [both], []).reason.startswith("Holds: row 1 a 2 [2, 2]. ")


def test_a_known_value_is_compared_with_its_own_figure() -> None:
    found = replace(row("1", a_ms=9.0, b_ms=1.0), known=[KnownValue("them", "a", 1.0, "b_ms")])
    check = KnownCheck(name="x", judge="known", figure="b_ms", columns=["a"], tolerance=0.1)
    result = judge_one(check, [found], [])
    assert (result.status, result.figures["medians"]) == ("pass", {"1 a": 1.0})


def test_one_row_over_another() -> None:
    check = RowRatioCheck(name="x", judge="row_ratio", row="near", over="far", columns=["a"], min=1.9, max=2.1)
    rows = [row("near", t_mbps=6.2), row("far", t_mbps=3.1)]
    found = judge_one(check, rows, [])
    assert (found.status, found.measured) == ("pass", 2.0)
    assert judge_one(check, [row("near", t_mbps=6.2), row("far", t_mbps=2.0)], []).status == "fail"
    assert judge_one(check, rows[:1], []).status == "insufficient-data"


@given(st.floats(0.5, 2), st.floats(-1, 1), st.lists(st.floats(1, 50), min_size=3, max_size=12, unique=True))
def test_a_line_is_found_again(slope: float, intercept: float, xs: list[float]) -> None:
    if max(xs) - min(xs) < 0.5:
        return
    rows = [row(str(i), t_mbps=slope * x + intercept, theory_mbps=x) for i, x in enumerate(xs)]
    fitted = judge_one(SLOPE, rows, []).figures
    assert len(fitted["points"]) == len(xs)
    assert fitted["slope"] == pytest.approx(slope, abs=1e-6)
    assert fitted["slope"] * 10 + fitted["intercept"] == pytest.approx(slope * 10 + intercept, abs=1e-4)


def test_a_slope_is_judged_with_what_it_explains() -> None:
    on_it = [row(str(x), t_mbps=1.01 * x, theory_mbps=float(x)) for x in (1, 2, 4, 8)]
    assert judge_one(SLOPE, on_it, []).status == "pass"
    steeper = [row(str(x), t_mbps=1.2 * x, theory_mbps=float(x)) for x in (1, 2, 4, 8)]
    assert judge_one(SLOPE, steeper, []).status == "fail"
    scattered = [row(str(x), t_mbps=y, theory_mbps=x) for x, y in ((1.0, 3.0), (2.0, 0.5), (4.0, 6.0), (8.0, 8.0))]
    assert judge_one(SLOPE, scattered, []).status == "fail"
    assert judge_one(SLOPE, on_it[:2], []).status == "insufficient-data"


def test_figures_of_several_sessions_have_its_name() -> None:
    results = [
        {"session": "s1", "role": "receiver", "goodput_bps": 8 * 2**20},
        {"session": "s2", "role": "receiver", "goodput_bps": 16 * 2**20, "figures": {"rtt_ms": 5.0}},
        {"session": "s1", "role": "sender", "goodput_bps": 1.0},
    ]
    found = figures_of(results)
    assert (found[GOODPUT], found[f"s2.{GOODPUT}"], found["s2.rtt_ms"]) == (1.0, 2.0, 5.0)


def test_a_run_that_the_machine_can_not_do_is_no_failure(tmp_path: Path) -> None:
    verdict = Verdict(
        scenario="s",
        run="r",
        verdict="fail",
        summary="",
        checks=[],
        trust=Trust(trusted=True),
        duration_s=None,
        policy="vegas",
        broken="this kernel refuses a route with congctl vegas",
        unsupported=True,
    )
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "verdict.json").write_text(json.dumps(verdict.to_json()))
    found = outcome_by(tmp_path / "r")
    assert (found.status, found.record.reason, found.record.figures) == ("unsupported", verdict.broken, {})


def test_known_values_by_several_columns_and_figures(tmp_path: Path) -> None:
    table = load("bdp-window").table
    names = [row.name for row in table.rows]
    summaries = {s.name: s for s in summarise(table, names, ["cubic"], {n: {} for n in names}, [])}
    known = {(k.figure, k.by): k.value for k in summaries["rtt-100"].known if k.column == "cubic"}
    assert known == {("throughput_mbps", "published"): 5.16, ("theory_asked_mbps", "theory of the post"): 5.24}
    assert [k.value for k in summaries["rtt-900-auto"].known if k.figure == "end_mbps"] == [40.0, 40.0]
    write_csv(list(summaries.values()), ["cubic"], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().count("\n") == 1 + len(names) * len(table.figures)


def test_a_figure_that_a_table_is_not_about_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    text = Path(load("bdp-sweep").path).read_text()
    path.write_text(text.replace("x: theory_observed_mbps", "x: theory_mbps", 1))
    with raises(BadInput, "table.no-such-figure", figure="theory_mbps", known=Containing("steady_mbps")):
        load(str(path))


def test_findings_name_other_figures() -> None:
    found = filled_in("{1.a:rtt_ms} {1.a} {1.a:none_ms}", [row("1", t_mbps=6.2, rtt_ms=100.0)])
    assert found == "100.000 6.200 (not run)"
