"""Nobody gets more of a link than it carries: at the margin it is let pass, beyond it the run is not to be trusted."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.judge.trust.capacity import violations
from testbed.message import Message
from testbed.series import Samples
from tests.checks.in_memory import Where, at, event, evidence_of, of_session, ticks, to_the
from tests.checks.test_over_time import RAISED, change, one_link
from tests.said import Saying, has


def beyond(
    plan: Any,
    *,
    left_bps: Any = None,
    direction: str = "ab",
    got_bytes: Any = None,
    result: dict[str, Any] | None = None,
    end_s: float = 10.0,
    others: dict[str, Any] | None = None,
) -> list[Message]:
    """What is said of a link that passes so many bits/s, or of a receiver that tells of so many bytes by each time."""
    t, read = ticks(end_s, 0.125), dict[str | tuple[str, Where], dict[str, Samples]]()
    if left_bps is not None:
        read["any_link_achieved_bps", to_the(direction)] = {"fast": at(t, left_bps)}
    for name, bytes_by in {"s1": got_bytes, **(others or {})}.items():
        if bytes_by is None:
            continue
        read["received_bytes", of_session(name)] = {name: at(t, bytes_by)}
    kinds = {"transfer_start": 0.0, "transfer_end": end_s}
    events = [event(kind, at_s, name) for name in others or {} for kind, at_s in kinds.items()]
    results = [{"session": "s1", "role": "receiver", **result}] if result else []
    return violations(evidence_of(plan, read, end_s=end_s, events=events, results=results))


SIM = {"engine": "sim"}
SPARE_BITS = 8 * (3000 + 1000)
"""A burst and a frame."""


def of_fast(direction: str = "ab") -> Saying:
    return Saying("link.beyond-its-rate").at(f"link fast {direction}")


@pytest.mark.parametrize("direction", ["ab", "ba"])
def test_no_more_leaves_a_link_than_its_rate_and_the_margin(direction: str) -> None:
    """10 s without the first sample's interval; the limits permit 2%."""
    at_most = 1e6 * 1.02 + SPARE_BITS / 9.875
    plan = one_link(1e6, **SIM)
    assert not beyond(plan, left_bps=at_most - 1, direction=direction)
    (said,) = beyond(plan, left_bps=at_most + 100, direction=direction)
    assert said.code == "link.beyond-its-rate"
    assert str(said).startswith(f"link fast {direction}: ")


def test_more_than_the_rate_is_seen_wherever_it_is_in_the_run() -> None:
    """A mean would hide it: the link was idle before."""
    (said,) = beyond(one_link(1e6, **SIM), left_bps=lambda t: 2e6 if 7 < t <= 8 else 0.0)
    assert "from 7.0 s to 8.0 s" in str(said)


def test_a_timelines_rates_are_the_ones_that_count() -> None:
    plan = one_link(1e6, RAISED, **SIM)
    assert not beyond(plan, left_bps=lambda t: 8e6 if t > 2 else 1e6)
    assert beyond(plan, left_bps=lambda t: 8e6 if t > 1.5 else 1e6)
    lowered = one_link(8e6, [change(2.0, rate_bps=1e6)], **SIM)
    assert not beyond(lowered, left_bps=lambda t: 1e6 if t > 2 else 8e6)
    assert beyond(lowered, left_bps=8e6)
    assert beyond(one_link(8e6, [{**RAISED[0], "kind": "carrier", "up": False}], **SIM), left_bps=8e6)


def test_what_was_on_the_line_when_the_rate_fell_still_arrives() -> None:
    plan = one_link(8e6, [change(2.0, rate_bps=1e6)], **SIM)
    plan["links"][0]["delay_ms"] = 500.0
    assert not beyond(plan, left_bps=lambda t: 1e6 if t > 2.5 else 8e6)
    assert beyond(plan, left_bps=lambda t: 1e6 if t > 3.0 else 8e6)


def test_less_delay_brings_at_once_what_was_on_the_line() -> None:
    plan = one_link(1e6, [change(5.0, delay_ms=0.0)], **SIM)
    plan["links"][0]["delay_ms"] = 500.0
    assert not beyond(plan, left_bps=lambda t: 5e6 if 5.0 < t <= 5.125 else 1e6)
    assert beyond(plan, left_bps=lambda t: 9e6 if 5.0 < t <= 5.125 else 1e6)


def test_frames_that_jitter_brings_together_are_not_too_many() -> None:
    plan = one_link(1e6, **SIM)
    plan["links"][0]["jitter_ms"] = 400.0
    assert not beyond(plan, left_bps=lambda t: 2e6 if 7 < t <= 8 else 0.0)
    assert beyond(plan, left_bps=2e6)


@pytest.mark.parametrize("unknown", [{"trace_file": "/t"}, {"duplicate": 0.5}])
def test_a_link_whose_rate_no_plan_tells_is_left_alone(unknown: dict[str, Any]) -> None:
    plan = one_link(1e6, **SIM)
    plan["links"][0] |= unknown
    assert not beyond(plan, left_bps=9e6, got_bytes=lambda t: 9e6 * t)


def test_a_kernel_may_be_as_late_as_its_limit() -> None:
    lowered: Any = [change(2.0, rate_bps=1e6)]

    def late(t: float) -> float:
        return 1e6 if t > 2.125 else 6.6e6 if t > 2 else 8e6

    assert beyond(one_link(8e6, lowered, **SIM), left_bps=late)
    assert not beyond(one_link(8e6, lowered), left_bps=late)
    limits = {"rate_error": 0.02, "lateness_max_ms": 10.0}
    assert beyond(one_link(8e6, lowered, limits=limits), left_bps=late)


def test_goodput_that_is_counted_twice_is_not_to_be_trusted() -> None:
    plan = one_link(1e6, **SIM)
    honest = {"goodput_bps": 0.98e6, "duration_s": 10.0}
    assert not beyond(plan, result=honest)
    (said,) = beyond(plan, result={**honest, "goodput_bps": 2 * 0.98e6})
    assert said == Saying("link.more-arrived-than-it-carries", names="fast", t_s=10.0)
    assert has(said, "names", ["fast"])


def test_bytes_that_are_counted_twice_are_not_to_be_trusted() -> None:
    plan = one_link(1e6, RAISED, **SIM)

    def honest(t: float) -> float:
        return 0.98 * (1e6 * t + 7e6 * max(0.0, t - 2)) / 8

    assert not beyond(plan, got_bytes=honest)
    assert beyond(plan, got_bytes=lambda t: 2 * honest(t))
    assert beyond(plan, got_bytes=lambda t: 2 * honest(t) if t < 1 else honest(t)), "though the sum at the end is right"


def test_sessions_that_share_a_link_have_no_more_than_it_carries_together() -> None:
    plan = one_link(1e6, **SIM)
    plan["sessions"].append({**plan["sessions"][0], "name": "b"})

    def half(t: float) -> float:
        return 0.5e6 * t / 8

    assert not beyond(plan, got_bytes=half, others={"b": half})
    assert beyond(plan, got_bytes=half, others={"b": lambda t: 2 * half(t)})


def test_small_packets_in_a_stream_need_fewer_frames() -> None:
    """A frame of 150 bytes for 100 of payload is UDP's."""
    plan = one_link(1e6, **SIM)
    plan["links"][0]["frame_bytes"] = 150
    plan["sessions"][0] |= {"mtu_bytes": 100}

    def got(t: float) -> float:
        return 0.9e6 * t / 8

    assert beyond(plan, got_bytes=got)
    plan["sessions"][0] |= {"transport": "tcp"}
    assert not beyond(plan, got_bytes=got)


def test_a_run_that_never_began_is_told_nothing_of() -> None:
    plan = one_link(1e6, **SIM)
    evidence = evidence_of(plan, {})
    evidence.events.clear()
    assert violations(evidence) == []
