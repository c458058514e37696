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
from tests.said import Saying, has, sentences

ADAPTER: TypeAdapter[CheckParameters] = TypeAdapter(Check)
LINK_BPS = 1000 * 10_000
"""Of link ``fast`` of the small plan with frames of 1250 bytes, 1000 of them payload."""
PAYLOAD = 1000 / 1250
Rate = float | Callable[[float], float]
CLEARED = {"kind": "set", "link": "fast", "direction": "both", "text": ""}


def asked_of(
    parts: Mapping[str, Rate],
    *,
    starts_s: Mapping[str, float] | None = None,
    rivals: Mapping[str, float] | None = None,
    rtt_ms: Mapping[str, Rate] | None = None,
    timeline: Any = (),
    elsewhere: str = "",
    ends_s: Mapping[str, float] | None = None,
    **parameters: Any,
) -> CheckResult:
    """Sessions over one link for 20 s, each with so large a part of its rate; iperf3 flows by their numbers. A session
    may be over the other link, ``elsewhere``."""
    starts_s = {name: (starts_s or {}).get(name, 0.0) for name in parts}
    sessions = [
        small_session(name, connections=[{"index": 1, "link": "slow" if name == elsewhere else "fast"}])
        for name in parts
    ]
    flows = [{"number": int(number), "path": ["fast"]} for number in rivals or {}] or [{"number": 9, "path": ["slow"]}]
    plan = small_plan(sessions=sessions, cross_traffic=flows, timeline=list(timeline))
    plan["links"][0] |= {"frame_bytes": 1250, "rate_bps": LINK_BPS}
    samples: dict[Any, Mapping[str, Samples]] = {}
    for name, part in parts.items():
        times = ticks((ends_s or {}).get(name, 20), 0.125, from_s=starts_s[name])
        total, sums = 0.0, []
        for t in times:
            total += (part(t) if callable(part) else part) * LINK_BPS * PAYLOAD / 8 * 0.125
            sums.append(total)
        samples["received_bytes", of_session(name)] = {name: at(times, sums)}
        if rtt_ms is not None and name in rtt_ms:
            samples["rtt_ms", of_session(name)] = {"1": at(times, rtt_ms[name])}
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
    assert result.expected == "at least 0.7"
    assert result.figures == {"utilization": pytest.approx(0.8)}
    of_fast = {"link": "fast", "from_s": 2.0, "to_s": 18.0}
    assert result.said == Saying(
        "bottleneck.utilization", check={**of_fast, "min": 0.7}, used=0.8, carried_mbit_s=10.0, each="s1 8.000"
    )
    assert has(result.said, "carried_mbit_s", 10.0)
    two = asked_of({"s1": 0.6, "s2": 0.2})
    assert two.said == Saying(
        "bottleneck.utilization",
        check={**of_fast, "min": 0.0},
        used=0.8,
        carried_mbit_s=10.0,
        each="s1 6.000, s2 2.000",
    )
    assert set(two.figures) == {"utilization", "jain"}


def test_what_is_asked_and_what_the_link_carries_are_enough() -> None:
    for part in (0.5, 1.05):
        result = asked_of({"s1": part}, min=min(part, 1.0))
        assert (result.status, result.measured, list(sentences(result.said))) == (
            "pass",
            part,
            ["bottleneck.utilization"],
        )


def test_a_session_over_another_link_has_no_part_of_it() -> None:
    result = asked_of({"s1": 0.8, "s2": 0.1}, elsewhere="s2")
    assert result.figures == {"utilization": pytest.approx(0.8)}


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
    result = asked_of({"s1": 0.5}, timeline=dead)
    assert result.status == "error"
    assert result.said == Saying("bottleneck.carries-nothing", check={"link": "fast", "from_s": 2.0, "to_s": 18.0})


def test_the_queue_is_what_round_trips_are_longer_by() -> None:
    """100 ms of delay there and back, and half of the receiver's 50 ms."""
    assert asked_of({"s1": 0.8}, rtt_ms={"s1": 165}).figures["queue_ms"] == pytest.approx(40)
    # Of a session that starts later as well, in the judged time only; nothing was answered at 0 ms.
    late: Rate = lambda t: 400 if not 7 <= t <= 18 else 0 if t < 9 else 165  # noqa: E731
    result = asked_of({"s1": 0.4, "s2": 0.4}, starts_s={"s2": 6}, from_s=7, rtt_ms={"s2": late})
    assert result.figures["queue_ms"] == pytest.approx(40)
    assert asked_of({"s1": 0.8}, rtt_ms={"s1": 0.5}).figures["queue_ms"] == pytest.approx(0.5 - 125)


def test_shares_are_compared_on_the_wire() -> None:
    figures = asked_of({"s1": 0.6}, rivals={"1": 0.3, "2": 0.1}).figures
    assert figures["utilization"] == pytest.approx(1)
    assert figures["rival_share"] == pytest.approx(0.3)
    assert figures["jain"] == pytest.approx(1 / (3 * (0.36 + 0.09 + 0.01)))


def test_who_does_not_send_all_the_time_can_not_be_judged() -> None:
    result = asked_of({"s1": 0.5, "s2": 0.5}, starts_s={"s2": 6})
    assert result.status == "error"
    assert result.code == "samples.do-not-cover"


def converged(part: Rate, **of: Any) -> float:
    both: dict[str, Rate] = {"s1": 0.4, "s2": part}
    return float(asked_of(both, starts_s={"s2": 6}, from_s=7, late="s2", **of).figures["converged_s"])


def test_a_late_comer_has_converged_when_it_has_an_even_share() -> None:
    """From the first of three seconds with 35% of the link each: 0.3 s at 10% are left in it."""
    assert converged(0.5) == 0.125
    assert converged(lambda t: 0.1 if t < 10 else 0.48) == pytest.approx(3.7, abs=0.11)
    assert converged(lambda t: 0.1 if t < 10 or t > 13 else 0.55) == pytest.approx(3.7, abs=0.3), "no fourth second"
    assert converged(0.65) == converged(0.35) == 0.125, "30% from half of it"


def test_its_last_three_seconds_are_enough_and_less_is_not() -> None:
    assert converged(lambda t: 0.1 if t <= 15 else 0.36) == 9
    assert converged(lambda t: 0.1 if t <= 15.125 else 0.36) == 12
    assert converged(lambda t: 0.1 if t <= 14.5 else 0.36, ends_s={"s2": 17.5}) == 8.5


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


@pytest.mark.parametrize(
    ("named", "says"),
    [
        (
            {"late": "nobody"},
            Saying("bottleneck.no-session", kind="session over the link", name="nobody", guess=" (known: s1, s2)"),
        ),
        ({"link": "nowhere"}, Saying("plan.no-link", kind="link", name="nowhere", guess=" (known: fast, slow)")),
    ],
)
def test_a_name_that_there_is_not_is_no_pass(named: dict[str, Any], says: Saying) -> None:
    result = asked_of({"s1": 0.5, "s2": 0.4}, **named)
    assert result.status == "error"
    assert result.said == says
