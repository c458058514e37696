"""A run's verdict: of all its checks, whether it can be trusted, and what it tells beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import BadInput
from testbed.judge.checks import Trust, Verdict
from testbed.judge.judge import judge
from testbed.message import Message
from tests.checks.in_memory import InMemory, event, small_plan, small_session
from tests.raises import Containing, raises
from tests.said import Saying

POINTS = {"name": "points", "judge": "points_stored"}
PAYLOAD = {"name": "payload", "judge": "payload_intact"}
EVENTS = [event("transfer_start", 0.0, "s1"), event("transfer_end", 4.5, "s1"), event("transfer_end", 9.0, "s2")]


def judged(folder: Path, *checks: dict[str, Any], trust: Trust | None = None, run: str = "r1", **plan: Any) -> Any:
    """Of a run that sends TCP, so that nobody asks for NCP's samples."""
    whole = small_plan(traffic="tcp", checks=list(checks), **plan)
    reader = InMemory({}, EVENTS, run)
    return judge(whole, reader, folder, trust or Trust(trusted=True), file_points=5, database_points=5)


def test_the_whole_verdict(tmp_path: Path) -> None:
    for role, size in (("sender", 10_000_000), ("receiver", 10_000_000)):
        own = {"session": "s1", "role": role, "bytes": size, "sha256": "a" * 64, "goodput_bps": 8 * 2**20}
        (tmp_path / f"{role}.json").write_text(json.dumps(own))
    sessions = [small_session("s1"), small_session("s2", policy="cubic"), small_session("s3")]
    verdict = judged(tmp_path, POINTS, PAYLOAD, {**PAYLOAD, "name": "other", "policy": ["bbr"]}, sessions=sessions)
    assert verdict.model_dump(exclude={"checks"}) == {
        "schema_version": 2,
        "scenario": "small",
        "run": "r1",
        "verdict": "pass",
        "summary": "2 of 2 checks hold.",
        "trust": {"trusted": True, "reasons": [], "codes": []},
        "duration_s": 4.5,
        "policy": "nkp24, cubic",
        "broken": None,
        "broken_code": None,
        "unsupported": False,
        "figures": {"goodput_bps": 8.0 * 2**20, "goodput_mib_s": 1.0},
    }
    assert [(check.name, check.status) for check in verdict.checks] == [
        ("points", "pass"),
        ("payload", "pass"),
        ("other", "skipped"),
    ]
    assert verdict.checks[2].said == Saying("check.of-other-policies", policies="cubic, nkp24", about="bbr")


def test_reasons_that_were_read_keep_their_codes() -> None:
    texts = ["late", "busy"]
    known = Trust(trusted=False, reasons=texts, codes=["clock.late", "machine.busy"])
    assert known.said == (Message("clock.late", "late"), Message("machine.busy", "busy"))
    assert Trust(trusted=False, reasons=texts).said == (Message("", "late"), Message("", "busy"))


def test_a_verdict_has_the_code_of_what_broke_it_down_where_something_did(tmp_path: Path) -> None:
    verdict = judged(tmp_path, POINTS)
    assert "broken_code" not in verdict.to_json()
    broken = verdict.model_copy(update={"broken_code": "run.stopped", "broken": "stopped by SIGINT"})
    assert broken.to_json()["broken_code"] == "run.stopped"
    for code in ("run.stopped", None, "agent.ended"):
        read = Verdict.from_json({**broken.to_json(), "broken_code": code})
        assert read == broken.model_copy(update={"broken_code": code or "run.stopped"})  # a result older than codes
    assert Verdict.from_json({**broken.to_json(), "broken": None, "broken_code": None}).broken_code is None


GOODPUT = {"name": "goodput", "judge": "goodput", "min": 0.5, "from_s": 1, "to_s": 2}


@pytest.mark.parametrize(
    ("checks", "quick", "word"),
    [
        ([POINTS], False, "pass"),
        ([POINTS, GOODPUT], False, "fail"),
        ([POINTS, GOODPUT], True, "pass"),
        ([GOODPUT], True, "fail"),
        ([POINTS, PAYLOAD], True, "fail"),
        ([], True, "fail"),
    ],
)
def test_a_quick_run_may_leave_checks_open_but_not_all(tmp_path: Path, checks: Any, quick: bool, word: str) -> None:
    assert judged(tmp_path, *checks, quick=quick).verdict == word


def test_trust_is_by_links_and_machine_and_by_the_telemetry_itself(tmp_path: Path) -> None:
    late = Trust(trusted=False, reasons=["late", "busy"])
    verdict = judged(tmp_path, POINTS, trust=late)
    assert (verdict.verdict, verdict.trust) == ("untrusted", late)
    assert verdict.summary == "Not to be trusted (late; busy). 1 of 1 checks hold."
    others = Message("telemetry.of-other-runs", "telemetry: has points of run r0, and this is run r1")
    plan = small_plan(checks=[POINTS], sessions=[])
    plan["sessions"] = [{**small_session(), "carrier": "tcp"}]
    busy = Message("machine.busy", "late")
    without_a_code = Message("", str(others))  # as files of before there were any have it
    for known, reasons in (
        ([], [others]),
        ([busy, others], [busy, others]),
        ([busy], [busy, others]),
        ([busy, without_a_code], [busy, others]),
        ([busy, Message(others.code, "said in other words")], [busy, others]),
    ):
        found = judge(plan, InMemory({}, EVENTS, "r0"), tmp_path, Trust.of(known), file_points=1, database_points=1)
        assert found.trust == Trust.of(reasons)
        assert found.verdict == "untrusted"


@pytest.mark.parametrize("events", [[], EVENTS[:1], EVENTS[1:]])
def test_a_run_without_start_or_end_has_no_duration(tmp_path: Path, events: Any) -> None:
    plan = small_plan(traffic="tcp", checks=[])
    assert judge(plan, InMemory({}, events, "r1"), tmp_path, Trust(trusted=True)).duration_s is None


def test_counts_that_were_not_given_can_not_be_compared(tmp_path: Path) -> None:
    plan = small_plan(traffic="tcp", checks=[POINTS])
    found = judge(plan, InMemory({}, EVENTS, "r1"), tmp_path, Trust(trusted=True))
    assert (found.checks[0].status, found.checks[0].code) == ("error", "points.no-file")


def test_a_broken_agent_s_result_is_named(tmp_path: Path) -> None:
    (tmp_path / "s1.json").write_text("7")
    with raises(BadInput, "file.not-an-object", path=Containing("s1.json")):
        judged(tmp_path, POINTS)
