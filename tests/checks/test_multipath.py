"""``multipath``: what a session makes of its paths, beside a sender that knows all beforehand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from testbed.judge.checks import Check, CheckResult, Trust
from testbed.judge.checks.goodput import MOST, crossing, optimum_s
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.planned import Carried, carried
from testbed.judge.judge import judge
from testbed.series import Samples
from tests.checks.in_memory import (
    InMemory,
    at,
    event,
    evidence_of,
    judged,
    of_session,
    small_plan,
    small_session,
    ticks,
)
from tests.said import Saying, sentences

ADAPTER: TypeAdapter[CheckParameters] = TypeAdapter(Check)
BITS = 8000
UP = Carried(1e6, 0.0)
"""Payload of a packet of the small plan."""


def receiver(session: str = "s1", *, seconds: float = 9.0, of: float = 10e6) -> dict[str, Any]:
    return {"session": session, "role": "receiver", "goodput_bps": of * 8 / seconds, "max_reorder_bytes": 70_000}


def asked_of(
    plan: Any,
    samples: Mapping[Any, Mapping[str, Samples]] | None = None,
    seconds: float = 9.0,
    of: Any = "s1",
    **parameters: Any,
) -> CheckResult:
    starts = [event("transfer_start", 0.0, session["name"]) for session in plan["sessions"][1:]]
    evidence = evidence_of(plan, samples or {}, end_s=9.0, events=starts, results=[receiver(of, seconds=seconds)])
    return judged({"judge": "multipath", **parameters}, evidence)


def test_one_link_takes_its_bytes_and_its_delay() -> None:
    assert optimum_s([(0.0, [Carried(1e6, 0.05)])], 1e6 / 8) == pytest.approx(1.05)


def test_what_takes_less_than_a_second_does() -> None:
    assert optimum_s([(0.0, [Carried(1e6, 0.0)])], 0.25e6 / 8) == pytest.approx(0.25)


def test_links_end_together() -> None:
    """In 1.1 s: one link for 1 s, and another one, which is later, for 0.1 s."""
    both = [Carried(1e6, 0.1), Carried(1e6, 1.0)]
    assert optimum_s([(0.0, both)], 1.1e6 / 8) == pytest.approx(1.1)


def test_a_break_brings_nothing_meanwhile() -> None:
    assert optimum_s([(0.0, [UP]), (0.5, []), (1.5, [UP])], 1e6 / 8) == pytest.approx(2.0)


def test_links_that_never_carry_it_have_no_optimum() -> None:
    with pytest.raises(ValueError, match=r"^the links never carry it$"):
        optimum_s([(0.0, [UP]), (0.5, [])], 1e6 / 8)


def test_the_timeline_is_part_of_what_can_be_had() -> None:
    timeline = [
        {"at_s": 1.0, "kind": "set", "link": "fast", "direction": "both", "properties": {"loss": 1.0}, "text": ""},
        {"at_s": 2.0, "kind": "set", "link": "fast", "direction": "ba", "properties": {"loss": 0.0}, "text": ""},
        {"at_s": 3.0, "kind": "set", "link": "fast", "direction": "ab", "properties": {"loss": 0.0}, "text": ""},
        {"at_s": 4.0, "kind": "carrier", "link": "slow", "up": False, "text": ""},
        {"at_s": 5.0, "kind": "set", "link": "fast", "direction": "both", "properties": {"rate_bps": 8e5}, "text": ""},
        {"at_s": 6.0, "kind": "pause_read", "connection": 1, "for_s": 1.0, "text": ""},
    ]
    plan = small_plan(timeline=timeline)
    found = carried(plan, plan["sessions"][0])
    pps = [(0, 1000, 250), (1, 0, 250), (3, 1000, 250), (4, 1000, 0), (5, 100, 0)]
    assert found == [(at_s, [(fast * BITS, 0.05), (slow * BITS, 0.02)]) for at_s, fast, slow in pps]


def test_a_link_that_others_cross_is_shared() -> None:
    plan = small_plan(sessions=[small_session(), small_session("s2", connections=[{"index": 1, "link": "fast"}])])
    ((_, (fast, slow)),) = carried(plan, plan["sessions"][0], crossing(plan))
    assert (fast.bps, slow.bps) == (500 * BITS, 250 * BITS)


def test_a_link_that_two_connections_share_counts_once() -> None:
    plan = small_plan(sessions=[small_session(connections=[{"index": n, "link": "fast"} for n in (1, 2)])])
    ((_, (fast,)),) = carried(plan, plan["sessions"][0])
    assert fast.bps == 1000 * BITS


def test_what_arrives_has_the_delay_of_when_it_left() -> None:
    """0.5 Mbit by 1.5 s, as the link takes a second, and the rest at once: nothing lies between the two."""
    assert optimum_s([(0.0, [Carried(1e6, 1.0)]), (0.5, [Carried(1e6, 0.2)])], 1e6 / 8) == pytest.approx(1.35)
    assert optimum_s([(0.0, [Carried(1e6, 0.2)]), (0.5, [Carried(1e6, 1.0)])], 1e6 / 8) == pytest.approx(2.0)


def test_goodput_is_a_part_of_the_optimum() -> None:
    """10 MB over 1000 and 250 packets/s of 1000 bytes, 50 and 20 ms away: 8.044 s at best."""
    result = asked_of(small_plan(), min=0.9)
    assert result.status == "fail"
    assert result.measured == pytest.approx(8.044 / 9, abs=1e-4)
    assert result.expected == "at least 0.9"
    assert result.figures == {"of_optimum": result.measured, "reorder_bytes": 70_000}
    mib_s = 10e6 / 2**20
    said = result.said
    assert said == Saying("multipath.of-optimum", mib_s=mib_s / 9, part=8.044 / 9, best_mib_s=mib_s / 8.044, min=0.9)
    assert asked_of(small_plan(), min=0.8).status == "pass"


@pytest.mark.parametrize("times", [1.0, MOST])
def test_the_optimum_and_the_most_that_is_believed_pass(times: float) -> None:
    plan = small_plan()
    session = plan["sessions"][0]
    best_bps = session["transfer_bytes"] * 8 / optimum_s(carried(plan, session), session["transfer_bytes"])
    evidence = evidence_of(plan, {}, end_s=9.0, results=[receiver() | {"goodput_bps": times * best_bps}])
    result = judged({"judge": "multipath", "min": 1.0}, evidence)
    assert (result.status, list(sentences(result.said))) == ("pass", ["multipath.of-optimum"])


def test_it_is_asked_of_the_named_session() -> None:
    sessions = [small_session(), small_session("s2", transfer_bytes=20_000_000)]
    assert asked_of(small_plan(sessions=sessions), of="s2", session="s2").figures["reorder_bytes"] == 70_000


def test_more_than_the_links_carry_fails() -> None:
    """Whatever was asked: whoever tells of it has not told what arrived."""
    result = asked_of(small_plan(), seconds=7.0)
    assert result.status == "fail"
    assert "multipath.beyond" in sentences(result.said)


def test_more_than_an_even_share_need_not_be_a_lie() -> None:
    sessions = [small_session(), small_session("s2", connections=[{"index": 1, "link": "fast"}])]
    flow = [{"number": 1, "path": ["fast"]}]
    for plan in (small_plan(sessions=sessions), small_plan(cross_traffic=flow)):
        result = asked_of(plan, seconds=8.5)
        assert result.status == "pass"
        assert result.measured == pytest.approx(13.35 / 8.5, abs=0.01)


def test_rtts_are_beside_those_without_a_queue() -> None:
    """Of 125 and 65 ms; before the first answer, and of a connection that was never answered, nothing is said."""

    def times(first: Any) -> Any:
        rtts = {"1": at(ticks(9), first), "2": at(ticks(9), 0.0)}
        return asked_of(small_plan(), {("rtt_ms", of_session()): rtts}).figures.get("rtt_of_base")

    assert times(lambda t: 250.0 if t > 1 else 0.0) == 2
    assert times(0.5) == 0.5 / 125


def returned(delivered_pps: Any) -> float:
    samples = {("delivered_pps", of_session()): {"1": at(ticks(9), 1000.0), "2": at(ticks(9), delivered_pps)}}
    figures = asked_of(small_plan(), samples, returned=2, at=4).figures
    assert set(figures) == {"of_optimum", "reorder_bytes", "reused_s"}
    return float(figures["reused_s"])


def test_a_path_is_in_use_again_at_half_of_its_rate() -> None:
    assert returned(lambda t: 0 if 3 <= t < 5 else 124.0 if t < 6 else 125.0) == pytest.approx(2)


def test_one_that_never_is_counts_to_the_end() -> None:
    """So that a sender that starves a path does not have the better figure for it."""
    assert returned(lambda t: 0 if t >= 3 else 250.0) == pytest.approx(5)


def test_a_transfer_that_was_over_before_can_not_tell() -> None:
    for told in ({"2": at(ticks(3), 250.0)}, {"1": at(ticks(9), 250.0)}):
        result = asked_of(small_plan(), {("delivered_pps", of_session()): told}, returned=2, at=4)
        assert (result.status, result.figures) == ("error", {})
        assert result.said == Saying("multipath.over-before", at_s=4)


def test_a_rival_has_a_part_of_an_even_share() -> None:
    sessions = [small_session(), small_session("s2", connections=[{"index": 1, "link": "fast"}])]
    samples = {
        ("received_bytes", of_session(name)): {name: at(ticks(9), [rate * t for t in ticks(9)])}
        for name, rate in (("s1", 875_000), ("s2", 375_000))
    }
    result = asked_of(small_plan(sessions=sessions), samples, rival="s2", **{"from": 2, "to": 8})
    assert result.figures["rival_share"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"returned": 2}, "returned and at, or none"),
        ({"rival": "s2"}, "rival, from and to, or none"),
        ({"rival": "s2", "from": "3s", "to": "3s"}, "later than from"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        ADAPTER.validate_python({"name": "use", "judge": "multipath", **wrong})


def test_its_figures_are_the_runs_own(tmp_path: Path) -> None:
    (tmp_path / "s1-receiver.json").write_text(json.dumps(receiver()))
    plan = small_plan(checks=[{"name": "use", "judge": "multipath"}])
    reader = InMemory({}, [event("transfer_start", 0), event("transfer_end", 9)], "r1")
    figures = judge(plan, reader, tmp_path, Trust(trusted=True)).figures
    assert figures["of_optimum"] == pytest.approx(8.044 / 9, abs=1e-4)
    assert figures["goodput_mib_s"] == pytest.approx(10e6 / 9 / 2**20, abs=1e-4)
