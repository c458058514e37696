"""The law where rates change, and the checks that need it: against the rule, packet by packet."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.judge.checks import CheckResult, Trust
from testbed.judge.checks.law import law_of
from testbed.judge.checks.planned import rates_by_plan
from testbed.judge.judge import judge
from testbed.judge.status import verdict_of
from testbed.series import FromFile
from tests.checks.generate import START_NS, make_plan, write_result
from tests.checks.in_memory import with_windows
from tests.said import Saying

RATES = {"1": 1024.0, "2": 1024.0}
PAUSE = [{"at_s": 5.0, "kind": "pause_read", "connection": 2, "for_s": 1.0, "text": "paused"}]


def equal_plan(timeline: list[dict[str, Any]], policy: str = "nkp24") -> Any:
    plan = make_plan(policy)
    plan["links"][1]["rate_bps"] = plan["links"][0]["rate_bps"]
    return {**plan, "timeline": timeline}


def rule(
    until_s: float, stopped: tuple[float, float], burst: int = 0, per_second: int = 1024
) -> list[tuple[float, np.typing.NDArray[np.float64], list[int]]]:
    """Time, windows and acknowledged packets every 100 ms by +1 per ACK, all scaled back to 4096; connection 2
    is not acknowledged while it is stopped, and ``burst`` packets at once when that ends."""
    windows, acked = np.array([2048.0, 2048.0]), [0, 0]
    samples, step = [], 0
    while step / per_second < until_s:
        t_s = step / per_second
        held = stopped[0] <= t_s < stopped[1]
        count = burst + 1 if not held and 0 <= t_s - stopped[1] < 1 / per_second else int(not held)
        for connection, packets in ((0, 1), (1, count)):
            for _ in range(packets):
                windows[connection] += 1
                windows *= 4096 / windows.sum()
            acked[connection] += packets
        step += 1
        if step % 102 == 0:
            samples.append((step / per_second, windows.copy(), list(acked)))
    return samples


def lines_of(plan: Any, samples: list[tuple[float, Any, list[int]]]) -> list[str]:
    run = f"run={plan['run']},scenario={plan['scenario']},session=s1"
    lines = [f'event,{run},kind=transfer_start at_s=0,text="" {START_NS}']
    for t_s, windows, acked in samples:
        at = START_NS + round(t_s * 1e9)
        for i in (0, 1):
            lines.append(
                f"ncp_connection,{run},connection={i + 1},policy={plan['sessions'][0]['policy']},role=sender "
                f"window_packets={windows[i]:.9g},window_share={windows[i] / sum(windows):.9g},acked={acked[i]}i {at}"
            )
    return [*lines, f'event,{run},kind=transfer_end at_s={samples[-1][0]},text="" {at}']


def judged(folder: Path, plan: Any, samples: list[Any], *checks: dict[str, Any]) -> list[CheckResult]:
    plan = {**plan, "checks": [{"name": f"c{i}", **check} for i, check in enumerate(checks)]}
    write_result(folder, plan, lines_of(plan, samples))
    return judge(plan, FromFile(folder / "telemetry.lp"), folder / "agents", Trust(trusted=True)).checks


def test_the_case_of_the_proposal() -> None:
    law = law_of(with_windows(4096, 2048, 2048), [(0, RATES), (5, {"1": 1024, "2": 0}), (6, RATES)])
    assert float(law.share("1", 4.9)) == pytest.approx(0.5)
    assert float(law.share("1", 6)) == pytest.approx(0.611, abs=5e-4)
    assert float(law.share("1", 7.9)) == pytest.approx(0.543, abs=5e-4)


@given(start=st.floats(0.5, 6), lasts=st.floats(0.1, 3))
def test_the_law_with_a_break_is_what_the_rule_does_packet_by_packet(start: float, lasts: float) -> None:
    rates: Any = [(0, RATES), (start, {"1": 1024, "2": 0}), (start + lasts, RATES)]
    law = law_of(with_windows(4096, 2048, 2048), rates)
    for t_s, windows, _ in rule(start + lasts + 2, (start, start + lasts)):
        assert windows[0] / 4096 == pytest.approx(float(law.share("1", t_s)), abs=2e-3)


def test_nothing_acknowledged_moves_nothing() -> None:
    law = law_of(with_windows(4096, 1024, 3072), [(0, {"1": 0, "2": 0}), (2, RATES)])
    assert float(law.share("1", 1.9)) == 0.25
    assert 0.25 < float(law.share("1", 3)) < 0.5


@pytest.mark.parametrize(
    ("timeline", "changes"),
    [
        (PAUSE, [(5.0, 0.0), (6.0, 1024.0)]),
        (
            [
                {"at_s": 5.0, "kind": "set", "link": "slow", "direction": "both", "properties": {"loss": 1.0}},
                {"at_s": 6.0, "kind": "set", "link": "slow", "direction": "both", "properties": {"loss": 0.0}},
            ],
            [(5.0, 0.0), (6.0, 1024.0)],
        ),
        (
            [
                {"at_s": 1.0, "kind": "carrier", "link": "slow", "up": False},
                {"at_s": 1.5, "kind": "carrier", "link": "slow", "up": True},
                {"at_s": 3.0, "kind": "set", "link": "slow", "direction": "ba", "properties": {"loss": 1.0}},
                {
                    "at_s": 4.0,
                    "kind": "set",
                    "link": "slow",
                    "direction": "ab",
                    "properties": {"rate_bps": 512 * 1073 * 8},
                },
            ],
            [(1.0, 0.0), (1.5, 1024.0), (4.0, 512.0)],
        ),
    ],
)
def test_the_timeline_tells_the_rates(timeline: list[dict[str, Any]], changes: list[tuple[float, float]]) -> None:
    plan = equal_plan(timeline)
    found = rates_by_plan(plan, plan["sessions"][0])
    assert [(at_s, rates["2"]) for at_s, rates in found] == [(0.0, 1024.0), *changes]
    assert all(rates["1"] == 1024 for _, rates in found)


LAW = {"judge": "follows_law", "tolerance": 0.03, "from_s": 1, "to_s": 10}


def test_a_burst_of_acknowledgements_is_in_the_law_of_what_is_acknowledged(tmp_path: Path) -> None:
    samples = rule(12, (5, 6), burst=600)
    by_plan, by_acks, early = judged(
        tmp_path / "r", equal_plan(PAUSE), samples, LAW, {**LAW, "rates": "acknowledged"}, {**LAW, "to_s": 6}
    )
    assert (by_plan.status, by_acks.status, early.status) == ("fail", "pass", "pass")
    assert isinstance(by_acks.measured, float)
    assert by_acks.measured < 0.005


def test_a_check_of_one_policy_is_not_asked_of_another(tmp_path: Path) -> None:
    law, level = {**LAW, "policy": "nkp24"}, {"judge": "level", "series": "window_share", "min": 0, "max": 1}
    plan = equal_plan(PAUSE, "previous")
    checks = judged(tmp_path / "a", plan, rule(12, (5, 6)), law, {**level, "at_s": 6})
    assert [check.status for check in checks] == ["skipped", "pass"]
    assert checks[0].said == Saying("check.of-other-policies", policies="previous", about="nkp24")
    plan["checks"] = [{"name": "c0", **law}]
    verdict = judge(plan, FromFile(tmp_path / "a" / "telemetry.lp"), tmp_path / "a" / "agents", Trust(trusted=True))
    assert [check.status for check in verdict.checks] == ["skipped"]
    assert verdict.verdict == "untrusted"  # these samples are not a whole run's
    assert (
        verdict_of([check.status for check in verdict.checks]) == "fail"
    )  # a run of which nothing was asked proves nothing


def test_level_at_a_time_and_all_the_time(tmp_path: Path) -> None:
    samples = rule(12, (5, 6))
    at = {"judge": "level", "series": "window_share", "connections": ["1"], "min": 0.58, "max": 0.63}
    dip, never, before, late = judged(
        tmp_path / "r",
        equal_plan(PAUSE),
        samples,
        {**at, "at_s": 6},
        {**at, "at_s": 7.9},
        {**at, "min": 0.49, "max": 0.51, "from_s": 1, "to_s": 5},
        {**at, "at_s": 30},
    )
    assert [c.status for c in (dip, never, before, late)] == ["pass", "fail", "pass", "insufficient-data"]
    assert dip.measured == pytest.approx(0.61, abs=0.01)
    assert late.said == Saying("level.no-sample", at_s=30)


def test_settles_tells_when(tmp_path: Path) -> None:
    samples = rule(14, (5, 6))
    settle = {"judge": "settles", "from_s": 6, "tolerance": 0.12, "to_s": 13}
    soon, sooner, anytime = judged(
        tmp_path / "r",
        equal_plan(PAUSE),
        samples,
        {**settle, "within_s": 4},
        {**settle, "within_s": 1},
        {**settle, "within_s": 4, "target": 2},
    )
    # (0.5 + d) / (0.5 − d) = 1.12 with d = 0.1106·e^(−t/2)
    expected = 2 * math.log(0.1106 / (0.5 * 0.12 / 2.12))
    assert soon.measured == pytest.approx(expected, abs=0.15)
    assert (soon.status, sooner.status) == ("pass", "fail")
    assert (anytime.status, anytime.measured) == ("fail", "never")


def test_goodput_of_the_surviving_link(tmp_path: Path) -> None:
    samples = rule(12, (5, 6))
    ask = {"judge": "goodput", "from_s": 5, "to_s": 6}
    survivor, both, late = judged(
        tmp_path / "r",
        equal_plan(PAUSE),
        samples,
        {**ask, "links": ["fast"], "min": 0.95},
        {**ask, "min": 0.95},
        {**ask, "to_s": 20, "min": 0.5},
    )
    assert (survivor.status, both.status, late.status) == ("pass", "fail", "insufficient-data")
    assert both.measured == pytest.approx(0.5, abs=0.02)
