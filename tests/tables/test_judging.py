"""How a table is judged: what its runs come to, its checks, and the report that says so."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from testbed.errors import BadInput
from testbed.judge.checks.result import Verdict
from testbed.judge.figures import GOODPUT
from testbed.judge.status import Status
from testbed.results.report import words
from testbed.study.checks.table import BoundCheck, KnownCheck, RatioCheck, judge_one, judge_table
from testbed.study.kinds.table import summarise
from testbed.study.kinds.table_file import load, read_known
from testbed.study.kinds.table_result import KnownValue, RowSummary, Spread, outcomes_of, write_csv
from testbed.study.record import CellResult
from testbed.study.report.page import filled_in, write_table
from tests.raises import raises
from tests.tables.cells import cell_result


@given(st.lists(st.floats(0.01, 100), max_size=9))
def test_the_spread_of_any_values(values: list[float]) -> None:
    spread = Spread.of(values)
    assert spread == Spread.of(values[::-1])
    assert spread.n == len(values)
    if spread.median is None:
        assert not values
    else:
        assert spread.low == min(values) <= spread.median <= max(values) == spread.high
        assert sum(v < spread.median for v in values) <= len(values) / 2


def outcome(row: str, column: str, value: float, verdict: Any = "pass", repetition: int = 1) -> CellResult:
    return cell_result(
        row, column, repetition, verdict, {GOODPUT: value}, 8 / value, "" if verdict == "pass" else "late", "x"
    )


def row_of(known: list[KnownValue], **medians: float | None) -> RowSummary:
    cells_ = {c: Spread.of([] if m is None else [m]) for c, m in medians.items()}
    return RowSummary("1", "1", "", {GOODPUT: 1.0}, {GOODPUT: cells_}, dict.fromkeys(cells_, Status.PASS), known)


positive = st.floats(0.1, 10)


@given(positive, positive, st.floats(0.1, 5))
def test_a_ratio_holds_or_not(one: float, other: float, least: float) -> None:
    check = RatioCheck(name="x", judge="ratio", column="a", over="b", min=least)
    result = judge_one(check, [row_of([], a=one, b=other)], [])
    assert result.status == ("pass" if one / other >= least else "fail")


@given(positive, st.lists(positive, min_size=1, max_size=3), st.floats(0.01, 0.5))
def test_near_one_known_value_is_enough(median: float, values: list[float], tolerance: float) -> None:
    known = [KnownValue(f"source {n}", "a", value, GOODPUT) for n, value in enumerate(values)]
    check = KnownCheck(name="x", judge="known", columns=["a"], tolerance=tolerance)
    result = judge_one(check, [row_of(known, a=median)], [])
    near = [k.by for k in known if abs(median / k.value - 1) <= tolerance]
    assert result.status == ("pass" if near else "fail")
    for by in near:
        assert by in result.reason  # which of them it is near to is said
    for one in known:
        named = judge_one(check.model_copy(update={"by": one.by}), [row_of(known, a=median)], [])
        assert named.status == ("pass" if one.by in near else "fail")


def test_a_median_of_too_few_runs_leaves_it_open() -> None:
    check = KnownCheck(name="x", judge="known", columns=["a"], tolerance=0.1, least_n=2)
    result = judge_one(check, [row_of([KnownValue("source", "a", 1.0, GOODPUT)], a=5.0)], [])
    assert result.status == "insufficient-data"


@pytest.mark.parametrize(
    ("engine", "cpu_time", "status"),
    [("mininet", True, "fail"), ("vkernel", True, "skipped"), ("vkernel", False, "fail")],
)
def test_values_that_contain_cpu_time_are_not_asked_where_the_cpu_is_free(
    engine: str, cpu_time: bool, status: str
) -> None:
    check = KnownCheck(name="x", judge="known", columns=["a"], tolerance=0.1, cpu_time=cpu_time)
    known = row_of([KnownValue("source", "a", 1.0, GOODPUT)], a=5.0)
    assert judge_one(check, [known], [], engine=engine).status == status


@given(positive)
def test_more_than_the_links_carry_fails(median: float) -> None:
    check = BoundCheck(name="x", judge="bound", columns=["a"], max=1)
    assert judge_one(check, [row_of([], a=median)], []).status == ("pass" if median <= 1 else "fail")


def test_what_has_no_value_leaves_a_check_open() -> None:
    check = BoundCheck(name="x", judge="bound", columns=["a", "b"], max=1)
    result = judge_one(check, [row_of([], a=0.5, b=None)], [])
    assert (result.status, result.measured) == ("insufficient-data", "1 of 2")
    neither = judge_one(check, [row_of([], a=None, b=None)], [])
    assert neither.reason.startswith("Not decided for 2 of 2 cells")
    missing = judge_one(check, [row_of([], a=0.5)], [])
    assert missing.status == "insufficient-data"
    assert missing.reason.startswith("Holds: ")
    assert "there is no column b." in missing.reason
    assert "there is no column a, b." in judge_one(check, [row_of([], c=0.5)], []).reason


def judged(small: str, outcomes: list[CellResult], *, partial: bool = False) -> tuple[list[RowSummary], Verdict]:
    table = load(small).table
    columns = ["previous", "nkp24"]
    summaries = summarise(table, ["near", "far"], columns, {key: {GOODPUT: 1.0} for key in ("near", "far")}, outcomes)
    return summaries, judge_table(table.name, table.checks, "r", summaries, outcomes, partial=partial)


def all_of(value: float) -> list[CellResult]:
    return [outcome(row, c, v) for row in ("near", "far") for c, v in (("previous", 0.8), ("nkp24", value))]


def test_an_untrusted_run_never_counts(small: str) -> None:
    good = all_of(0.9)
    summaries, verdict = judged(small, good)
    assert verdict.verdict == "pass"
    late = outcome("near", "nkp24", 99.0, "untrusted", repetition=2)
    summaries, verdict = judged(small, [*good, late])
    assert summaries[0].spread("nkp24") == Spread.of([0.9])
    assert summaries[0].states["nkp24"] == "untrusted"
    assert verdict.verdict == "untrusted"
    assert "row near nkp24 #2" in verdict.trust.reasons[0]


def test_a_run_that_fails_its_own_checks_fails_the_table(small: str) -> None:
    _, verdict = judged(small, [*all_of(0.9), outcome("far", "nkp24", 1.0, "fail", repetition=2)])
    assert verdict.verdict == "fail"
    assert "Row far nkp24 #2" in verdict.checks[0].reason
    both = [outcome(row, "nkp24", 1.0, "fail", repetition=2) for row in ("near", "far")]
    reason = judged(small, [*all_of(0.9), *both])[1].checks[0].reason
    assert reason == "4 of 6 runs hold their own checks. Row near nkp24 #2: late Row far nkp24 #2: late"


def test_only_part_of_a_table_may_leave_checks_open(small: str) -> None:
    some = [o for o in all_of(0.9) if o.at["row"] == "near"]
    assert judged(small, some)[1].verdict == "fail"
    assert judged(small, some, partial=True)[1].verdict == "pass"
    assert judged(small, all_of(0.7), partial=True)[1].verdict == "fail"


def test_a_file_of_known_values_without_the_column_is_named(small: str) -> None:
    known = load("speed-table").table.known[0]
    assert read_known(known)["7"]["current"] == "1.798"
    with raises(
        BadInput, "table.known-no-column", source="published", file="data/published/nkp0024-speed.csv", column="nkp"
    ):
        read_known(known.model_copy(update={"columns": {"nkp24": "nkp"}}))


def test_a_file_of_known_values_is_found_by_the_former_name_of_its_folder() -> None:
    known = load("speed-table").table.known[0]
    former = known.model_copy(update={"file": known.file.removeprefix("data/")})
    assert former.file.startswith("published/")
    assert read_known(former) == read_known(known)
    with raises(BadInput, "table.known-no-file", source="published", file="published/other.csv"):
        read_known(known.model_copy(update={"file": "published/other.csv"}))


def test_findings_are_filled_in_with_what_was_measured() -> None:
    row = row_of([], nkp24=1.0, previous=0.5)
    text = "{1.nkp24} over {1.previous} is {1.nkp24/previous}; {2.nkp24}"
    assert filled_in(text, [row]) == "1.000 over 0.500 is 2.00; (not run)"


def test_the_report_is_made_from_the_folder_alone(small: str, tmp_path: Path) -> None:
    summaries, verdict = judged(small, all_of(0.9))
    document = {
        "schema": 2,
        "name": "small",
        "run": "r",
        "title": "T",
        "source": "",
        "description": "",
        "figures": [GOODPUT],
        "engine": "mininet",
        "quick": False,
        "repeat": 1,
        "overrides": [],
        "columns": ["previous", "nkp24"],
        "rows": [asdict(s) for s in summaries],
        "ratios": [["nkp24", "previous"]],
        "findings": ["{near.nkp24}"],
        "outcomes": outcomes_of(all_of(0.9)),
    }
    (tmp_path / "table.json").write_text(json.dumps(document))
    (tmp_path / "verdict.json").write_text(json.dumps(verdict.to_json()))
    page = write_table(tmp_path)
    text = page.read_text()
    assert "<b>0.900</b>" in text
    assert "1.12" in text  # 0.9 / 0.8
    assert "<svg" in text
    assert write_table(tmp_path).read_text() == text
    for status in words.STATUS:  # a check may come to any of them
        checks = [check.model_copy(update={"status": status}) for check in verdict.checks]
        (tmp_path / "verdict.json").write_text(json.dumps(verdict.model_copy(update={"checks": checks}).to_json()))
        assert f'class="status {status}">{escape(words.STATUS[status])}<' in write_table(tmp_path).read_text()
    assert "Smallest distance" not in text  # of single runs it is unknown
    seen = {"least_seen": {"relative": 0.0219, "n": 4, "sigma": 0.0135, "runs": 4}}
    checks = [check.model_copy(update={"figures": seen}) for check in verdict.checks]
    (tmp_path / "verdict.json").write_text(json.dumps(verdict.model_copy(update={"checks": checks}).to_json()))
    told = "this many runs would show (80% power): 2.2% of the figure, of 4 runs, σ 1.4%."
    assert write_table(tmp_path).read_text().count(told) == len(checks)
    write_csv(summaries, ["previous", "nkp24"], tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["row"], r["column"], r["median"]) for r in rows][:2] == [
        ("near", "previous", "0.8000"),
        ("near", "nkp24", "0.9000"),
    ]
