"""Each check of a table at and beside its limits: status, figures, reason and all else; and the verdict over all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from testbed.judge.checks.result import Trust
from testbed.study.checks import table as judging
from testbed.study.checks.table import KnownCheck
from testbed.study.kinds.table_file import Table
from testbed.study.kinds.table_result import Place, missing
from testbed.study.record import CellResult
from tests.said import Saying
from tests.tables import results
from tests.tables.results import BOUND, cell, checks, one

RECORDED = json.loads(results.RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", results.CASES)
def test_the_whole_result_is_as_recorded(name: str) -> None:
    found = results.result(name)
    assert found["status"] == results.CASES[name][0]
    assert found == RECORDED[name]


def test_nothing_else_is_recorded() -> None:
    assert set(RECORDED) == set(results.CASES)


HOLDS = {"name": "holds", **BOUND}
LEFT_OPEN = {"name": "open", **BOUND, "columns": ["b"]}
OWN = {"name": "own", "judge": "each_run", "check": "own"}
CELLS = [cell("near", "a"), cell("near", "b")]


def judged(*asked: dict[str, Any], outcomes: list[CellResult] | None = None, partial: bool = False, **of: Any) -> Any:
    whole = {"name": "small", "title": "t", "cells": {}, "rows": [{"name": "near"}], "columns": [{"name": "a"}]}
    table = TypeAdapter(Table).validate_python({**whole, "checks": asked, "figures": ["rate_mbps"]})
    found = CELLS if outcomes is None else outcomes
    rows = one([1], bounds={"rate_mbps": 1})
    return judging.judge_table(table.name, table.checks, "r1", rows, found, partial=partial, **of)


def test_the_whole_verdict() -> None:
    late = cell("near", "b", "untrusted", "late", 2, attempts=3)
    verdict = judged(HOLDS, outcomes=[*CELLS, late])
    assert verdict.model_dump(exclude={"checks"}) == {
        "schema_version": 2,
        "scenario": "small",
        "run": "r1",
        "verdict": "untrusted",
        "summary": "1 of 2 checks hold; “each run's own checks” is not to be trusted.",
        "trust": {"trusted": False, "reasons": ["row near b #2, 3 attempts: late"], "codes": ["run.untrusted"]},
        "duration_s": None,
        "policy": "a, b",
        "broken": None,
        "broken_code": None,
        "unsupported": False,
        "figures": {},
    }
    assert [check.name for check in verdict.checks] == ["each run's own checks", "holds"]
    own = verdict.checks[0].model_dump()
    assert own == {
        "name": "each run's own checks",
        "judge": "cells",
        "status": "untrusted",
        "measured": 2,
        "expected": 3,
        "tolerance": None,
        "code": "runs.hold-their-checks",
        "reason": "2 of 3 runs hold their own checks. Row near b #2: late",
        "figures": {},
    }
    assert judged(HOLDS).trust == Trust(trusted=True)


@pytest.mark.parametrize(("failed", "more"), [(1, 0), (20, 0), (22, 2)])
def test_twenty_runs_that_do_not_hold_are_named(failed: int, more: int) -> None:
    runs = [cell("near", "a"), *(cell("near", "b", "fail", "late", number) for number in range(1, failed + 1))]
    said = judging.judge_runs(runs, holds="hold").said
    assert said == Saying("runs.hold-their-checks", held=1, runs=failed + 1, holds="hold")
    named = [Saying("run.apart", row="near", column="b", repetition=n, why="late") for n in range(1, failed + 1)]
    assert list(said.further) == [*named[:20], *([Saying("runs.and-more", more=more)] if more else [])]


@pytest.mark.parametrize(
    ("asked", "outcomes", "partial", "word"),
    [
        ([HOLDS], CELLS, False, "pass"),
        ([HOLDS, LEFT_OPEN], CELLS, False, "fail"),
        ([HOLDS, LEFT_OPEN], CELLS, True, "pass"),
        ([HOLDS], [*CELLS, missing(Place("near", "b", 2))], True, "fail"),
        ([HOLDS], [*CELLS, cell("near", "b", "unsupported", "no kernel", 2)], False, "pass"),
        ([HOLDS], [cell("near", "b", "unsupported", "no kernel")], False, "fail"),
        ([HOLDS], [cell("near", "b", "unsupported", "no kernel")], True, "pass"),
    ],
)
def test_a_partial_table_may_leave_checks_open(asked: Any, outcomes: Any, partial: bool, word: str) -> None:
    assert judged(*asked, outcomes=outcomes, partial=partial).verdict == word


def test_runs_that_this_machine_can_t_make_are_no_part_of_their_own_checks() -> None:
    verdict = judged(HOLDS, outcomes=[*CELLS, cell("near", "b", "unsupported", "no kernel", 2)])
    assert (verdict.checks[0].status, verdict.checks[0].measured, verdict.checks[0].expected) == ("pass", 2, 2)
    none = judged(HOLDS, outcomes=[cell("near", "b", "unsupported", "no kernel")])
    assert (none.checks[0].status, none.checks[0].reason) == ("unsupported", "0 of 0 runs hold their own checks.")


def test_runs_are_not_asked_again_where_the_table_judges_each_of_their_checks() -> None:
    passed = cell("near", "a", checks=checks("pass"))
    twice = judged(OWN, outcomes=[passed, passed])
    assert ([check.name for check in twice.checks], twice.verdict) == (["own"], "pass")
    other = cell("near", "a", checks={**checks("pass"), "more": checks("pass")["own"]})
    assert [check.name for check in judged(OWN, outcomes=[passed, other]).checks] == ["each run's own checks", "own"]
    assert len(judged({**OWN, "rows": ["near"]}, outcomes=[passed]).checks) == 2
    assert len(judged({**HOLDS, "name": "own"}, outcomes=[passed]).checks) == 2


def test_runs_that_disagree_are_not_left_open_by_a_partial_table() -> None:
    fast = {"name": "fast", "judge": "each_run", "check": "fast"}
    held, failed = ({**own, "fast": checks("pass")["own"]} for own in (checks("pass"), checks("fail", measured=3.0)))
    apart = [cell("near", "a", checks=held), cell("near", "a", "fail", checks=failed)]
    verdict = judged(OWN, fast, outcomes=apart, partial=True)
    assert [check.status for check in verdict.checks] == ["inconclusive", "pass"]
    assert verdict.verdict == "fail"


def test_values_with_cpu_time_are_not_asked_of_a_model_of_the_network() -> None:
    check = KnownCheck(name="k", judge="known", columns=["a"], tolerance=0.1, cpu_time=True)
    found = judging.judge_one(check, one([1]), [], "sim")
    assert found.status == "skipped"
    assert found.said == Saying("known.of-a-machine", engine="sim")
    assert judging.judge_one(check, one([1]), []).status == "insufficient-data"
    table = {"name": "k", "judge": "known", "columns": ["a"], "tolerance": 0.1, "cpu_time": True}
    words = [judged(HOLDS, table).verdict]
    words += [judged(HOLDS, table, engine=engine).verdict for engine in ("vkernel", "mininet")]
    assert words == ["fail", "pass", "fail"]
