"""What links carry over time, by the timeline: added up tick by tick, it is the same."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.judge.checks import planned
from testbed.plan.duration import expected_transfer_s
from testbed.plan.intervals import at as interval_at
from testbed.plan.intervals import link_intervals
from testbed.results.report.words import the_links
from tests.checks.in_memory import evidence_of, judged, small_plan, small_session
from tests.said import Saying
from topologies.link import rate_pps

TICK_S = 0.25
SETS = st.fixed_dictionaries(
    {},
    optional={
        "rate_bps": st.integers(1, 200).map(lambda pps: pps * 8000),
        "loss": st.sampled_from([0.0, 0.25, 1.0]),
        "delay_ms": st.integers(1, 90).map(float),
    },
).filter(bool)
AT_S = st.integers(0, 40).map(lambda ticks: ticks * TICK_S)
LINKS = st.sampled_from(["fast", "slow"])
ACTIONS = st.one_of(
    st.builds(
        lambda at_s, link, direction, properties: change(at_s, link, direction=direction, **properties),
        *(AT_S, LINKS, st.sampled_from(["ab", "ba", "both"]), SETS),
    ),
    st.builds(
        lambda at_s, link, up: {"at_s": at_s, "kind": "carrier", "text": "", "link": link, "up": up},
        *(AT_S, LINKS, st.booleans()),
    ),
)
TIMELINES = st.lists(ACTIONS, max_size=6).map(lambda actions: sorted(actions, key=lambda action: action["at_s"]))


def change(at_s: float, link: str = "fast", *, direction: str = "both", **properties: Any) -> dict[str, Any]:
    return {
        "at_s": at_s,
        "kind": "set",
        "text": f"link {link}: changed",
        "link": link,
        "direction": direction,
        "properties": properties,
    }


RAISED = [change(2.0, rate_bps=8e6)]
"""From 1 to 8 Mbit/s."""


def one_link(rate_bps: float = 1e6, timeline: Any = (), **of: Any) -> Any:
    """A plan of one session over one link of that rate at first."""
    plan = small_plan(
        timeline=list(timeline), sessions=[small_session(connections=[{"index": 1, "link": "fast"}])], **of
    )
    plan["links"] = [{**plan["links"][0], "rate_bps": rate_bps, "delay_ms": 0.0}]
    plan["sessions"][0] |= {"transport": "udp"}
    return plan


def tick_by_tick(plan: Any, link: str, from_s: float, to_s: float) -> float:
    """Packets that a link carries to the receiver: a sum over short times in which nothing changes."""
    own = next(one for one in plan["links"] if one["name"] == link)
    intervals = list(link_intervals(own, plan["timeline"], "ab"))
    total = 0.0
    for tick in range(round(from_s / TICK_S), round(to_s / TICK_S)):
        now = interval_at(intervals, tick * TICK_S)
        total += now.up * rate_pps(now.link) * (1 - now.link["loss"]) * TICK_S
    return total


@given(TIMELINES, AT_S, st.integers(1, 40).map(lambda ticks: ticks * TICK_S))
def test_what_links_carry_is_the_sum_over_all_ticks(timeline: Any, from_s: float, for_s: float) -> None:
    plan = small_plan(timeline=timeline)
    (session,), to_s = plan["sessions"], from_s + for_s
    packets = {link: tick_by_tick(plan, link, from_s, to_s) for link in ("fast", "slow")}
    for links in (None, ["fast"], ["slow"]):
        expected = sum(packets[link] for link in links or packets) * 8000 / for_s
        assert planned.bound_bps(plan, session, links, from_s, to_s) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 99)), max_size=8), st.integers(-5, 60))
def test_an_integral_is_the_sum_of_its_seconds(changes: list[tuple[int, int]], to_s: int) -> None:
    steps = [(0.0, 7.0), *sorted((float(at_s), float(value)) for at_s, value in changes)]
    brute = sum([value for at_s, value in steps if at_s <= second][-1] for second in range(to_s))
    assert planned.integral(steps, float(to_s)) == pytest.approx(brute)
    assert planned.integral(steps, [float(to_s), -math.inf]).tolist() == pytest.approx([brute, 0.0])
    if to_s > 0:
        assert planned.mean(steps, 0.0, float(to_s)) == pytest.approx(brute / to_s)
    assert planned.value_at(steps, float(max(0, to_s))) == [v for at_s, v in steps if at_s <= max(0, to_s)][-1]


def test_a_late_session_sees_the_timeline_from_its_own_start() -> None:
    plan = one_link(timeline=RAISED)
    late: Any = {**plan["sessions"][0], "start_s": 1.5}
    assert planned.rates_by_plan(plan, late) == [(0.0, {"1": 125.0}), (0.5, {"1": 1000.0})]
    later: Any = {**late, "start_s": 2.0}
    assert planned.rates_by_plan(plan, later) == [(0.0, {"1": 1000.0})]
    assert planned.bound_bps(plan, late, from_s=0.0, to_s=1.0) == pytest.approx(4.5e6)


def test_data_that_goes_from_b_to_a_has_that_directions_changes() -> None:
    plan = one_link(timeline=[change(1.0, direction="ba", rate_bps=4e6)])
    backwards: Any = {**plan["sessions"][0], "sender_host": "h2"}
    assert planned.bound_bps(plan, plan["sessions"][0], to_s=2.0) == 1e6
    assert planned.bound_bps(plan, backwards, to_s=2.0) == pytest.approx(2.5e6)


def test_another_link_of_the_path_limits_after_a_change() -> None:
    """The second hop is raised beyond the first."""
    plan = one_link(8e6, [change(2.0, "core", rate_bps=80e6)])
    hop = plan["links"][0]
    plan["links"] = [{**hop, "b": {"host": "r1"}}, {**hop, "name": "core", "a": {"host": "r1"}, "rate_bps": 1e6}]
    plan["sessions"] = [small_session(connections=[{"index": 1, "link": "core", "path": ["fast", "core"]}])]
    assert planned.bound_bps(plan, plan["sessions"][0], to_s=4.0) == pytest.approx((1e6 + 8e6) / 2)


def test_a_round_trip_without_a_queue_has_both_ways_delays_over_time() -> None:
    plan = one_link(timeline=[change(1.0, direction="ba", delay_ms=30.0), change(3.0, delay_ms=10.0)])
    (session,) = plan["sessions"]
    means = [planned.base_rtt_ms(plan, session, "1", *span) for span in ((0, 1), (1, 3), (3, 9), (2, 4))]
    assert means == pytest.approx([25.0, 55.0, 45.0, 50.0])


def goodput(timeline: Any, rate_bps: float, got_bits: float, duration_s: float = 10.0) -> Any:
    result = {"session": "s1", "role": "receiver", "goodput_bps": got_bits / duration_s, "duration_s": duration_s}
    evidence = evidence_of(one_link(rate_bps, timeline), {}, end_s=duration_s, results=[result])
    return judged({"judge": "goodput", "min": 0.9}, evidence)


def test_a_raised_link_carries_no_less_and_a_lowered_one_no_more() -> None:
    """8 s at 8 Mbit/s and 2 s at 1, in either order."""
    raised = goodput(RAISED, 1e6, 65e6)
    assert (raised.status, raised.measured) == ("pass", pytest.approx(65 / 66))
    assert raised.figures["bound_bps"] == pytest.approx(6.6e6)
    assert goodput(RAISED, 1e6, 59e6).status == "fail"
    lowered = goodput([change(8.0, rate_bps=1e6)], 8e6, 65e6)
    assert (lowered.status, lowered.measured) == ("pass", pytest.approx(65 / 66))


def test_a_link_that_is_down_carries_nothing() -> None:
    down = {"at_s": 0.0, "kind": "carrier", "text": "link fast down", "link": "fast", "up": False}
    assert goodput([down, {**down, "at_s": 5.0, "up": True}], 8e6, 40e6).measured == pytest.approx(1.0)
    nothing = goodput([down], 8e6, 1.0)
    assert nothing.status == "error"
    assert nothing.said == Saying("goodput.carries-nothing", when="over the transfer")


def test_what_is_expected_of_a_transfers_length_has_the_timeline() -> None:
    """1 Mbit in the first second, and the other 3 Mbit in the 0.75 s after it."""
    plan = one_link(1e6, [change(1.0, rate_bps=4e6)])
    plan["sessions"][0]["transfer_bytes"] = 500_000
    assert expected_transfer_s(plan) == pytest.approx(1.75)
    never = one_link(1e6, [change(1.0, loss=1.0)])
    assert expected_transfer_s(never) == 1.0, "it never ends"


def test_a_links_sentence_is_of_its_beginning_where_it_changes() -> None:
    plan: Any = {**one_link(1e6, RAISED), "traffic": "ncp"}
    assert [sentence[:30] for sentence in the_links(plan)] == ["fast: at first 125 packets/s ("]
    plan["timeline"] = []
    assert [sentence[:21] for sentence in the_links(plan)] == ["fast: 125 packets/s ("]


def test_a_links_sentence_has_all_that_it_does_to_packets() -> None:
    plan: Any = {**one_link(1e6), "traffic": "ncp"}
    bursts = {"enter": 0.01, "leave": 0.2, "loss_good": 0.0, "loss_bad": 1.0}
    for link, words in (
        ({"loss": 0.0}, "no loss"),
        ({"loss": 0.015}, "loss 1.5%"),
        ({"loss": 0.0, "gilbert_elliott": bursts}, "bursts of loss 1%/20%"),
        ({"loss": 0.0, "jitter_ms": 4.0, "reorder": 0.01}, "no loss, jitter 4 ms, reorder 1%"),
    ):
        plan["links"] = [{**one_link(1e6)["links"][0], **link}]
        assert f"each way, {words}" in the_links(plan)[0]
