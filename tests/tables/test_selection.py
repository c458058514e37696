"""Some rows and columns of a table: what is judged over them, and that the result says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from testbed.errors import BadInput
from testbed.judge.checks.result import NOT_SELECTED, SELECTED, Verdict
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.status import Status
from testbed.study.checks.table import judge_table
from testbed.study.kinds import table as table_run
from testbed.study.kinds.table import TableRequest, summarise
from testbed.study.kinds.table_file import Table, load, refuse_without_effect
from testbed.study.record import CellResult
from testbed.study.verify import Verification, VerifyRequest, verify
from tests.tables.cells import cell_result

ROWS, COLUMNS = ["near", "far", "out"], ["a", "b", "c"]
RATIO = {"judge": "ratio", "column": "a", "over": "b", "min": 0.5}
WITHIN = {"judge": "within", "columns": ["a", "b"], "max": 2.0, "rows": ["near", "far"]}
ROW_RATIO = {"judge": "row_ratio", "row": "far", "over": "near", "columns": ["a", "b"], "max": 5}
RISES = {"judge": "rises", "column": "a", "over": "b"}
SLOPE: dict[str, Any] = {"judge": "slope", "x": "rate_mbps", "columns": ["a", "b"], "min": 0, "max": 3}
OWN = {"judge": "each_run", "check": "own"}
CHECKS: dict[str, dict[str, Any]] = {
    "ratio": RATIO,
    "within": WITHIN,
    "row over row": ROW_RATIO,
    "rises": RISES,
    "slope": SLOPE,
    "own": OWN,
}


def table_of(*names: str, rows: list[str] = ROWS) -> Table:
    return TypeAdapter(Table).validate_python(
        {
            "name": "small",
            "title": "t",
            "cells": {},
            "figures": ["rate_mbps"],
            "rows": [{"name": row} for row in rows],
            "columns": [{"name": column} for column in COLUMNS],
            "checks": [{"name": name, **CHECKS[name]} for name in names],
        }
    )


def judged(
    table: Table,
    rows: list[str],
    columns: list[str],
    value: Any = lambda _row, _column: 1.0,
    *,
    status: str = "pass",
    selection: bool = True,
    expected: dict[str, ExpectedFailure] | None = None,
) -> Verdict:
    own = {"own": {"judge": "within", "status": "pass", "measured": 1.0, "expected": "1 to 2", "tolerance": None}}
    cells: list[CellResult] = [
        cell_result(r, c, 1, status, dict.fromkeys(table.figures, value(r, c)), 1.0, "", "x", checks=own)
        for r in rows
        for c in columns
    ]
    summaries = summarise(table, rows, columns, {row: {} for row in rows}, cells)
    every = [row.name for row in table.rows] if selection else None
    return judge_table(
        "small", table.checks, "r", summaries, cells, partial=selection, every_row=every, expected=expected
    )


def statuses(verdict: Verdict) -> dict[str, str]:
    return {check.name: check.status for check in verdict.checks if check.judge != "cells"}


def test_one_row_of_the_suite_and_two_columns_say_what_they_are_about() -> None:
    found = judged(load("cc-suite").table, ["one"], ["reno", "cubic"])
    assert found.verdict == "pass"
    assert found.summary == "2 of 2 checks of the selection hold; 10 need rows or columns that were not selected."
    assert found.counts == "a selection: 2 of 12 checks"
    assert {check.status for check in found.checks} == {"pass", "skipped"}
    assert not any("no column" in check.reason for check in found.checks)
    assert found.checks[2].reason == "Skipped: it needs what was not selected, rows quarter, half."


@pytest.mark.parametrize(
    ("rows", "columns", "skipped"),
    [
        (ROWS, ["a", "b"], set()),
        (ROWS, ["b"], {"ratio", "rises", "slope"}),
        (ROWS, ["c"], {"ratio", "rises", "slope", "within", "row over row"}),
        (["near"], COLUMNS, {"row over row", "rises", "slope"}),
        (["out"], COLUMNS, {"row over row", "rises", "slope", "within"}),
    ],
)
def test_a_rule_over_all_takes_all_and_others_what_is_there(
    rows: list[str], columns: list[str], skipped: set[str]
) -> None:
    found = judged(table_of(*CHECKS), rows, columns)
    apart = {check.name for check in found.checks if check.code == NOT_SELECTED}
    assert apart == skipped
    assert {check.name for check in found.checks if check.status == Status.SKIPPED} == skipped


def test_a_check_over_some_of_its_columns_says_so() -> None:
    found = judged(table_of("within"), ["near"], ["a"]).checks[1]
    assert (found.status, found.code, found.measured) == ("pass", SELECTED, "1 of 1")
    assert found.reason.startswith("Over the selection alone: Holds: row near a 1 Mbit/s.")
    assert judged(table_of("within"), ["near"], ["a"], lambda *_: 9.0).verdict == "fail"


def test_a_selection_that_decides_nothing_does_not_pass() -> None:
    found = judged(table_of("ratio", "rises"), ["near"], ["c"])
    assert statuses(found) == {"ratio": "skipped", "rises": "skipped", "the selection": "insufficient-data"}
    assert found.verdict == "fail"
    nothing = judged(table_of("within"), ["near"], ["a"], lambda *_: None, status="unsupported")
    assert nothing.verdict == "fail"


@pytest.mark.parametrize(
    ("rows", "columns", "known", "verdict"),
    [
        (["near"], ["a"], [], "pass"),
        (["near"], ["a", "b"], [], "pass"),
        (["near", "far"], ["a"], [], "pass"),
        (["near", "far"], ["a", "b"], [], "fail"),
        (["near"], ["a"], ["near b", "far a"], "pass"),
        (["near"], ["a"], ["near a", "far a"], "fail"),
    ],
)
def test_what_is_known_to_fail_in_another_place_does_not_pass_unexpectedly(
    rows: list[str], columns: list[str], known: list[str], verdict: str
) -> None:
    expected = {"within": ExpectedFailure(claim="c", cause="it does", measured=dict.fromkeys(known, (8.0, 9.0)))}
    assert judged(table_of("within"), rows, columns, expected=expected).verdict == verdict


some_values = st.lists(st.sampled_from([0.2, 1.0, 3.0, 9.0]), min_size=9, max_size=9)


@given(
    some_values,
    st.sets(st.sampled_from(ROWS), min_size=1),
    st.sets(st.sampled_from(COLUMNS), min_size=1),
    st.sets(st.sampled_from(sorted(CHECKS)), min_size=1),
)
def test_a_selection_of_what_fails_never_passes_as_a_whole(
    values: list[float], rows: set[str], columns: set[str], names: set[str]
) -> None:
    def value(row: str, column: str) -> float:
        return values[ROWS.index(row) * 3 + COLUMNS.index(column)]

    table = table_of(*sorted(names))
    whole = judged(table, ROWS, COLUMNS, value, selection=False)
    some = judged(table, [r for r in ROWS if r in rows], [c for c in COLUMNS if c in columns], value)
    assert "a selection" in some.counts
    assert "of the selection" in some.summary
    if some.verdict == Status.PASS:
        assert Status.PASS in statuses(some).values()
    before = statuses(whole)
    if some.verdict == Status.FAIL and whole.verdict == Status.PASS:  # only as it decides nothing
        assert set(statuses(some).values()) <= {"skipped", "insufficient-data", "inconclusive"}
    for check in some.checks:
        if check.code not in (NOT_SELECTED, SELECTED) and check.name in before:
            assert check.status == before[check.name]  # what is wholly in it is judged as in the whole


SMALL = """\
name: small
title: Two rows
cells:
  links: [{name: a, rate: 1024pps, delay: 5ms}, {name: b, rate: 512pps, delay: 5ms}]
  ncp: {policy: nkp24, transfer: 256KiB}
  checks: [{name: payload, judge: payload_intact}]
rows: [{name: near}, {name: far}]
columns:
  - {name: previous, set: {ncp.policy: previous}}
  - {name: nkp24, set: {ncp.policy: nkp24}}
checks:
  - {name: fast, judge: within, columns: [previous, nkp24], min: 0.01}
  - {name: faster, judge: ratio, column: nkp24, over: previous, min: 0.1}
"""


@pytest.fixture(scope="module")
def selected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A selection's result folder."""
    home = tmp_path_factory.mktemp("selected")
    (home / "small.yaml").write_text(SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(home / "results"))
        request = TableRequest(repeat=1, rows="near", columns="nkp24", engine="sim")
        verdict, folder = table_run.run(load(str(home / "small.yaml")), request)
    assert verdict.counts == "a selection: 2 of 3 checks"
    return folder


def verified(folder: Path, into: Path, *, same_code: bool = True) -> Verification:
    return verify(VerifyRequest(folder, into, rerun=False, same_code=same_code))


def test_a_selection_is_confirmed_as_one(selected: Path, tmp_path: Path) -> None:
    found = verified(selected, tmp_path / "again")
    assert [*found.differences, *found.scope] == ["a selection: 2 of 3 checks"]


def test_a_selection_of_earlier_versions_is_incomplete_and_today_s_words_are_told(
    selected: Path, tmp_path: Path
) -> None:
    study, recorded = selected / "study.json", selected / "verdict.json"
    before = study.read_text(), recorded.read_text()
    try:
        document = json.loads(before[0])
        study.write_text(json.dumps({key: value for key, value in document.items() if key != "as_selection"}))
        verified(selected, tmp_path / "first", same_code=False)
        recorded.write_text((tmp_path / "first" / "verdict.json").read_text())
        assert [check["status"] for check in json.loads(recorded.read_text())["checks"]] == [
            "pass",
            "insufficient-data",
            "insufficient-data",
        ]
        found = verified(selected, tmp_path / "again", same_code=False)
        assert [*found.differences, *found.scope] == ["a selection: 2 of 3 checks"]
        assert "2 of 2 checks of the selection hold" in str(found.unchecked[0])
        assert verified(selected, tmp_path / "of-this-code").differences
        study.write_text(json.dumps(document | {"whole": True}))  # a whole that it is not
        assert verified(selected, tmp_path / "forged").scope
    finally:
        study.write_text(before[0])
        recorded.write_text(before[1])


def test_what_a_column_sets_can_not_be_set_without_effect() -> None:
    for name, column in (("queue-sizes", "previous"), ("multipath-table", "policies")):
        with pytest.raises(BadInput, match=f"--set policy=blest: has no effect, as column {column} of {name} sets"):
            refuse_without_effect(load(name), ["policy=blest"])
        refuse_without_effect(load(name), ["send_window=1MiB"])
