"""``bottleneck``: what all that share a link make of it, and what they leave each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from testbed.judge.checks import Check, CheckResult
from testbed.judge.checks.parameters import CheckParameters
from testbed.series import Samples
from tests.checks.in_memory import ALL, at, event, evidence_of, judged, of_session, small_plan, small_session, ticks
from tests.said import sentences

ADAPTER: TypeAdapter[CheckParameters] = TypeAdapter(Check)
LINK_BPS = 1000 * 8000
"""Of link ``fast`` of the small plan, all of it payload."""
Rate = float | Callable[[float], float]
CLEARED = {"kind": "set", "link": "fast", "direction": "both", "text": ""}


def asked_of(
    parts: Mapping[str, Rate],
    *,
    starts_s: Mapping[str, float] | None = None,
    rivals: Mapping[str, float] | None = None,
    rtt_ms: float | None = None,
    timeline: Any = (),
    **parameters: Any,
) -> CheckResult:
    """Sessions over one link for 20 s, each with so large a part of its rate; iperf3 flows by their numbers."""
    starts_s = {name: (starts_s or {}).get(name, 0.0) for name in parts}
    sessions = [small_session(name, connections=[{"index": 1, "link": "fast"}]) for name in parts]
    flows = [{"number": int(number), "path": ["fast"]} for number in rivals or {}]
    plan = small_plan(sessions=sessions, cross_traffic=flows, timeline=list(timeline))
    samples: dict[Any, Mapping[str, Samples]] = {}
    for name, part in parts.items():
        times = ticks(20, from_s=starts_s[name])
        total, sums = 0.0, []
        for t in times:
            total += (part(t) if callable(part) else part) * LINK_BPS / 8 * 0.1
            sums.append(total)
        samples["received_bytes", of_session(name)] = {name: at(times, sums)}
        if rtt_ms is not None:
            samples["rtt_ms", of_session(name)] = {"1": at(times, rtt_ms)}
    if rivals:
        tcp = {number: at(ticks(20, 0.5), part * LINK_BPS * 1448 / 1514) for number, part in rivals.items()}
        samples["iperf3_goodput_bps", ALL] = tcp
    later = [event("transfer_start", start_s, name) for name, start_s in starts_s.items() if name != "s1"]
    evidence = evidence_of(plan, samples, end_s=20.0, events=later)
    return judged({"judge": "bottleneck", "link": "fast", "from_s": 2, "to_s": 18, **parameters}, evidence)


def test_what_arrives_is_a_part_of_what_the_link_carries() -> None:
    assert asked_of({"s1": 0.8}, min=0.9).status == "fail"
    result = asked_of({"s1": 0.8}, min=0.7)
    assert result.status == "pass"
    assert result.measured == pytest.approx(0.8)
    assert set(result.figures) == {"utilization"}


def test_more_than_the_link_carries_fails_whatever_was_asked() -> None:
    result = asked_of({"s1": 0.6, "s2": 0.6})
    assert result.status == "fail"
    assert "bottleneck.beyond" in sentences(result.said)


def test_a_change_of_the_rate_changes_what_can_be_had() -> None:
    """Half of the time at a quarter: 0.5 of the first rate is 0.8 of what the link carried."""
    timeline = [{"at_s": 10.0, **CLEARED, "properties": {"rate_bps": LINK_BPS / 4}}]
    assert asked_of({"s1": 0.5}, timeline=timeline).measured == pytest.approx(0.8)


def test_losses_on_the_way_back_take_nothing_from_the_link() -> None:
    lost = [{"at_s": 0.0, **CLEARED, "direction": way, "properties": {"loss": 0.5}} for way in ("ab", "ba")]
    assert asked_of({"s1": 0.5}, timeline=lost[:1]).measured == pytest.approx(1)
    assert asked_of({"s1": 0.5}, timeline=lost[1:]).measured == pytest.approx(0.5)


def test_a_link_that_carries_nothing_can_not_be_judged() -> None:
    dead = [{"at_s": 0.0, **CLEARED, "properties": {"loss": 1.0}}]
    assert asked_of({"s1": 0.5}, timeline=dead).status == "error"


def test_the_queue_is_what_round_trips_are_longer_by() -> None:
    """100 ms of delay there and back, and half of the receiver's 50 ms."""
    assert asked_of({"s1": 0.8}, rtt_ms=165).figures["queue_ms"] == pytest.approx(40)


def test_shares_are_compared_on_the_wire() -> None:
    figures = asked_of({"s1": 0.6}, rivals={"1": 0.3, "2": 0.1}).figures
    assert figures["utilization"] == pytest.approx(1)
    assert figures["rival_share"] == pytest.approx(0.3)
    assert figures["jain"] == pytest.approx(1 / (3 * (0.36 + 0.09 + 0.01)))


def test_who_does_not_send_all_the_time_can_not_be_judged() -> None:
    result = asked_of({"s1": 0.5, "s2": 0.5}, starts_s={"s2": 6})
    assert result.status == "error"
    assert result.code == "samples.do-not-cover"


def converged(part: Rate) -> float:
    return float(asked_of({"s1": 0.4, "s2": part}, starts_s={"s2": 6}, from_s=7, late="s2").figures["converged_s"])


def test_a_late_comer_has_converged_when_it_has_an_even_share() -> None:
    """From the first of three seconds with 35% of the link each: 0.3 s at 10% are left in it."""
    assert converged(0.5) == pytest.approx(0.1)
    assert converged(lambda t: 0.1 if t < 10 else 0.48) == pytest.approx(3.7, abs=0.11)


def test_a_burst_at_the_start_is_no_convergence() -> None:
    assert converged(lambda t: 0.9 if t < 6.5 else 0.1) == 12


def test_a_start_that_goes_beyond_its_share_is_no_convergence() -> None:
    """On average over its first 3 s it has an even share."""
    assert converged(lambda t: 0.2 if t < 7.5 else 0.8) == 12


def test_one_that_takes_more_has_not_converged_either() -> None:
    assert converged(0.7) == 12


@pytest.mark.parametrize(
    ("wrong", "why"), [({"from": "8s", "to": "2s"}, "later than from"), ({"min": 2}, "less than or equal to 1")]
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        ADAPTER.validate_python({"name": "c", "judge": "bottleneck", "link": "l", "from": "1s", "to": "9s", **wrong})


@pytest.mark.parametrize("named", [{"late": "nobody"}, {"link": "nowhere"}])
def test_a_name_that_there_is_not_is_no_pass(named: dict[str, Any]) -> None:
    assert asked_of({"s1": 0.9}, **named).status == "error"
