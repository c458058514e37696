"""Links of the simulator beside their plan: at each limit they are let pass, beyond it named with both figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from testbed.judge.trust.links import CHANCE, of_simulated
from testbed.message import Message
from testbed.series import Samples
from tests.checks.in_memory import Where, at, event, evidence_of, small_plan, small_session, ticks, to_the
from tests.said import Saying, has

FIELDS = {
    "rate": "achieved_bps",
    "delay": "achieved_delay_ms",
    "loss": "achieved_loss",
    "backlog": "backlog_bytes",
    "drops": "drops",
    "loss as set": "loss",
    "delay as set": "delay_ms",
    "rate as set": "rate_bps",
}
Told = dict[str, float | Callable[[float], float] | None]
"""Of one link and direction: what its telemetry says, by the names of :data:`FIELDS`."""
FAST: Told = {
    "rate": 8e6,
    "delay": 50.0,
    "loss": 0.0,
    "backlog": 60_000.0,
    "drops": 0.0,
    "loss as set": 0.0,
    "delay as set": 50.0,
    "rate as set": 8e6,
}
"""1000 packets of 1000 bytes a second; 50 on the line, 10 in the queue."""


def off(
    told: Told | None = None,
    *,
    link: dict[str, Any] | None = None,
    timeline: list[dict[str, Any]] | None = None,
    direction: str = "ab",
    to_s: float = 10.0,
    interval_ms: int = 125,
    samples: Callable[[str, Samples], Samples] = lambda _, s: s,
    **plan: Any,
) -> list[Message]:
    """Where the first link is off in one direction, which says what ``told`` has and else what was planned."""
    whole = small_plan(engine="sim", timeline=timeline or [], telemetry={"interval_ms": interval_ms}, **plan)
    whole["links"][0] |= link or {}
    t = ticks(to_s, interval_ms / 1000)
    read: dict[str | tuple[str, Where], dict[str, Samples]] = {}
    for name, field in FIELDS.items():
        value = {**FAST, **(told or {})}[name]
        if value is not None:
            found = at(t, value)
            read[f"any_link_{field}", to_the(direction)] = {"fast": samples(name, found)}
    return of_simulated(evidence_of(whole, read))


def of_fast(code: str, direction: str = "ab", **parameters: Any) -> Saying:
    """What is said of the first link."""
    return Saying(code, **parameters).at(f"link fast {direction}")


def delay_off(delay_ms: float, off_ms: float, asked_ms: float, direction: str = "ab") -> Saying:
    return of_fast("link.delay-off", direction, delay_ms=delay_ms, off_ms=off_ms, planned_ms=asked_ms)


def too_fast(mbps: float, asked_mbps: float = 8.0) -> Saying:
    return of_fast("link.rate-too-high", mbps=mbps, planned_mbps=asked_mbps)


def too_slow(mbps: float, asked_mbps: float = 8.0) -> Saying:
    return of_fast("link.rate-too-low", mbps=mbps, planned_mbps=asked_mbps)


def loss_off(loss: float, packets: float, asked: float) -> Saying:
    return of_fast("link.loss-off", loss=loss, packets=packets, planned=asked)


def told_otherwise(key: str, told: float, asked: float) -> Saying:
    return of_fast("link.misreported", key=key, reported=told, planned=asked)


def test_links_as_planned_are_not_named_and_real_ones_not_asked() -> None:
    assert off() == []
    wrong: Told = {"delay": 70.0}
    assert off(wrong) == [delay_off(70.0, 20.0, 50.0)]
    assert off(wrong, direction="ba") == [delay_off(70.0, 20.0, 50.0, "ba")]
    evidence = evidence_of(
        small_plan(), {("any_link_achieved_delay_ms", to_the("ab")): {"fast": at(ticks(9), [70.0] * 90)}}
    )
    assert of_simulated(evidence) == []


def test_times_are_those_since_the_first_session_that_started() -> None:
    plan = small_plan(engine="sim", sessions=[small_session("never"), small_session("s2"), small_session("s1")])
    t = ticks(9)
    known: Any = {"rate": 8e6, "delay as set": lambda s: 50.0 if s >= 4 else 20.0}
    plan["links"][0]["delay_ms"] = 20.0
    plan["timeline"] = [setting(4.0, delay_ms=50.0)]
    read: Any = {(f"any_link_{FIELDS[name]}", to_the("ab")): {"fast": at(t, value)} for name, value in known.items()}
    assert of_simulated(evidence_of(plan, read, events=[event("transfer_start", 3.0, "s2")])) == []
    nobody = evidence_of(plan, read)
    nobody.events[:] = [event("transfer_end", 1.0), event("transfer_start", 0.0, "other")]
    assert of_simulated(nobody) == []


BY_CHANCE = 2 * CHANCE * math.sqrt(0.01 * 0.99 / 10_000) + 2 / 10_000
"""Twice 3.29 standard deviations, and two packets."""
TOO_SLOW = too_slow(5.0)
LIMITS: dict[str, Any] = {"limits": {"rate_error": 0.25, "delay_error_ms": 1.0}}


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"delay": 51.0}, None),
        ({"delay": 51.25}, delay_off(51.25, 1.25, 50.0)),
        ({"delay": 49.0}, None),
        ({"delay": 48.75}, delay_off(48.75, -1.25, 50.0)),
        ({"delay": lambda s: 50.0 if s > 4.5 else 99.0}, None),
        ({"delay": None}, None),
        # A second may carry the rate with its error, a burst of 3000 bytes and a packet: 10 Mbit and 32,000 bits.
        ({"rate": 10_032_000.0}, None),
        ({"rate": 10_032_016.0}, too_fast(10.032016)),
        ({"rate": lambda s: 10e6 + (9e6 if (8 * s) % 2 else -9e6)}, None),
        ({"rate": lambda s: 40e6 if s <= 4 else 8e6}, None),
        ({"rate": None}, None),
        # While packets wait for the line it is no less than the rate less its error and a packet.
        ({"rate": 5_992_000.0}, None),
        ({"rate": 5_991_984.0}, too_slow(5.991984)),
        ({"rate": 5e6, "backlog": 56_500.0}, None),
        ({"rate": 5e6, "backlog": 56_501.0}, TOO_SLOW),
        ({"rate": 5e6, "backlog": None}, None),
        # Nine seconds in a row in which packets wait are enough; eight are not.
        ({"rate": 5e6, "backlog": lambda s: 60_000.0 if s <= 2 else 0.0}, TOO_SLOW),
        ({"rate": 5e6, "backlog": lambda s: 60_000.0 if s <= 1.9 else 0.0}, None),
        ({"rate": 5e6, "backlog": lambda s: 60_000.0 if (8 * s) % 7 else 0.0}, None),
        ({"loss": 0.001}, loss_off(0.001, 10_000.0, 0.0)),
        ({"loss": lambda s: 0.01 if s == 5 else 0.0}, loss_off(0.000126247, 10_000.0, 0.0)),
        (
            {"loss": lambda s: 0.5 if s == 5 else 0.0, "rate": lambda s: 4e6 if s == 5 else 8e6},
            loss_off(0.00625, 9_937.5, 0.0),
        ),
        (
            {"loss": lambda s: 1.0 if s == 5 else 0.0, "rate": lambda s: 0.0 if s == 5 else 8e6},
            loss_off(0.000101256, 9_875.0, 0.0),
        ),
        ({"loss": None}, None),
        ({"drops": lambda s: 3.0 if s < 10 else 7.0}, of_fast("link.queue-dropped", packets=4.0)),
        ({"drops": lambda s: 3.0 if s < 0.2 else 7.0}, of_fast("link.queue-dropped", packets=4.0)),
        ({"drops": 3.0}, None),
        ({"drops": None}, None),
        # 50 packets in the queue, 52.5 on the line, and four.
        ({"backlog": 106_500.0}, None),
        ({"backlog": 106_501.0}, of_fast("link.holds-too-much", packets=106.501, room=106.5)),
        ({"backlog": lambda s: 999_000.0 if s <= 4.5 else 60_000.0}, None),
        ({"loss as set": 0.1}, told_otherwise("loss", 0.1, 0.0)),
        ({"loss as set": 2e-6}, told_otherwise("loss", 2e-06, 0.0)),
        ({"loss as set": 0.9e-6}, None),
        ({"delay as set": lambda s: 51.0 if s == 5 else 50.5}, told_otherwise("delay_ms", 51.0, 50.0)),
        ({"delay as set": 49.0}, told_otherwise("delay_ms", 49.0, 50.0)),
        ({"rate as set": 8_000_009.0}, told_otherwise("rate_bps", 8000010.0, 8000000.0)),
        ({"rate as set": 8_000_008.0}, None),
        ({"loss as set": None, "delay as set": None, "rate as set": None}, None),
    ],
)
def test_each_property_at_its_limit(told: Told, says: Saying | None) -> None:
    assert off(told, **LIMITS) == ([says] if says else [])


def test_a_link_of_the_simulator_is_told_whole_bits_per_second() -> None:
    links = small_plan()["links"]
    asked = {"links": [links[0] | {"rate_bps": 8_000_000.4}, *links[1:]], **LIMITS}
    slow = {**LIMITS, "links": [links[0] | {"rate_bps": 100.5}, *links[1:]]}
    assert off({"rate as set": 8_000_000.0}, **asked) == []
    assert off({"rate as set": 100.0, "rate": None}, **slow) == []
    assert off({"rate as set": 100.5, "rate": None}, **slow) == [told_otherwise("rate_bps", 100.5, 100.0)]


@pytest.mark.parametrize(
    ("told", "link", "says"),
    [
        ({"loss": 0.01 + BY_CHANCE - 1e-5}, {}, None),
        ({"loss": 0.01 + BY_CHANCE + 1e-5}, {}, loss_off(0.01 + BY_CHANCE + 1e-5, 10_000.0, 0.01)),
        ({"loss": 0.01 - BY_CHANCE + 1e-5}, {}, None),
        ({"loss": 0.01 - BY_CHANCE - 1e-5}, {}, loss_off(0.01 - BY_CHANCE - 1e-5, 10_000.0, 0.01)),
        ({"loss": 0.0, "rate": 0.0}, {}, None),
        ({"loss": 0.5, "loss as set": 1.0}, {"loss": 1.0}, None),
        ({"loss": 0.01, "drops": lambda s: s}, {}, None),
        ({"loss": 0.01, "rate": 2e6}, {}, None),
        ({"loss": 0.0, "loss as set": 0.0, "rate": 2e6}, {"loss": 0.0, "queue": {"mode": "drop-tail"}}, None),
        ({"loss": 0.0, "loss as set": 0.0, "drops": lambda s: s}, {"loss": 0.0, "queue": {"mode": "drop-tail"}}, None),
        ({"backlog": 9e9, "loss": 0.01}, {"queue": {"mode": "drop-tail", "packets": 0}}, None),
        ({"backlog": 9e9, "loss": 0.01}, {"queue": {"mode": "backpressure"}}, None),
    ],
)
def test_what_chance_and_a_queue_of_another_kind_allow(told: Told, link: dict[str, Any], says: Saying | None) -> None:
    found = off({"loss as set": 0.01, **told}, link={"loss": 0.01, **link}, **LIMITS)
    assert found == ([says] if says else [])


def test_a_burst_is_part_of_the_rate_only_where_the_link_has_one() -> None:
    assert off({"rate": 10_008_016.0}, link={"burst_bytes": 0}, **LIMITS) == [too_fast(10.008016)]
    plan = small_plan()["links"][0]
    del plan["burst_bytes"]
    assert off({"rate": 10_008_000.0}, links=[plan], **LIMITS) == []
    assert off({"rate": 10_008_004.0}, links=[plan], **LIMITS) != []


def test_a_queue_further_on_may_be_empty_between_two_samples() -> None:
    slow: Told = {"rate": 2e6}
    assert off(slow) != []
    behind = small_session(connections=[{"index": 1, "link": "fast", "path": ["slow", "fast"]}])
    assert off(slow, sessions=[small_session(), behind | {"name": "s2"}]) == []


def test_a_queue_before_a_slower_link_may_be_empty_too_unless_it_lasts_until_the_next_sample() -> None:
    ahead = small_session(connections=[{"index": 1, "link": "fast", "path": ["fast", "slow"]}])
    links = [link | {"queue": {"mode": "backpressure", "packets": 500}} for link in small_plan()["links"]]
    asked: dict[str, Any] = {"sessions": [ahead], "interval_ms": 125, "links": links}
    # 50,000 bytes on the line, 2,500 of doubt, four packets, and 125 ms of 1000 packets a second.
    assert off({"rate": 2e6, "backlog": 181_500.0}, **asked) == []
    assert off({"rate": 2e6, "backlog": 181_501.0}, **asked) == [too_slow(2.0)]
    equal = [links[0], links[1] | {"rate_bps": 8_000_000}]
    assert off({"rate": 2e6}, **asked | {"links": equal}) != [], "windows may wait here as well as there"
    slowed = {"kind": "set", "at_s": 9.0, "link": "slow", "direction": "both", "properties": {"rate_bps": 1_000_000}}
    assert off({"rate": 2e6}, timeline=[slowed], **asked | {"links": equal}) == []
    for way in ("ab", "ba"):
        assert off({"rate": 2e6}, timeline=[{**slowed, "direction": way}], **asked | {"links": equal}) == []


@pytest.mark.parametrize(
    "link",
    [
        {"jitter_ms": 3.0},
        {"jitter_file": "x"},
        {"reorder": 0.1},
        {"duplicate": 0.1},
        {"gilbert_elliott": {"enter": 0.1}},
        {"trace_file": "x"},
    ],
)
def test_means_say_little_of_some_properties(link: dict[str, Any]) -> None:
    assert off({"delay": 70.0, "rate as set": 1.0}, link=link) == []


def setting(at_s: float, direction: str = "both", **properties: Any) -> dict[str, Any]:
    action = {"at_s": at_s, "kind": "set", "link": "fast", "text": ""}
    return {**action, "direction": direction, "properties": properties}


def test_after_a_change_the_new_properties_hold() -> None:
    slower = [setting(4.0, delay_ms=80.0)]
    # At 4 s the link may still say 50; a little later it may not; what is measured has time to settle.
    told: Told = {"delay as set": lambda s: 80.0 if s >= 4.11 else 50.0, "delay": lambda s: 80.0 if s > 4.6 else 50.0}
    assert off({**told, "backlog": 90_000.0}, timeline=slower) == []
    late: Told = {"delay as set": lambda s: 80.0 if s > 4.125 else 50.0, "delay": 80.0}
    assert off(late, timeline=slower) == [delay_off(80.0, 30.0, 50.0), told_otherwise("delay_ms", 50.0, 80.0)]
    early: Told = {"delay as set": lambda s: 80.0 if s >= 3.875 else 50.0}
    assert off(early, timeline=slower) == [told_otherwise("delay_ms", 80.0, 50.0), delay_off(50.0, -30.0, 80.0)]


@pytest.mark.parametrize(("direction", "changed"), [("both", True), ("ab", True), ("ba", False)])
def test_a_change_is_of_a_direction(direction: str, changed: bool) -> None:
    told: Told = {"loss as set": lambda s: 0.5 if s >= 4 else 0.0, "loss": lambda s: 0.5 if s >= 4 else 0.0}
    found = off(told, timeline=[setting(4.0, direction, loss=0.5)])
    assert [said for said in found if str(said).startswith("link fast ab: ")] == (
        [] if changed else [told_otherwise("loss", 0.5, 0.0), loss_off(0.379844961, 10_000.0, 0.0)]
    )
    other = [{**setting(4.0, direction, loss=0.5), "link": "slow"}]
    assert off(told, timeline=other) != []


def test_a_new_loss_takes_the_place_of_bursts() -> None:
    bursts = {"gilbert_elliott": {"enter": 0.1}}
    told: Told = {"loss as set": 0.7, "delay": 70.0}
    assert off(told, link=bursts, timeline=[setting(4.0, delay_ms=50.0)]) == []
    assert off(told, link=bursts, timeline=[setting(4.0, loss=0.0)]) == [
        told_otherwise("loss", 0.7, 0.0),
        delay_off(70.0, 20.0, 50.0),
    ]


def test_an_unplugged_link_is_not_asked_until_it_is_back() -> None:
    wrong: Told = {"delay": lambda s: 70.0 if 2 < s < 4 else 50.0, "rate as set": lambda s: 0.0 if 2 < s < 4 else 8e6}
    unplugged = {"at_s": 2.0, "kind": "carrier", "link": "fast", "text": "", "up": False}
    back = {**unplugged, "at_s": 4.0, "up": True}
    assert off(wrong, timeline=[unplugged, back]) == []
    assert off({"delay": 70.0}, timeline=[unplugged, back]) == [delay_off(70.0, 20.0, 50.0)] * 2
    paused = {"at_s": 2.0, "kind": "pause_read", "link": "fast", "text": "", "properties": {"delay_ms": 70.0}}
    assert off({}, timeline=[paused]) == []


def test_four_samples_tell_little_and_five_enough() -> None:
    wrong: Told = {"delay": 70.0}
    assert off(wrong, to_s=0.5) == []
    assert len(off(wrong, to_s=0.625)) == 1
    # The last 50 ms before a change are not looked at, and after it 0.3 s and four delays.
    at_end = [setting(0.66, loss=0.0)]
    assert len(off(wrong, to_s=0.7, timeline=at_end)) == 0
    assert len(off(wrong, to_s=0.7, timeline=[setting(0.68, loss=0.0)])) == 1
    assert len(off(wrong, to_s=5.5, timeline=[setting(4.375, loss=0.0)])) == 2
    assert len(off(wrong, to_s=5.375, timeline=[setting(4.375, loss=0.0)])) == 2
    assert len(off(wrong, to_s=5.25, timeline=[setting(4.375, loss=0.0)])) == 1


def test_a_rate_is_that_of_whole_seconds() -> None:
    fast: Told = {"rate": 40e6}
    assert off(fast, to_s=0.875) == []
    assert len(off(fast, to_s=1.0)) == 1
    # With intervals of two seconds, each sample is one.
    assert len(off({"rate": lambda s: 20e6 if s % 4 else 0.0}, interval_ms=2000, **LIMITS)) == 1

    def one_less(name: str, found: Samples) -> Samples:
        return Samples(found.t_ns[1:], found.values[1:]) if name == "backlog" else found

    assert off({"rate": 5e6}) != []
    assert off({"rate": 5e6}, samples=one_less) == [], "backlog and rate are not of the same times"


def test_figures_of_a_fast_link() -> None:
    fast: Told = {"rate as set": 8e9, "backlog": 52.52e6}
    link = {"rate_bps": 8_000_000_000}
    for rate, says in ((40e9, too_fast(40000.0, 8000.0)), (2e9, too_slow(2000.0, 8000.0))):
        (said,) = off({**fast, "rate": rate}, link=link)
        assert said == says
        assert has(said, "mbps", [rate / 1e6, 8000.0])


def test_from_its_first_sample_on_a_link_says_what_it_was_told() -> None:
    told: Told = {"loss as set": lambda s: 0.1 if s < 0.15 else 0.0}
    assert off(told, interval_ms=100) == [told_otherwise("loss", 0.1, 0.0)]


def test_a_short_time_before_a_change_is_passed_over_and_what_follows_is_not() -> None:
    assert len(off({"delay": 70.0}, timeline=[setting(0.3, loss=0.0)])) == 1


def test_what_was_lost_counts_by_the_packets_that_entered() -> None:
    # For a second in turn 200 packets each time of which none is lost, and 10 of which each second is: 5 of 210.
    def many(s: float) -> bool:
        return int(s - 0.06) % 2 == 0

    told: Told = {"rate": lambda s: 12.8e6 if many(s) else 0.32e6, "loss": lambda s: 0.0 if many(s) else 0.5}
    wide: Any = {"limits": {"rate_error": 2.0, "delay_error_ms": 1.0}}
    assert off({**told, "loss as set": 0.024}, link={"loss": 0.024}, **wide) == []
    assert off({**told, "loss as set": 0.25}, link={"loss": 0.25}, **wide) != [], "as the mean of the parts has it"


def test_the_last_packet_before_a_pause_is_not_taken_for_all_that_leave_then() -> None:
    # One of the two packets that entered in (2.0, 2.1] was lost; those that leave then entered before.
    pause: Told = {
        "rate": lambda s: 8e6 if s < 2.15 else 80e3 if s < 2.25 else 0.0,
        "loss": lambda s: 0.01 if s < 2.05 else 0.5 if s < 2.15 else 0.0,
        "backlog": lambda s: 100e3 if s < 2.05 else 1e3 if s < 2.15 else 0.0,
    }
    asked: Any = {"link": {"loss": 0.01}, "interval_ms": 100}
    assert off({**pause, "loss as set": 0.01}, **asked) == []
    assert len(off({**pause, "loss": 0.03, "loss as set": 0.01}, **asked)) == 1


def test_what_is_lost_counts_by_what_entered_and_not_by_what_left() -> None:
    # In turn 100 packets enter, of which 20 are lost and none leaves, and one does, with those 80.
    def even(s: float) -> bool:
        return round(s * 10) % 2 == 0

    told: Told = {
        "rate": lambda s: 81 * 80e3 if even(s) else 0.0,
        "loss": lambda s: 0.0 if even(s) else 0.2,
        "backlog": lambda s: 0.0 if even(s) else 80e3,
    }
    wide: Any = {"interval_ms": 100, "limits": {"rate_error": 2.0, "delay_error_ms": 1.0}}
    assert off({**told, "loss as set": 0.198}, link={"loss": 0.198}, **wide) == []
    assert len(off({**told, "loss as set": 0.1}, link={"loss": 0.1}, **wide)) == 1


def test_a_delay_may_reach_beyond_the_last_sample() -> None:
    far: Told = {"loss": 0.01, "loss as set": 0.01, "delay": 300.0, "delay as set": 300.0}
    assert off(far, link={"loss": 0.01, "delay_ms": 300.0}) == []
