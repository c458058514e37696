"""Expected failures: what fails as is known counts as a pass, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import paths
from testbed.documents import write_json
from testbed.errors import BadInput
from testbed.judge import expected_failures
from testbed.judge.checks.registry import FACTS
from testbed.judge.checks.result import CheckResult, Verdict
from testbed.judge.expected_failures import ExpectedFailure, ExpectedFailures, Listed, counts, read
from testbed.judge.intervals import Interval
from testbed.judge.status import Status
from testbed.judge.verify import unlisted
from testbed.scenario.quick import variant_of
from testbed.study.checks import claims as claims
from testbed.study.checks.claims import Judged
from testbed.study.checks.table import judge_one, judge_table
from testbed.study.kinds import table_file
from testbed.study.kinds.claims_file import OF_A_SOURCE, load
from testbed.study.kinds.table_file import Table
from testbed.study.kinds.table_result import Place, RowSummary, Spread, missing, outcomes_of, results_of, summaries_of
from tests.raises import raises
from tests.tables.cells import cell_result
from tools import expected_failures as tool

KNOWN = ExpectedFailure(claim="theirs", cause="a cap", measured={"measured": (6.0, 6.5), "near a": (6.0, 6.5)})
TABLE = Table.model_validate(
    {
        "name": "small",
        "title": "t",
        "figures": ["rate_mbps"],
        "cells": {},
        "rows": [{"name": "near"}, {"name": "far"}],
        "columns": [{"name": "a"}],
        "checks": [
            {"name": "theirs", "judge": "within", "columns": ["a"], "rows": ["near"], "max": 5},
            {"name": "ours", "judge": "within", "columns": ["a"], "rows": ["far"], "max": 5},
        ],
    }
)


def result(status: Any = "fail", measured: Any = 6.2, **of: Any) -> CheckResult:
    return CheckResult(name="theirs", judge="level", status=status, measured=measured, reason="It is.", **of)


def table(near: list[float], far: list[float], *, word: Any = "pass", **of: Any) -> Verdict:
    """The verdict of the small table, whose check “theirs” is known to fail."""
    rows = [
        RowSummary(name, name, "", {}, {"rate_mbps": {"a": Spread.of(values)}}, {"a": Status.PASS}, [])
        for name, values in (("near", near), ("far", far))
    ]
    runs = [
        cell_result(name, "a", number, word, {"rate_mbps": value}, 1.0, "" if word == "pass" else "it broke", "r")
        for name, values in (("near", near), ("far", far))
        for number, value in enumerate(values, 1)
    ]
    expected = of.pop("expected", {"theirs": KNOWN})
    return judge_table(TABLE.name, TABLE.checks, "r", rows, of.pop("runs", runs), partial=False, expected=expected)


@pytest.mark.parametrize(
    ("status", "measured", "figures", "outcome", "part"),
    [
        ("fail", 6.2, {}, "xfail", "pass"),
        ("fail", 6.0, {}, "xfail", "pass"),
        ("fail", 5.9, {}, "fail", "fail"),
        ("fail", 6.6, {}, "fail", "fail"),
        ("fail", 6.2, {"interval": [6.1, 6.3, 0.75]}, "xfail", "pass"),
        ("fail", 6.2, {"interval": [5.9, 6.3, 0.75]}, None, "inconclusive"),
        ("fail", 6.2, {"interval": [6.6, 6.9, 0.75]}, "fail", "fail"),
        ("fail", "a text", {}, "fail", "fail"),
        ("fail", None, {}, "fail", "fail"),
        ("pass", 4.0, {}, "xpass", "fail"),
        ("inconclusive", 6.2, {}, None, "inconclusive"),
        ("insufficient-data", 6.2, {}, None, "insufficient-data"),
        ("missing", 6.2, {}, None, "missing"),
        ("error", 6.2, {}, None, "error"),
        ("untrusted", 6.2, {}, None, "untrusted"),
        ("skipped", None, {}, None, "skipped"),
    ],
)
def test_only_a_failure_within_what_is_measured_is_as_expected(
    status: str, measured: Any, figures: dict[str, Any], outcome: str | None, part: str
) -> None:
    found = result(status, measured, figures=figures).expected_to_fail(KNOWN)
    assert (found.outcome, found.part) == (outcome, part)
    assert found.status == ("inconclusive" if part == "inconclusive" else status), "the status stays"
    assert found.xfail == KNOWN


def test_without_an_expectation_nothing_changes_in_a_result_or_in_its_document() -> None:
    plain = result()
    assert plain.expected_to_fail(None) is plain
    assert not {"outcome", "xfail"} & plain.model_dump().keys()
    found = plain.expected_to_fail(KNOWN)
    assert CheckResult.model_validate_json(found.model_dump_json()) == found
    assert plain.part == "fail"


def test_an_unexpected_pass_passes_only_where_it_may() -> None:
    assert result("pass", 4.0).expected_to_fail(KNOWN.model_copy(update={"strict": False})).part == "pass"


def test_a_table_with_an_expected_failure_passes_and_names_it() -> None:
    found = table([6.1, 6.2, 6.3], [4.0, 4.0, 4.1])
    assert found.verdict == "pass"
    assert found.counts == "2 pass, 1 xfail: the source's figures, docs/verdicts.md"
    assert "“theirs” fails, as expected" in found.summary
    again = Verdict.from_json(json.loads(json.dumps(found.to_json())))
    assert again.expected == {"theirs": KNOWN}, "it is judged again by what was expected then"
    assert table([6.1, 6.2, 6.3], [4.0], expected={}).verdict == "fail"
    assert table([4.0], [4.0], expected={}).counts == ""


@pytest.mark.parametrize(
    ("saboteur", "near", "far"),
    [
        ("a regression that hides behind an expected failure", [3 * 6.2] * 3, [4.0] * 3),
        ("one of the other checks", [6.2] * 3, [6.2] * 3),
        ("an unexpected pass counted as a pass", [4.0] * 3, [4.0] * 3),
        ("one run in three elsewhere", [6.1, 6.2, 7.0], [4.0] * 3),
    ],
)
def test_nothing_else_passes(saboteur: str, near: list[float], far: list[float]) -> None:
    assert table(near, far).verdict == "fail", saboteur


@pytest.mark.parametrize("word", ["fail", "untrusted", "missing", "unsupported"])
def test_no_run_that_does_not_count_hides_behind_an_expected_failure(word: Any) -> None:
    found = table([6.2] * 3, [4.0] * 3, word=word)
    assert found.verdict != "pass"
    assert all(check.outcome is None for check in found.checks if check.name == "theirs")


def test_a_cell_that_is_missing_does_not_either() -> None:
    runs = [missing(Place("near", "a", 1)), cell_result("far", "a", 1, Status.PASS, {"rate_mbps": 4.0}, 1.0, "", "r")]
    assert table([6.2], [4.0], runs=runs).verdict == "fail"


@pytest.mark.parametrize(
    ("statuses", "judge", "outcome", "part"),
    [
        (["fail", "fail", "fail"], "level", "xfail", "pass"),
        (["fail", "pass", "fail"], "level", None, "inconclusive"),
        (["fail", "fail", "error"], "level", None, "fail"),
        (["fail", "fail", "fail"], sorted(FACTS)[0], None, "fail"),
        (["pass", "pass", "pass"], "level", "xpass", "fail"),
    ],
)
def test_a_repeated_scenario(statuses: list[str], judge: str, outcome: str | None, part: str) -> None:
    checks = [
        {"law": {"judge": judge, "status": status, "measured": 6.2, "expected": "a text", "tolerance": None}}
        for status in statuses
    ]
    runs = [
        cell_result("repeated", "runs", number, Status.FAIL, {}, 1.0, "", "r", 1, found)
        for number, found in enumerate(checks, 1)
    ]
    check = Table.model_validate(
        {
            **TABLE.model_dump(exclude={"checks"}, exclude_none=True),
            "checks": [{"name": "theirs", "judge": "each_run", "check": "law"}],
        }
    ).checks[0]
    found = judge_one(check, [], runs, expected=KNOWN)
    assert (found.outcome, found.part) == (outcome, part)


LIMITS = st.tuples(st.floats(-1e3, 1e3), st.floats(0, 1e3)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(LIMITS, LIMITS, st.floats(0, 10))
def test_a_wider_interval_never_makes_a_failure_worse_nor_a_narrower_one_better(
    limits: tuple[float, float], found: tuple[float, float], by: float
) -> None:
    order = ["fail", "inconclusive", "pass"]
    places = {"measured": (found[0], Interval(*found, 0.75))}
    narrow = ExpectedFailure(claim="x", cause="y", measured={"measured": limits})
    wide = ExpectedFailure(claim="x", cause="y", measured={"measured": (limits[0] - by, limits[1] + by)})
    assert order.index(wide.where(places)) >= order.index(narrow.where(places))


def test_what_is_not_listed_is_not_expected() -> None:
    assert KNOWN.where({}) == "fail"
    assert KNOWN.where({"measured": (6.2, None), "far a": (6.2, None)}) == "fail"


def test_the_list_is_what_the_claims_and_the_references_give(tmp_path: Path) -> None:
    """Fails where an entry is new, has another cause, or is wider or narrower than the references are."""
    text = expected_failures.FILE.read_text(encoding="utf-8")
    write_json(tmp_path / "made.json", tool.made(load()).model_dump(mode="json"))
    assert text == (tmp_path / "made.json").read_text(encoding="utf-8"), "python -m tools.expected_failures makes it"


def test_only_sentences_of_a_source_are_listed_each_with_its_cause() -> None:
    known, listed = load().claims, read().claims
    assert listed.keys() == {name for name, claim in known.items() if claim.xfail}
    assert listed
    for name, entry in listed.items():
        claim = known[name]
        assert claim.kind in OF_A_SOURCE
        assert claim.source != "own"
        assert claim.xfail
        assert entry.cause == " ".join(claim.xfail.cause.split())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cause": " "}, "claims.x.cause"),
        ({"cause": None}, "claims.x.cause"),
        ({"checks": {"c": {"sim": {"full": {"p": [1.0]}}}}}, "claims.x.checks.c.sim.full.p.1"),
        ({"until": "2027"}, "claims.x.until"),
    ],
)
def test_an_entry_without_a_cause_or_limits_is_refused(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    entry = {"run": "r", "cause": "a cap", "strict": True, "checks": {"c": {"sim": {"full": {"p": [1.0, 2.0]}}}}}
    path = tmp_path / "expected-failures.json"
    path.write_text(json.dumps({"about": "a", "claims": {"x": entry}}))
    assert read(path).of_run("r", "sim", "full")["c"].measured == {"p": (1.0, 2.0)}
    read.cache_clear()
    path.write_text(json.dumps({"about": "a", "claims": {"x": entry | change}}))
    with raises(BadInput, "expected-failures.bad-entry", where=field):
        read(path)


def test_nothing_is_expected_of_another_set_up_and_no_figure_of_another_engine_or_form() -> None:
    listed = Listed(run="r", cause="a cap", strict=True, checks={"c": {"sim": {"full": {"p": (1.0, 2.0)}}}})
    file = ExpectedFailures(about="a", claims={"x": listed})
    assert file.of_run("r", "sim", "changed") == {}
    assert file.of_run("other", "sim", "full") == {}
    for engine, form in (("sim", "quick"), ("vkernel", "full")):
        assert file.of_run("r", engine, form)["c"].measured == {}
    assert file.of_claim("x", "sim", "full", "c") == file.of_run("r", "sim", "full")["c"]
    assert file.of_claim("x", "sim", "full") is None
    assert file.of_claim("y", "sim", "full", "c") is None


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        (["pass", "pass", "fail"], ""),
        (["pass", "xfail", "pass", "skipped"], "2 pass, 1 xfail"),
        (["xfail", "xpass", "fail"], "1 xfail, 1 xpass, 1 fail"),
    ],
)
def test_the_last_line_counts_outcomes_where_one_is_not_as_its_status(outcomes: list[str], told: str) -> None:
    assert counts(outcomes) == told


CLAIM = Judged(
    id="x", source="them", kind="claim", text="t", verdict=Status.FAIL, reason="r", run="r", command="c", check="k",
    published="", expected="e", tolerance="", why="w", reproduces=False, outcome="xfail",
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "part", "counted"),
    [
        ({}, "pass", "xfail"),
        ({"outcome": "fail"}, "fail", "fail"),
        ({"outcome": "xpass", "verdict": "pass"}, "fail", "xpass"),
        ({"outcome": "xpass", "verdict": "pass", "by_chance": True}, "pass", "xpass"),
        ({"outcome": None, "verdict": "inconclusive"}, "inconclusive", None),
        ({"outcome": None, "reproduces": True}, "fail", "fail"),
        ({"outcome": None, "reproduces": True, "kind": "measurement"}, "skipped", None),
        ({"outcome": None, "reproduces": True, "kind": "measurement", "verdict": "error"}, "error", None),
    ],
)
def test_of_all_claims_only_an_expected_failure_as_measured_passes(
    change: dict[str, Any], part: str, counted: str | None
) -> None:
    found = replace(CLAIM, **change)
    assert (found.part, found.counted_as) == (part, counted)
    assert claims.verdict_of(
        [found, replace(CLAIM, reproduces=True, verdict=Status.PASS, outcome=None)], quick=False
    ) == ("pass" if part in ("pass", "skipped") else "fail")


def test_the_reference_widens_by_what_it_spreads(tmp_path: Path) -> None:
    one = tool.Reference("x", "c", "p", "vkernel", "full", 10.0, 11.0, 3)
    assert tool._limits("x", "c", [one])["vkernel"]["full"]["p"] == pytest.approx((9.0, 12.0), abs=3e-6)
    alike = one._replace(high=10.0)
    assert tool._limits("x", "c", [alike])["vkernel"]["full"]["p"] == pytest.approx((9.99, 10.01), abs=3e-6)
    assert tool._limits("x", "c", [alike._replace(engine="sim")])["sim"]["full"]["p"] == pytest.approx(
        (10.0, 10.0), abs=3e-6
    )
    single = one._replace(engine="mininet", form="quick", low=20.0, high=20.0, runs=1)
    found = tool._limits("x", "c", [one, single])
    assert found["mininet"]["quick"]["p"] == pytest.approx((18.0, 22.0), abs=1e-5)
    guest = single._replace(engine="vkernel", low=25.0, high=25.0)
    found = tool._limits("x", "c", [one, single, guest])
    assert found["mininet"]["quick"]["p"] == pytest.approx((15.0, 25.0), abs=1e-5), "real packets differ by more"
    assert found["vkernel"]["quick"]["p"] == pytest.approx((22.5, 27.5), abs=1e-5)
    assert tool._limits("x", "c", []) == {}


def test_of_a_ratio_the_reference_spans_its_pairs_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both rows scatter by a third from seed to seed, and together: their ratio by a hundredth."""
    near, far = [6.0, 8.0, 7.0], [3.0, 4.0, 3.47]
    check = {"name": "theirs", "judge": "row_ratio", "row": "near", "over": "far", "columns": ["a"], "max": 1}
    small = Table.model_validate({**TABLE.model_dump(exclude={"checks"}, exclude_none=True), "checks": [check]})
    claim = load().claims["ndn-udp-rtt"].model_copy(update={"check": "theirs", "judge": None})
    monkeypatch.setattr(table_file, "load", lambda *_, **__: LoadedSmall(small))
    document = document_of({"near": near, "far": far})
    found = tool._judged_again("x", claim, "theirs", document)
    ((low, high),) = [interval[:2] for _, interval in found.failing.values() if interval]
    assert (low, high) == (2.0, round(7 / 3.47, 6))
    medians = judge_one(small.checks[0], summaries_of(document), results_of(document))
    ((wider, widest),) = [interval[:2] for _, interval in medians.failing.values() if interval]
    assert (wider, widest) == (1.5, 8 / 3), "what medians alone would allow"


class LoadedSmall(NamedTuple):
    table: Table


def document_of(values: dict[str, list[float]]) -> dict[str, Any]:
    """A ``table.json`` of the small table."""
    rows = [
        RowSummary(name, name, "", {}, {"rate_mbps": {"a": Spread.of(of)}}, {"a": Status.PASS}, [])
        for name, of in values.items()
    ]
    runs = [
        cell_result(name, "a", number, Status.PASS, {"rate_mbps": value}, 1.0, "", "r")
        for name, of in values.items()
        for number, value in enumerate(of, 1)
    ]
    return {"name": "small", "quick": False, "rows": list(map(asdict, rows)), "outcomes": outcomes_of(runs)}


@pytest.mark.parametrize(
    "forged",
    [{"measured": {"measured": (0.0, 1.0)}}, {"cause": "another"}, {"strict": False}, {"claim": "nkp24-speed-row7"}],
)
def test_an_expected_failure_that_is_written_over_is_seen(forged: dict[str, Any]) -> None:
    run, name = "speed-table", "nkp24-speed-row7-previous"
    listed = read().of_run(run, "sim", "full")[name]
    assert listed.measured["7 previous"][1] < 1

    def recorded(expected: ExpectedFailure, check: str = name) -> Verdict:
        found = CheckResult(name=check, judge="level", status="fail", reason="", xfail=expected)
        return table([4.0], [4.0], expected={}).model_copy(update={"checks": [found]})

    assert not list(unlisted(run, "sim", "full", recorded(listed)))
    for verdict in (recorded(listed.model_copy(update=forged)), recorded(listed, "as published")):
        assert [found.code for found in unlisted(run, "sim", "full", verdict)] == ["difference.expected-failure"]


@pytest.mark.parametrize(
    ("shipped", "changed"),
    [(paths.SCENARIOS / "tables" / "bdp-window.yaml", lambda file: table_file.load(file).changed)],
    ids=["a table"],
)
def test_a_file_of_the_users_own_with_a_shipped_name_has_no_expected_failure(
    tmp_path: Path, shipped: Path, changed: Callable[[str], bool]
) -> None:
    own = tmp_path / shipped.name
    own.write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    forms = [variant_of(changed=changed(str(file)), quick=False) for file in (own, shipped)]
    assert forms == ["changed", "full"]
    of_run = expected_failures.read().of_run
    assert of_run(shipped.stem, "vkernel", forms[1])
    assert not of_run(shipped.stem, "vkernel", forms[0])
