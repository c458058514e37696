"""What a program says of itself beside the packets that were captured, at and beside each limit."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.judge.checks.ends import PayloadIntact
from testbed.judge.checks.evidence import Evidence
from testbed.judge.trust import telemetry
from tests.checks.in_memory import evidence_of, small_plan
from tests.said import Saying

SECOND = 10**9


def of_s1(code: str, **parameters: Any) -> Saying:
    return Saying(f"program.{code}", **parameters)


EARLY, OTHER = "finished-too-early", of_s1("other-payload", count=900)
CLAIMS_MORE = [of_s1("receiver-claims-more", claimed=1001, arrived=1000), of_s1(EARLY, claimed=1001, arrived=950)]


@pytest.mark.parametrize(
    ("role", "words", "status", "says"),
    [
        ("receiver", {}, "pass", []),
        ("receiver", {"bytes": 1001}, "fail", CLAIMS_MORE),
        ("receiver", {"bytes": 800}, "fail", []),
        ("receiver", {"sha256": "0" * 64}, "fail", [OTHER]),
        ("both", {"sha256": "0" * 64}, "fail", [OTHER]),
        ("sender", {"sha256": "0" * 64}, "fail", []),
        ("sender", {"bytes": 2000}, "fail", [of_s1("sender-claims-more", claimed=2000, arrived=1000)]),
        ("said", {"finished_unix_ns": 12 * SECOND}, "pass", [of_s1("ended-after-its-result")]),
        ("captured", {"payload_bytes_when_finished": 899}, "pass", [of_s1(EARLY, claimed=900, arrived=899)]),
        ("captured", {"frames_not_captured": 3}, "pass", [of_s1("frames-not-captured", frames=3)]),
        ("receiver", {"captured": None}, "pass", [of_s1("nothing-captured")]),
        ("receiver", {"said": None}, "pass", [of_s1("nothing-captured")]),
        ("receiver", {"bytes": 1000}, "fail", [of_s1(EARLY, claimed=1000, arrived=950)]),
        ("receiver", {"bytes": 950}, "fail", []),
        ("sender", {"bytes": 1000}, "fail", []),
        ("both", {"bytes": 1001}, "fail", CLAIMS_MORE),
        ("said", {"finished_unix_ns": 11_050_000_000}, "pass", []),
        ("said", {"finished_unix_ns": 11_050_000_001}, "pass", [of_s1("ended-after-its-result")]),
    ],
)
def test_its_words_are_held_against_the_packets(role: str, words: Any, status: str, says: list[Saying]) -> None:
    ends: Any = {
        end: {"session": "s1", "role": end, "bytes": 900, "sha256": "a" * 64} for end in ("sender", "receiver")
    }
    ends["receiver"] |= {"payload_sha256": "a" * 64, "finished_unix_ns": 11 * SECOND}
    ends["receiver"]["said"] = {"finished_unix_ns": 11 * SECOND}
    captured = {"payload_bytes": {"fast": 600, "slow": 400}, "payload_bytes_when_finished": 950}
    ends["receiver"]["captured"] = captured | {"frames_not_captured": 0}
    for end in ("sender", "receiver") if role == "both" else (role,):
        (ends["receiver"][end] if end in ("said", "captured") else ends[end]).update(words)
    plan: Any = {"sessions": [{"name": "s1", "transfer_bytes": 900}]}
    evidence = Evidence(plan, None, list(ends.values()))  # type: ignore[arg-type]  # no samples are asked for
    assert list(telemetry.of_program(evidence, "s1")) == says
    assert PayloadIntact(name="p", judge="payload_intact").result(evidence).status == status


def test_one_that_came_to_no_end_is_left_to_its_checks_and_hides_no_other() -> None:
    names = ("none", "sent", "got", "s1")
    ends = [("sent", "sender"), ("got", "receiver"), ("s1", "sender"), ("s1", "receiver")]
    results = [{"session": name, "role": role, "bytes": 1} for name, role in ends]
    evidence = evidence_of(
        small_plan(traffic="program", sessions=[{"name": name} for name in names]), {}, results=results
    )
    told = of_s1("nothing-captured", session="s1").at("session s1")
    assert [said for said in telemetry.violations(evidence) if said.code.startswith("program.")] == [told]
