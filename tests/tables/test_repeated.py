"""A scenario that is repeated: its own checks over all runs, by interval or by vote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import BadInput
from testbed.judge import expected_failures
from testbed.judge.status import Status
from testbed.study.checks.each_run import EachRunCheck, judge_each_run
from testbed.study.checks.table import judge_runs
from testbed.study.kinds import table as table_run
from testbed.study.kinds.table import TableRequest, select, variant
from testbed.study.kinds.table_file import first_run, repeated, scenario_of
from testbed.study.kinds.table_result import COLUMN, ROW, Place, missing, read_table
from testbed.study.record import CellResult
from testbed.study.verify import VerifyRequest, verify
from tests.raises import raises
from tests.said import Saying, all_codes, has
from tests.tables.cells import cell_result, changed

CHECK = EachRunCheck(name="law", judge="each_run", check="law")


def runs(
    *found: tuple[str, Any], verdict: Any = "pass", expected: Any = 0.0, tolerance: Any = 0.03
) -> list[CellResult]:
    return [
        cell_result(
            "r",
            "c",
            number,
            verdict,
            {},
            1.0,
            "",
            "x",
            1,
            {"law": {"status": status, "measured": measured, "expected": expected, "tolerance": tolerance}},
        )
        for number, (status, measured) in enumerate(found, start=1)
    ]


@pytest.mark.parametrize(
    ("found", "status"),
    [
        ([("pass", 0.01), ("pass", 0.02), ("pass", 0.02)], "pass"),
        ([("pass", 0.01), ("pass", 0.02), ("fail", 0.04)], "inconclusive"),
        ([("fail", 0.05), ("fail", 0.04), ("fail", 0.06)], "fail"),
        ([("pass", 0.01)] * 30 + [("fail", 0.04)], "pass"),  # the median's interval leaves one in thirty out
        ([("pass", 0.01), ("fail", 0.04)], "inconclusive"),  # too few for an interval: by vote
        ([("pass", 0.01)], "pass"),
        ([("skipped", None)] * 3, "skipped"),
        ([("insufficient-data", None)] * 3, "insufficient-data"),
        ([("error", None)] * 3, "error"),
        ([], "missing"),
    ],
)
def test_a_figure_with_a_tolerance_is_judged_by_its_interval(found: list[tuple[str, Any]], status: str) -> None:
    assert judge_each_run(CHECK, runs(*found)).status == status


@pytest.mark.parametrize(
    ("found", "status"), [(["pass"] * 3, "pass"), (["pass", "fail", "pass"], "inconclusive"), (["fail"] * 3, "fail")]
)
def test_limits_in_words_are_judged_by_vote(found: list[str], status: str) -> None:
    result = judge_each_run(CHECK, runs(*((s, 8.0) for s in found), expected="7 to 9", tolerance=None))
    assert result.status == status
    assert result.figures["interval"] == [8.0, 8.0, 0.75]
    assert "a 75% interval" in result.reason


def test_runs_that_each_ask_for_something_else_are_judged_by_vote() -> None:
    points = [*runs(("pass", 100), expected=100, tolerance=0), *runs(("pass", 90), expected=90, tolerance=0)]
    points += runs(("pass", 110), expected=110, tolerance=0)
    assert judge_each_run(CHECK, points).status == "pass"


@pytest.mark.parametrize(
    ("other", "status"),
    [
        (runs(("fail", 0.9), verdict="untrusted"), "untrusted"),
        (runs(("error", None), verdict="fail"), "error"),
        (runs(("insufficient-data", None)), "insufficient-data"),
        ([missing(Place("r", "c", 3))], "missing"),
        ([cell_result("r", "c", 3, Status.UNSUPPORTED, {}, None, "no such kernel", "", 0)], "unsupported"),
        ([changed(runs(("pass", 0.01))[0], checks={})], "missing"),
    ],
)
def test_a_run_that_does_not_count_stays_in_the_count(other: list[CellResult], status: str) -> None:
    result = judge_each_run(CHECK, [*runs(("pass", 0.01), ("pass", 0.02)), *other])
    assert result.status == status
    assert all_codes(result.said) == ["runs.hold", "runs.others", "runs.median", "runs.too-few"]
    assert has(result.said, "held, runs", [2, 3])
    assert " 1 " in str(result.said.further[0])


@pytest.mark.parametrize("good", [3, 30])
def test_a_fact_that_fails_in_one_run_fails_whatever_the_interval_says(good: int) -> None:
    found = runs(*[("pass", 100)] * good, ("fail", 99), expected=100, tolerance=0.0)
    for run in found:
        run.record.checks["law"]["judge"] = "payload_intact"
    assert judge_each_run(CHECK, found).status == "fail"


def test_a_run_that_failed_for_something_else_than_its_number_is_not_overruled_by_it() -> None:
    found = runs(*[("pass", 0.01)] * 9, ("fail", 0.01))
    assert judge_each_run(CHECK, found).status == "inconclusive"
    assert judge_each_run(CHECK, runs(*[("fail", 0.01)] * 3)).status == "fail"


@pytest.mark.parametrize(
    ("measured", "status", "observations"),
    [
        ([0.01] * 6, "pass", 1),
        ([0.04] * 6, "fail", 1),
        ([0.01] * 5 + [0.02], "pass", 6),  # something is left to chance
    ],
)
def test_alike_runs_in_virtual_time_are_one_observation(measured: list[float], status: str, observations: int) -> None:
    real = runs(*(("pass" if value <= 0.03 else "fail", value) for value in measured))
    assert judge_each_run(CHECK, real).figures["observations"] == 6
    result = judge_each_run(CHECK, [changed(run, exact=True) for run in real])
    assert (result.status, result.figures["n"], result.figures["observations"]) == (status, 6, observations)
    assert ("interval" in result.figures) == (observations == 6)
    alike = Saying("runs.one-observation", runs=6)
    assert all_codes(result.said)[:1] == ["runs.hold"]
    assert (alike in result.said.further) == (observations == 1)


def test_seeds_that_all_lose_the_same_packets_are_ignored() -> None:
    alike = [changed(run, exact=True, chance=True) for run in runs(*[("pass", 0.01)] * 3)]
    result = judge_each_run(CHECK, alike)
    assert result.status == "untrusted"
    assert "runs.seed-ignored" in all_codes(result.said)
    assert judge_runs(alike).status == "untrusted"
    others = [changed(run, exact=True, chance=True) for run in runs(("pass", 0.01), ("pass", 0.02), ("pass", 0.02))]
    assert judge_each_run(CHECK, others).status == judge_runs(others).status == "pass"
    assert judge_runs(alike[:1]).status == "pass"


def test_a_run_that_failed_in_another_check_is_judged_by_what_this_one_says() -> None:
    result = judge_each_run(CHECK, runs(*[("pass", 0.01)] * 3, verdict="fail"))
    assert (result.status, result.reason[:22]) == ("pass", "Holds in 3 of 3 runs. ")


def test_runs_that_all_lack_the_check_are_missing() -> None:
    result = judge_each_run(CHECK, [changed(run, checks={}) for run in runs(*[("pass", 0.01)] * 2)])
    assert (result.status, result.measured, result.expected, result.tolerance) == ("missing", None, None, None)
    assert result.reason == (
        "Holds in 0 of 2 runs. Of the others, 2 missing. Fewer than 3 runs say nothing of the spread."
    )


@pytest.mark.parametrize(("expected", "tolerance"), [(8.0, None), ("7 to 9", 0.1)])
def test_a_number_without_a_tolerance_and_words_with_one_are_no_limits(expected: Any, tolerance: Any) -> None:
    result = judge_each_run(CHECK, runs(*[("pass", 8.0)] * 3, expected=expected, tolerance=tolerance))
    assert (result.status, result.expected, result.tolerance) == ("pass", expected, tolerance)


@pytest.mark.parametrize("at_the_limit", [-0.03, 0.03])
def test_what_is_asked_has_its_limits_within(at_the_limit: float) -> None:
    """The run at the limit is judged by its number, so that the interval, which leaves it out, decides."""
    beyond = 0.09 if at_the_limit > 0 else -0.09
    found = runs(("pass", at_the_limit), *[("fail", beyond)] * 9)
    assert judge_each_run(CHECK, found).status == "fail"


def test_what_is_told_of_runs_of_every_kind() -> None:
    found = [
        *runs(("pass", 0.01), ("fail", 0.04), ("pass", 0.02)),
        *runs(("error", None), ("insufficient-data", None)),
        missing(Place("r", "c", 6)),
        cell_result("r", "c", 7, Status.UNSUPPORTED, {}, None, "no such kernel", "", 0),
    ]
    result = judge_each_run(CHECK, found)
    assert result.reason == (
        "Holds in 2 of 7 runs. Of the others, 1 with too little data, 1 can't be made here, 1 missing, 1 broken. "
        "Median 0.0200 [0.0100, 0.0400], a 75% interval."
    )
    assert result.figures == {
        "n": 3,
        "values": [0.01, 0.04, 0.02],
        "interval": [0.01, 0.04, 0.75],
        "observations": 3,
        "least_seen": {"relative": 1.757533, "n": 3, "sigma": 0.693147, "runs": 3, "freedom": 2},
    }
    assert (result.name, result.judge, result.status) == ("law", "each_run", "error")
    assert (result.measured, result.expected, result.tolerance) == (0.02, 0.0, 0.03)


def test_what_is_told_of_two_runs_and_of_none_that_is_asked() -> None:
    few = judge_each_run(CHECK, runs(("pass", 0.01), ("pass", 0.02)))
    assert few.reason == "Holds in 2 of 2 runs. Median 0.0150. Fewer than 3 runs say nothing of the spread."
    assert few.figures == {"n": 2, "values": [0.01, 0.02], "observations": 2}
    none = judge_each_run(CHECK, runs(*[("skipped", None)] * 2))
    assert (none.status, none.reason, none.measured) == ("skipped", "Skipped for this policy.", None)
    assert none.figures == {"n": 2}
    assert (none.name, none.expected, none.tolerance) == ("law", 0.0, 0.03)


def test_a_number_that_is_none_is_no_value() -> None:
    """True is no number, and where one run has none there is no interval."""
    found = judge_each_run(CHECK, runs(("pass", True), ("pass", 0.01), ("pass", 0.02)))
    assert found.figures == {"n": 2, "values": [0.01, 0.02], "observations": 3}
    assert found.status == "pass"
    more = judge_each_run(CHECK, runs(("pass", None), ("pass", 0.01), ("pass", 0.02), ("pass", 0.02)))
    assert "interval" not in more.figures


def test_one_run_is_few_and_no_repetition() -> None:
    found = judge_each_run(CHECK, runs(("pass", 0.01)))
    assert found.reason == "Holds in 1 of 1 runs. Median 0.0100. Fewer than 3 runs say nothing of the spread."


def test_what_is_asked_is_told_from_the_runs_that_were_judged() -> None:
    broken = runs(("error", None), expected=None, tolerance=None)
    found = judge_each_run(CHECK, [*broken, *runs(("pass", 0.01))])
    assert (found.status, found.expected, found.tolerance) == ("error", 0.0, 0.03)


def test_runs_of_which_one_is_not_asked_are_judged_by_the_others() -> None:
    found = judge_each_run(CHECK, runs(("skipped", None), ("pass", 0.01), ("pass", 0.02), ("pass", 0.03)))
    assert (found.status, found.measured) == ("pass", 0.02)
    assert found.reason.startswith("Holds in 3 of 3 runs. Median")


def test_it_is_the_scenario_with_what_is_set_and_the_next_seeds() -> None:
    table = repeated("startup", ["policy=previous"], quick=True, repeat=4, seed=7)
    assert (table.table.repeat, table.table.seed) == (4, 7)
    selection = select(table, TableRequest(), {"previous": {"name": "previous"}})
    (row,), (column,) = selection.rows.values(), selection.columns.values()
    scenario = scenario_of(table, row, column).scenario
    assert scenario.ncp is not None
    assert (scenario.ncp.policy, scenario.ncp.transfer_bytes) == ("previous", 16 << 20)
    assert len(selection.places()) == 4
    with raises(BadInput, "set.no-such-value", name="polcy"):
        repeated("startup", ["polcy=x"], quick=False, repeat=3, seed=None)


def test_three_runs_in_virtual_time_come_to_one_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    table = repeated("startup", [], quick=True, repeat=3, seed=None)
    verdict, _ = table_run.run(table, TableRequest(engine="sim", quick=True))
    assert verdict.verdict == "pass", verdict.summary
    assert {check.judge for check in verdict.checks} == {"each_run"}
    folder = tmp_path / "results" / "startup" / verdict.run
    document = json.loads((folder / "table.json").read_text())
    assert [cell["repetition"] for cell in document["outcomes"]] == [1, 2, 3]
    assert len(list(folder.glob("cells/repeated/runs/*/sim-*/telemetry.lp"))) == 3
    first = first_run(folder)
    assert first is not None
    assert (first / "windows.csv").is_file()
    page = (folder / "report.html").read_text()
    assert "windows follow the law" in page
    # Nothing is left to chance in it: the page and each number's check say that three runs are one observation.
    assert "3 runs, one observation" in page
    assert "Cells that hold, or median" in page
    assert [str(Place(ROW, COLUMN, 2)), str(Place("near", "nkp24", 2))] == ["run #2", "row near nkp24 #2"]
    law = next(check for check in verdict.checks if check.name == "windows follow the law")
    assert "3 runs, one observation" in law.reason
    assert "interval" not in law.figures


def test_an_expected_failure_written_into_a_result_with_changes_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--set`` makes another set-up of it, of which a source said nothing."""
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    name = "link-break-as-published"
    listed = expected_failures.read().of_run("speed-table", "sim", "full")["nkp24-speed-row7"]
    table = repeated(name, ["timeline.1.for=200ms"], quick=True, repeat=2, seed=None)
    verdict, _ = table_run.run(table, TableRequest(engine="sim", quick=True))
    folder = tmp_path / "results" / name / verdict.run
    document = json.loads((folder / "verdict.json").read_text())
    failed = [check for check in document["checks"] if check["status"] == "fail"]
    assert failed
    for check in failed:
        check |= {"outcome": "xfail", "xfail": listed.model_dump(mode="json")}
    (folder / "verdict.json").write_text(json.dumps(document))
    found = verify(VerifyRequest(folder, tmp_path / "again", rerun=False, same_code=True))
    assert variant(read_table(folder), name) == "changed"
    assert "difference.expected-failure" in {difference.code for difference in found.differences}
