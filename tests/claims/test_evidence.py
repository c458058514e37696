"""What becomes of a claim by the files of its run: its word, why, and the figures that decided."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.judge.status import Status
from testbed.study.checks import claims as evidence
from testbed.study.checks.claims import Judged, Made
from testbed.study.kinds.claims_file import Claim, Xfail
from testbed.study.kinds.table_file import KEPT_AS
from testbed.study.kinds.table_result import Place, Spread, missing, outcomes_of
from testbed.study.record import CellResult
from tests.tables.cells import cell_result
from tests.tables.small_table import SMALL

RUN = "runs/start/startup/x"
MADE = Made("start", "./run.sh startup", Status.PASS, "", RUN)
CLAIM = Claim(
    source="them",
    kind="claim",
    text=" Eight to one. ",
    setup="equal",
    run="start",
    check="ratio",
    published="8:1",
    value=8.0,
    unit="times",
    expected="7 to 9",
    tolerance="1",
    why=" so ",
    xfail=Xfail(cause=" a cap "),
)


def check(name: str = "ratio", status: Any = "pass", judge: str = "ratio", **of: Any) -> CheckResult:
    return CheckResult(name=name, judge=judge, status=status, reason=f"{name}: {status}.", **{"measured": 7.5, **of})


def write(folder: Path, *found: CheckResult, table: dict[str, Any] | None = None, **of: Any) -> None:
    run = folder / RUN
    run.mkdir(parents=True, exist_ok=True)
    known: dict[str, Any] = {
        "scenario": "startup",
        "run": "x",
        "verdict": "pass",
        "summary": "s",
        "trust": Trust(trusted=True),
        "duration_s": 1.0,
        "policy": "nkp24",
    }
    (run / "verdict.json").write_text(json.dumps(Verdict(**{**known, **of}, checks=list(found)).to_json()))
    if table is not None:
        (run / "table.json").write_text(json.dumps(table))


def judged(folder: Path, claim: Claim = CLAIM, made: Made = MADE) -> Judged:
    found = evidence.judge("eight", claim, made, folder)
    assert found.id == "eight"
    return found


def test_everything_that_is_told_of_a_claim(tmp_path: Path) -> None:
    write(tmp_path, check("law"), check(figures={"interval": [7.0, 8.0, 0.75], "observations": 3}))
    assert asdict(judged(tmp_path)) == {
        "id": "eight",
        "source": "them",
        "kind": "claim",
        "text": "Eight to one.",
        "verdict": "pass",
        "reason": "ratio: pass.",
        "run": "start",
        "command": "./run.sh startup",
        "check": "ratio",
        "published": "8:1",
        "expected": "7 to 9",
        "tolerance": "1",
        "why": "so",
        "reproduces": False,
        "by_chance": False,
        "cause": "a cap",
        "value": 8.0,
        "measured": "7.50 [7.00, 8.00] times",
        "n": 1,
        "figures": {"measured": 7.5},
        "observations": 3,
        "intervals": {"measured": (7.0, 8.0, 0.75)},
        "result": RUN,
        "report": f"{RUN}/report.html",
        "beside": {},
        "outcome": None,
        "xfail": None,
        "evidence": None,
        "sees": "exact",
        "undecidable": "",
        "least_seen": {},
        "as_reference": None,
    }
    now_and_then = Xfail(cause="a cap", strict=False)
    assert judged(tmp_path, CLAIM.model_copy(update={"xfail": now_and_then})).by_chance


@pytest.mark.parametrize(
    ("state", "word", "asked"),
    [("unsupported", "unsupported", True), ("skipped", "skipped", False), ("error", "error", True)],
)
def test_a_run_that_was_not_made(tmp_path: Path, state: Any, word: str, asked: bool) -> None:
    found = judged(tmp_path, made=Made("start", "./run.sh startup", state, "no kernel"))
    assert (found.verdict, found.reason, found.as_json()["asked"]) == (word, "no kernel", asked)
    assert (found.check, found.measured, found.n, found.observations) == ("ratio", "", None, None)
    assert (found.figures, found.intervals, found.result, found.report) == ({}, {}, "", "")
    over = CLAIM.model_copy(update={"check": None, "judge": {"judge": "ratio", "column": "a", "over": "b"}})
    assert judged(tmp_path, over, Made("start", "", state, "no kernel")).check == "judge"


def test_a_claim_is_judged_by_its_check_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, check("law", "fail"), check(status="pass"), verdict="fail")
    assert judged(tmp_path).verdict == "pass"
    write(tmp_path, check("law"))
    found = judged(tmp_path)
    assert (found.verdict, found.reason, found.measured) == ("error", f"{RUN} has no check 'ratio'", "")
    assert found.as_json()["asked"]
    write(tmp_path, check(), broken="a link was off", verdict="fail")
    found = judged(tmp_path)
    assert (found.verdict, found.reason, found.figures) == ("error", "a link was off", {})


@pytest.mark.parametrize("shorter", [True, False])
def test_a_quick_run_leaves_open_what_only_a_full_one_decides(tmp_path: Path, shorter: bool) -> None:
    write(tmp_path, check())
    made = replace(MADE, shorter=shorter)
    found = judged(tmp_path, CLAIM.model_copy(update={"full_only": "too short"}), made)
    assert (found.verdict, found.as_json()["asked"]) == (("skipped", False) if shorter else ("pass", True))
    assert found.reason == ("Left open by a quick run: too short" if shorter else "ratio: pass.")
    assert judged(tmp_path, CLAIM, made).verdict == "pass"


def test_what_is_not_asked_of_a_run_is_not_asked_of_the_claim(tmp_path: Path) -> None:
    write(tmp_path, check(status="skipped", measured=None))
    found = judged(tmp_path)
    assert (found.verdict, found.as_json()["asked"], found.n) == ("skipped", False, None)


def test_a_selection_without_what_decides_leaves_the_claim_open(tmp_path: Path) -> None:
    write(tmp_path, check(status="skipped", measured=None, code="table.not-selected"))
    found = judged(tmp_path)
    assert (found.verdict, found.as_json()["asked"], found.n) == ("insufficient-data", True, None)


@pytest.mark.parametrize(
    ("facts", "word", "reason"),
    [
        ([check("law", "fail"), check("bytes", "pass", "payload_intact")], "pass", "ratio: pass."),
        ([check("points", "skipped", "points_stored")], "pass", "ratio: pass."),
        (
            [
                check("bytes", "pass", "payload_intact"),
                check("points", "fail", "points_stored"),
                check("x", "error", "mptcp_carried"),
            ],
            "error",
            "“points” does not hold, so the run behind it can't be relied on.",
        ),
    ],
)
def test_a_fact_that_failed_takes_the_run_away_from_the_claim(
    tmp_path: Path, facts: Any, word: str, reason: str
) -> None:
    write(tmp_path, *facts, check(), verdict="fail")
    found = judged(tmp_path)
    assert (found.verdict, found.reason) == (word, reason)
    assert found.measured == "7.50 times"


def test_a_claim_may_be_decided_by_a_fact(tmp_path: Path) -> None:
    write(tmp_path, check(status="fail", judge="payload_intact"), verdict="fail")
    found = judged(tmp_path)
    assert (found.verdict, found.n) == ("fail", 1)


def test_an_untrusted_run_decides_nothing_whatever_its_checks_say(tmp_path: Path) -> None:
    trust = Trust(trusted=False, reasons=["late", "busy"])
    write(tmp_path, check(status="fail"), check("b", "fail", "payload_intact"), trust=trust, verdict="untrusted")
    found = judged(tmp_path)
    assert (found.verdict, found.reason, found.n) == ("untrusted", "late; busy", None)


@pytest.mark.parametrize(
    ("measured", "text", "figures"),
    [
        (7, "7.00 times", {"measured": 7.0}),
        ("never", "", {}),
        (None, "", {}),
        (True, "1.00 times", {"measured": 1.0}),
        (1234.5, "1,234 times", {"measured": 1234.5}),
    ],
)
def test_what_was_measured_in_a_few_words(tmp_path: Path, measured: Any, text: str, figures: Any) -> None:
    write(tmp_path, check(measured=measured))
    found = judged(tmp_path)
    assert (found.measured, found.figures) == (text, figures)


def spread(*values: float) -> dict[str, Any]:
    return asdict(Spread.of(values))


def table_of(*outcomes: CellResult, engine: str = "mininet", **rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A table of the columns nkp24 and previous; ``rows`` have their spreads by figure and column."""
    known = {"label": "L", "title": "", "bounds": {}, "states": {"nkp24": "ok", "previous": "ok"}, "known": []}
    every = [one for cell in outcomes for one in of_each_run(cell, rows)]
    return {
        "schema": 2,
        "engine": engine,
        "columns": ["nkp24", "previous"],
        "rows": [{**known, "name": name, "cells": cells} for name, cells in rows.items()],
        "outcomes": outcomes_of(every),
    }


def of_each_run(cell: CellResult, rows: dict[str, dict[str, Any]]) -> list[CellResult]:
    """The repetitions of a cell that passed, with the values of its row."""
    of = rows.get(cell.at["row"], {})
    values = {figure: spreads[cell.at["column"]]["values"] for figure, spreads in of.items()}
    if cell.status != Status.PASS or cell.record.checks or not any(values.values()):
        return [cell]
    runs = [dict(zip(values, run, strict=True)) for run in zip(*values.values(), strict=True)]
    row, column = cell.at["row"], cell.at["column"]
    return [passed(row, column, number, run) for number, run in enumerate(runs, 1)]


def cells(nkp24: list[float], previous: list[float]) -> dict[str, Any]:
    return {"goodput_mib_s": {"nkp24": spread(*nkp24), "previous": spread(*previous)}}


def passed(row: str, column: str, repetition: int = 1, figures: dict[str, float] | None = None) -> CellResult:
    return cell_result(row, column, repetition, Status.PASS, figures or {}, 1.0, "", "x")


GOOD = [passed(row, column) for row in ("near", "far") for column in ("nkp24", "previous")]
NEAR = [2.0, 2.4, 2.5, 2.8, 3.0]
TWO_ROWS: dict[str, Any] = {"near": cells(NEAR, [1.0] * 2), "far": cells([4.0, 4.5, 4.7, 4.8, 5.0, 5.5], [2.0] * 6)}
FIVE: dict[str, Any] = {**TWO_ROWS, "near": cells(NEAR, [1.0] * 5)}


def over(**judge: Any) -> Claim:
    return CLAIM.model_copy(update={"check": None, "judge": judge, "unit": "MiB/s"})


WITHIN = over(judge="within", columns=["nkp24"], min=1, max=6)


def test_cells_that_decide_a_claim_are_told_from_the_least_to_the_largest(tmp_path: Path) -> None:
    write(tmp_path, table=table_of(*GOOD, **TWO_ROWS))
    found = judged(tmp_path, WITHIN)
    assert (found.verdict, found.check, found.n, found.observations) == ("pass", "within", 5, 5)
    assert found.measured == "2.50 to 4.75 MiB/s, 2 cells"
    assert found.figures == {"near nkp24": 2.5, "far nkp24": 4.75}
    assert found.intervals == {"near nkp24": (2.0, 3.0, 0.9), "far nkp24": (4.0, 5.5, 0.9)}
    assert found.evidence == 21.25
    few = judged(tmp_path, over(judge="within", columns=["previous"], max=6))
    assert (few.n, few.measured, list(few.intervals)) == (2, "1.00 to 2.00 MiB/s, 2 cells", ["far previous"])
    assert (few.verdict, few.reason) == (
        "insufficient-data",
        "Inconclusive: row L previous 1 MiB/s. Holds: row L previous 2 MiB/s [2 MiB/s, 2 MiB/s]. Decided by intervals "
        "of at least 90%, whenever the runs end. Fewer than 5 runs decide nothing (near previous).",
    )
    near = judged(tmp_path, over(judge="within", columns=["nkp24"], max=2.75, rows=["near"]))
    assert (near.verdict, near.measured) == ("inconclusive", "2.50 [2.00, 3.00] MiB/s")


def test_a_column_or_a_line_that_decides(tmp_path: Path) -> None:
    write(tmp_path, table=table_of(*GOOD, **FIVE))
    column = judged(tmp_path, over(judge="row_ratio", row="far", over="near", columns=["previous"], min=1, max=3))
    assert (column.verdict, column.figures, column.n) == ("pass", {"previous": 2.0}, 5)
    three: dict[str, Any] = {**FIVE, "out": cells([], [9.0] * 5)}
    rows: Any = {name: {**of, "rtt_ms": of["goodput_mib_s"]} for name, of in three.items()}
    write(tmp_path, table=table_of(*GOOD, **rows))
    line = judged(tmp_path, over(judge="slope", x="rtt_ms", columns=["nkp24", "previous"], min=0.5, max=1.5))
    assert (line.verdict, line.figures, line.n) == ("pass", {"measured": 1.0}, 5)
    assert line.reason.endswith("By the runs of one seed each it holds in 5 of 5 repetitions.")
    assert line.evidence == 21.25


@pytest.mark.parametrize(
    ("cell", "word", "reason"),
    [
        (
            cell_result("far", "nkp24", 2, Status.FAIL, {}, 1.0, "no payload", "y"),
            Status.ERROR,
            "Row far nkp24 #2: no payload",
        ),
        (
            cell_result("far", "nkp24", 3, Status.UNTRUSTED, {}, 1.0, "late", "y"),
            Status.UNTRUSTED,
            "Row far nkp24 #3: late",
        ),
        (missing(Place("near", "nkp24", 4)), "error", "Row near nkp24 #4: It was not run."),
        (
            cell_result("far", "nkp24", 5, Status.UNSUPPORTED, {}, None, "no kernel", "y"),
            "unsupported",
            "Row far nkp24 #5: no kernel",
        ),
    ],
)
def test_the_worst_cell_behind_a_claim_is_told(tmp_path: Path, cell: CellResult, word: str, reason: str) -> None:
    write(tmp_path, table=table_of(*GOOD, cell, **TWO_ROWS))
    found = judged(tmp_path, WITHIN)
    assert (found.verdict, found.reason, found.as_json()["asked"]) == (word, reason, True)
    other = cell_result("near", "nkp24", 6, Status.UNTRUSTED, {}, 1.0, "stopped", "z")
    write(tmp_path, table=table_of(*GOOD, cell, other, **TWO_ROWS))
    assert judged(tmp_path, WITHIN).verdict == "untrusted"


def test_a_cell_that_failed_is_worse_than_one_that_can_t_be_made(tmp_path: Path) -> None:
    failed = cell_result("near", "nkp24", 2, Status.FAIL, {}, 1.0, "no payload", "y")
    unmade = cell_result("far", "nkp24", 2, Status.UNSUPPORTED, {}, None, "no kernel", "y")
    write(tmp_path, table=table_of(*GOOD, failed, unmade, **TWO_ROWS))
    found = judged(tmp_path, WITHIN)
    assert (found.verdict, found.reason) == ("error", "Row near nkp24 #2: no payload")


def test_a_table_without_a_run_that_counts_tells_no_n(tmp_path: Path) -> None:
    write(tmp_path, table=table_of(*GOOD, near=cells([], [])))
    found = judged(tmp_path, WITHIN)
    assert (found.verdict, found.n) == ("insufficient-data", None)


def test_what_an_engine_can_t_run_is_not_asked_of_it(tmp_path: Path) -> None:
    cell = cell_result("far", "nkp24", 1, Status.UNSUPPORTED, {}, None, "no MPTCP", "y")
    write(tmp_path, table=table_of(*GOOD, cell, engine="sim", **TWO_ROWS))
    found = judged(tmp_path, WITHIN)
    assert (found.verdict, found.reason, found.as_json()["asked"]) == ("skipped", "Row far nkp24 #1: no MPTCP", False)
    assert found.measured == "2.50 to 4.75 MiB/s, 2 cells"


def test_a_claim_by_a_check_of_the_table_s_own_file(tmp_path: Path) -> None:
    claim = CLAIM.model_copy(update={"check": "faster", "unit": "×"})
    found = check("faster", judge="ratio", measured="2 of 2", figures={"near nkp24": 2.5, "far nkp24": 2.25})
    write(tmp_path, check("other"), found, table=table_of(*GOOD, **FIVE))
    (tmp_path / RUN / KEPT_AS).write_text(SMALL)
    holds = judged(tmp_path, claim)
    assert (holds.verdict, holds.measured, holds.n) == ("pass", "2.38 to 2.50 ×, 2 cells", 5)
    assert holds.reason == (  # the pairs of runs of one seed decide, not what the table's fixed number of runs gave
        "Holds: row L 2.50× [2.00×, 3.00×]; row L 2.38× [2.00×, 2.75×]. Decided by intervals of at least 90%, whenever "
        "the runs end."
    )
    failed = cell_result("near", "previous", 2, Status.FAIL, {}, 1.0, "no payload", "y")
    write(tmp_path, check("other"), found, table=table_of(*GOOD, failed, **FIVE))
    broken = judged(tmp_path, claim)
    assert (broken.verdict, broken.reason) == ("error", "Row near previous #2: no payload")
    for gone in (CLAIM, CLAIM.model_copy(update={"check": "other"})):
        left = judged(tmp_path, gone)
        assert left.verdict == ("error" if gone is CLAIM else "pass")
    write(tmp_path, check("other"), table=table_of(*GOOD, **FIVE))
    assert judged(tmp_path, claim).reason == f"{RUN} has no check 'faster'"


def own(status: str, judge: str = "ratio", **others: tuple[str, str]) -> dict[str, dict[str, Any]]:
    """A repeated scenario's own checks; ``others`` have judge and status."""
    found = {"ratio": (judge, status), **others}
    known = {"measured": 7.5, "expected": "7 to 9", "tolerance": None}
    return {name: {"judge": of, "status": worth, **known} for name, (of, worth) in found.items()}


REPEATED = SMALL.replace(
    "{name: faster, judge: ratio, column: nkp24, over: previous, min: 1}",
    "{name: ratio, judge: each_run, check: ratio}",
)


ALL_HOLD = "Holds in 5 of 5 runs. Median 7.50 [7.50, 7.50], a 90% interval, whenever the runs end."
ONE_FAILS = ALL_HOLD.replace("5 of 5", "4 of 5")


@pytest.mark.parametrize(
    ("runs", "word", "reason"),
    [
        ([own("pass"), own("pass")], "pass", ALL_HOLD),
        ([own("pass", law=("follows_law", "fail")), own("pass")], "pass", ALL_HOLD),
        ([own("pass", bytes=("payload_intact", "pass")), own("pass")], "pass", ALL_HOLD),
        (
            [own("pass"), own("pass", bytes=("payload_intact", "fail"))],
            "error",
            "Row near nkp24 #5: “bytes” does not hold.",
        ),
        (
            [own("pass"), own("pass", bytes=("payload_intact", "insufficient-data"))],
            "error",
            "Row near nkp24 #5: “bytes” does not hold.",
        ),
        ([own("pass", "payload_intact"), own("fail", "payload_intact")], "fail", ONE_FAILS),
        ([own("pass"), own("fail")], "inconclusive", ONE_FAILS),
        ([own("pass"), own("error")], "error", "Row near nkp24 #5: why 5"),
    ],
)
def test_a_repeated_scenario_stands_on_the_facts_of_each_run(tmp_path: Path, runs: Any, word: str, reason: str) -> None:
    def outcome(number: int, found: dict[str, dict[str, Any]]) -> CellResult:
        fine = all(of["status"] in ("pass", "insufficient-data") for of in found.values())
        return cell_result(
            "near", "nkp24", number, Status.PASS if fine else Status.FAIL, {}, 1.0, f"why {number}", "x", checks=found
        )

    outcomes = [outcome(number, found) for number, found in enumerate([runs[0]] * 4 + [runs[1]], 1)]
    each = check("ratio", judge="each_run")
    write(tmp_path, each, table=table_of(*outcomes, near=cells([1.0] * 9, [])))
    (tmp_path / RUN / KEPT_AS).write_text(REPEATED)
    found = judged(tmp_path)
    assert (found.verdict, found.reason) == (word, reason)
    assert found.n == (4 if word == "error" and "why" in reason else 5)
