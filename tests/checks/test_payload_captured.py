"""What iperf3 counted beside the packets that were captured: each of the ways in which they can disagree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.checks import Trust
from testbed.judge.judge import judge
from testbed.series import FromFile
from tests.said import Saying, has

PLAN: Any = {
    "scenario": "window",
    "run": "20261122-000000-abcd",
    "quick": False,
    "sessions": [{"name": "s1", "policy": "cubic", "connections": []}],
    "telemetry": {"interval_ms": 100},
    "checks": [{"name": "packets", "judge": "payload_captured"}],
}


def judged(folder: Path, **differs: Any) -> Any:
    """The check's result for a transfer of 1000 bytes with a window of 100."""
    numbers = {"sent": 1050, "counted": 1000, "captured": 1060, "window": 100} | differs
    (folder / "agents").mkdir()
    captured = {"payload_bytes": numbers["captured"], "largest_window_bytes": numbers["window"]}
    for role, own in (
        ("sender", {"bytes": numbers["sent"]}),
        ("receiver", {"bytes": numbers["counted"], "captured": captured}),
    ):
        (folder / "agents" / f"s1-{role}.json").write_text(json.dumps({"session": "s1", "role": role, **own}))
    (folder / "telemetry.lp").write_text("")
    verdict = judge(PLAN, FromFile(folder / "telemetry.lp"), folder / "agents", Trust(trusted=True))
    (check,) = verdict.checks
    return check


@pytest.mark.parametrize(
    ("differs", "status", "problem"),
    [
        ({}, "pass", None),
        ({"captured": 1000}, "pass", None),
        ({"captured": 1100}, "pass", None),
        ({"captured": 1101}, "fail", Saying("captured.beyond-the-window", more=101, window=100)),
        ({"captured": 999}, "fail", Saying("captured.in-no-packet", missing=1)),
        ({"sent": 990}, "fail", Saying("captured.sender-counted-fewer", fewer=10)),
        ({"sent": 0, "counted": 0, "captured": 0}, "fail", Saying("captured.nothing-counted")),
    ],
)
def test_counts(tmp_path: Path, differs: dict[str, int], status: str, problem: Saying | None) -> None:
    check = judged(tmp_path, **differs)
    assert check.status == status
    assert has(check.said, "counted, captured", [differs.get("counted", 1000), differs.get("captured", 1060)])
    assert check.code == ("captured.not-as-counted" if problem else "captured.as-counted")
    assert list(check.said.details.get("problems", ())) == ([problem] if problem else [])
