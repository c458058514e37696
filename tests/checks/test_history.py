"""What a run leaves for the comparison of nightly runs: its verdict and figures, without a tag that grows."""

from typing import Any

from line_protocol_parser import parse_line

from testbed.judge.checks.derived import history_lines
from testbed.judge.checks.result import CheckResult, Trust, Verdict

PLAN: Any = {
    "run": "20261121-102105-decb",
    "scenario": "startup",
    "engine": "mininet",
    "occasion": "nightly",
    "variant": "full",
}
RESULTS = [
    {"role": "sender", "session": "s1", "goodput_bps": 9.0e6},
    {"role": "receiver", "session": "s1", "goodput_bps": 8.9e6},
]


def verdict(**changed: Any) -> Verdict:
    checks = [
        CheckResult(
            name="law", judge="follows_law", status="pass", measured=0.012, expected=0.0, tolerance=0.03, reason=""
        ),
        CheckResult(name="payload", judge="payload_intact", status="fail", measured="abc", reason=""),
    ]
    known: dict[str, Any] = {
        "scenario": "startup",
        "run": PLAN["run"],
        "verdict": "fail",
        "summary": "1 of 2",
        "checks": checks,
        "trust": Trust(trusted=True),
        "duration_s": 14.4,
        "policy": "nkp24",
    }
    return Verdict(**known | changed)


def points(plan: Any, of: Verdict, results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By figure; the run's own is at ""."""
    found = [parse_line(line) for line in history_lines(plan, of, results, 7).splitlines()]
    assert {point["time"] for point in found} == {7}
    assert len({tuple(sorted(point["tags"].items())) for point in found}) == len(found)
    assert not any("run" in point["tags"] for point in found)
    return {point["tags"].get("figure", ""): point for point in found}


def test_verdict_and_figures() -> None:
    found = points(PLAN, verdict(), RESULTS)
    assert set(found) == {"", "law", "payload", "goodput_bps"}
    assert found[""]["measurement"] == "run_verdict"
    assert found[""]["tags"] == {
        "scenario": "startup",
        "policy": "nkp24",
        "engine": "mininet",
        "occasion": "nightly",
        "variant": "full",
    }
    own = found[""]["fields"]
    assert (own["verdict"], own["passed"], own["failed"], own["duration_s"]) == ("fail", 0, 1, 14.4)
    assert own["run_id"] == PLAN["run"]
    law = found["law"]["fields"]
    assert (law["measured"], law["expected"], law["tolerance"], law["passed"]) == (0.012, 0.0, 0.03, 1)
    assert "measured" not in found["payload"]["fields"], "a text is no figure"
    goodput = found["goodput_bps"]
    assert goodput["tags"]["session"] == "s1"
    assert goodput["fields"]["measured"] == 8.9e6, "what arrived counts"


def test_a_run_that_broke_down_has_its_verdict_only() -> None:
    found = points(PLAN, verdict(broken="a link was off", duration_s=None), RESULTS)
    assert set(found) == {""}
    assert "duration_s" not in found[""]["fields"]
