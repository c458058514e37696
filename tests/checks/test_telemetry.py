"""Telemetry that can't be believed: each defect at its limit is let pass, and beyond it named with its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from testbed.judge.trust import telemetry
from testbed.message import Message
from testbed.series import Event, Samples
from tests.checks.in_memory import START_NS, at, event, evidence_of, of_session, small_plan, small_session, ticks
from tests.checks.results import S2_STARTS, Groups, ends, later
from tests.said import Saying

RATES = {"1": 1000.0, "2": 250.0}
NORMALISED = {"name": "nkp24", "normalised": True}
DELIVERED = [{"index": 1, "received": 10_000, "delivered": 10_000}, {"index": 2, "received": 2_500, "delivered": 2_500}]
SENT = [{"index": 1, "sent": 10_000}, {"index": 2, "sent": 2_500}]
RESULTS = [
    {"session": "s1", "role": "sender", "connections": SENT},
    {"session": "s1", "role": "receiver", "connections": DELIVERED},
]


def sound(to_s: float = 10.0, interval_s: float = 0.1) -> Groups:
    """What two connections with windows of 3000 and 1000 packets write."""
    t = ticks(to_s, interval_s)
    return {
        "window_packets": {"1": at(t, 3000.0), "2": at(t, 1000.0)},
        "window_share": {"1": at(t, 0.75), "2": at(t, 0.25)},
        "acknowledged_pps": {c: at(t, r) for c, r in RATES.items()},
        "delivered_pps": {c: at(t, r) for c, r in RATES.items()},
        "acked": {c: at(t, [r * s for s in t]) for c, r in RATES.items()},
        "rtt_ms": {"1": at(t, 120.0), "2": at(t, 60.0)},
    }


def reasons(samples: Groups | None = None, plan: dict[str, Any] | None = None, **changes: Any) -> list[Message]:
    plan = plan or small_plan(sessions=[small_session(policy_facts=NORMALISED)])
    return telemetry.violations(
        evidence_of(plan, sound() if samples is None else samples, **{"results": RESULTS, **changes})
    )


def of_s1(code: str, **parameters: Any) -> Saying:
    return Saying(code, session="s1", **parameters)


def of_one(code: str, connection: str = "2", **parameters: Any) -> Saying:
    """What is said of a connection of session s1."""
    series = parameters.pop("series", "")
    return of_s1(code, **parameters).at(f"session s1: connection {connection}{series and f', {series}'}")


GAP, FEW = "telemetry.gap", "telemetry.too-few-samples"
EXACT = (sound(10.0, 0.125), small_plan(telemetry={"interval_ms": 125}))
"""With times that have no rounding: for values at a limit."""


def keep(samples: Groups, series: str, connection: str, wanted: Callable[[float], bool]) -> Groups:
    """Only some of a series' samples, by their time."""
    whole = samples[series][connection]
    some = np.array([wanted(t) for t in whole.since(START_NS).tolist()], dtype=bool)
    return {**samples, series: {**samples[series], connection: Samples(whole.t_ns[some], whole.values[some])}}


def changed(samples: Groups, series: str, connection: str, value: Callable[[float], float]) -> Groups:
    whole = samples[series][connection]
    new = Samples(whole.t_ns, np.array([value(t) for t in whole.since(START_NS).tolist()], dtype=np.float64))
    return {**samples, series: {**samples[series], connection: new}}


def test_sound_telemetry_is_believed() -> None:
    assert reasons() == []


def test_it_is_asked_of_all_that_send_ncp() -> None:
    assert reasons({}) == [
        of_one("telemetry.no-samples", connection, series=series)
        for connection in ("1", "2")
        for series in ("window_packets", "delivered_pps")
    ]
    assert reasons({}, small_plan(traffic="tcp")) == []
    without = [
        {key: value for key, value in small_session().items() if key != gone}
        for gone in ("send_window_bytes", "connections")
    ]
    for session in (*without, small_session(carrier="tcp")):
        found = reasons({}, small_plan(sessions=[session, small_session("s2")]), events=S2_STARTS)
        assert len(found) == 4
        assert all("s2" in str(said) for said in found)


def test_it_is_asked_of_every_session() -> None:
    plan = small_plan(sessions=[small_session("s2"), small_session("s1")])
    samples: Groups = {**later(sound()), **{(str(series), of_session()): of for series, of in sound().items()}}
    assert reasons(samples, plan, events=S2_STARTS, results=[]) == []
    gone = ("window_packets", of_session("s2"))
    found = reasons({**samples, gone: {"1": samples[gone]["1"]}}, plan, events=S2_STARTS, results=[])
    assert found == [Saying("telemetry.no-samples", session="s2").at("session s2: connection 2, window_packets")]


def test_results_without_what_they_are_of_are_not_believed() -> None:
    unnamed = [{"sent": 10_000}]
    (said,) = reasons(results=[{**RESULTS[0], "connections": unnamed}, RESULTS[1]])
    assert said == Saying("telemetry.unknown", session="s1", error="'index'")
    assert str(said).endswith("'index'")


def test_four_fifths_of_the_samples_are_enough() -> None:
    plan = small_plan(telemetry={"interval_ms": 125})

    def said(missing: int) -> list[Message]:
        gone = {k * 0.5 for k in range(1, missing + 1)}
        samples = keep(sound(12.75, 0.125), "window_packets", "2", lambda t: t not in gone)
        return reasons(samples, plan, end_s=12.75, results=[])

    assert said(22) == []
    assert said(23) == [of_one(FEW, series="window_packets", samples=79, promised=100)]


def test_half_an_interval_apart_is_not_too_close() -> None:
    plan = small_plan(telemetry={"interval_ms": 125})
    t = sorted([*ticks(10.0, 0.125), *(2.0625 + k for k in range(5))])
    samples = {**sound(10.0, 0.125), "delivered_pps": {c: at(t, r) for c, r in RATES.items()}}
    assert reasons(samples, plan, results=[]) == []


def test_points_of_another_run() -> None:
    assert reasons(run="r0") == [Saying("telemetry.of-other-runs", others="r0", run="r1")]


def test_of_a_program_of_its_own_runs_packets_and_timeline_are_looked_at() -> None:
    plan = small_plan(traffic="program", timeline=[LOSS])
    assert reasons({}, plan, run="r0", results=ends({"bytes": 1}, {"bytes": 1})) == [
        Saying("telemetry.of-other-runs", others="r0", run="r1"),
        of_s1("program.nothing-captured").at("session s1"),
        not_done("loss", 4.0),
    ]


def test_a_run_that_did_not_end_or_never_began_is_left_to_its_checks() -> None:
    assert reasons({}, end_s=None) == []
    plan = small_plan(timeline=[{"at_s": 1.0, "kind": "carrier", "text": "off", "link": "fast", "up": False}])
    evidence = evidence_of(plan, {})
    evidence.events[:] = [event("transfer_start", 0.0, "other")]
    assert telemetry.violations(evidence) == []


@pytest.mark.parametrize(
    ("engine", "series", "is_there", "code", "figures"),
    [
        ("mininet", "window_packets", lambda t: not 3.05 < t < 3.95, "", {}),
        ("mininet", "window_packets", lambda t: not 3.05 < t < 4.05, GAP, {"gap_s": 1.1, "at_s": 3.0}),
        ("mininet", "delivered_pps", lambda t: not t < 1.15, GAP, {"gap_s": 1.2, "at_s": 0.0}),
        ("mininet", "delivered_pps", lambda t: t < 8.85, GAP, {"gap_s": 1.2, "at_s": 8.8}),
        ("sim", "window_packets", lambda t: not 3.05 < t < 3.25, "", {}),
        ("sim", "window_packets", lambda t: not 3.05 < t < 3.35, GAP, {"gap_s": 0.4, "at_s": 3.0}),
        ("mininet", "window_packets", lambda t: round(10 * t) % 4 != 0 or t > 8.5, "", {}),
        (
            "mininet",
            "window_packets",
            lambda t: round(10 * t) % 4 != 0 or t > 8.9,
            "telemetry.too-few-samples",
            {"samples": 78, "promised": 98},
        ),
    ],
)
def test_gaps(engine: str, series: str, is_there: Callable[[float], bool], code: str, figures: Any) -> None:
    plan = small_plan(engine=engine, sessions=[small_session()])
    told = [of_one(code, series=series, **figures)] if code else []
    assert reasons(keep(sound(), series, "2", is_there), plan, results=[]) == told


@pytest.mark.parametrize(("interval_s", "gap_s", "found"), [(0.5, 1.5, []), (0.5, 2.0, ["1", "2"])])
def test_a_gap_is_three_intervals_where_those_are_long(interval_s: float, gap_s: float, found: list[str]) -> None:
    plan = small_plan(telemetry={"interval_ms": 1000 * interval_s})
    samples = sound(20.0, interval_s)
    for connection in ("1", "2"):
        samples = keep(samples, "delivered_pps", connection, lambda t: not 4.1 < t < 4 + gap_s - 0.1)
    said = reasons(samples, plan, end_s=20.0, results=[])
    assert said == [of_one(GAP, c, series="delivered_pps", gap_s=2.0, at_s=4.0) for c in found]


@pytest.mark.parametrize(
    ("to_s", "more", "apart_s", "close"),
    [
        (5.0, 2, 0.049, 0),
        (5.0, 3, 0.049, 3),
        (10.0, 2, 0.049, 0),
        (10.0, 3, 0.049, 3),
        (20.0, 4, 0.04, 0),
        (20.0, 5, 0.04, 5),
    ],
)
def test_samples_too_close_to_each_other(to_s: float, more: int, apart_s: float, close: int) -> None:
    t = sorted([*ticks(to_s), *(2.0 + k + apart_s for k in range(more))])
    samples = {**sound(to_s), "delivered_pps": {c: at(t, r) for c, r in RATES.items()}}
    said = reasons(samples, small_plan(), end_s=to_s, results=[])
    told = [of_one("telemetry.samples-too-close", c, series="delivered_pps", close=close) for c in "12"]
    assert said == (told if close else [])


@pytest.mark.parametrize(("share", "off"), [(0.7509, 0), (0.7512, 0.0012), (0.745, 0.005), (0.25, 0.5)])
def test_a_share_is_its_window_over_the_sum(share: float, off: float) -> None:
    found = reasons(changed(sound(), "window_share", "1", lambda t: share if t == 5 else 0.75))
    assert found == ([of_s1("telemetry.share-off", off=off).at("session s1")] if off else [])


def test_shares_without_windows_say_nothing() -> None:
    t = ticks(10)
    nothing = {c: at(t, lambda s: 0.0 if s < 1 else 2000.0) for c in "12"}
    halves = {c: at(t, 0.5) for c in "12"}
    assert reasons({**sound(), "window_packets": nothing, "window_share": halves}) == []
    assert reasons({**sound(), "window_share": {}}) == []
    odd = keep(sound(), "window_share", "2", lambda t: t != 5)
    assert reasons(changed(odd, "window_share", "1", lambda _: 0.1)) == [], "not at the same times"
    shifted = {c: Samples(s.t_ns - (1000 if c == "2" else 0), s.values) for c, s in sound()["window_share"].items()}
    assert reasons({**sound(), "window_share": {"1": at(t, 0.1), "2": shifted["2"]}}) == []


@pytest.mark.parametrize(
    ("times", "facts", "largest"),
    [(1.0005, NORMALISED, 0.0), (1.001, NORMALISED, 4004.0), (1.001, {"name": "nkp24"}, 0.0)],
)
def test_windows_sum_to_the_sessions_and_a_packet_for_each_that_is_at_the_least(
    times: float, facts: dict[str, Any], largest: float
) -> None:
    windows = {c: Samples(s.t_ns, s.values * times) for c, s in sound()["window_packets"].items()}
    plan = small_plan(sessions=[small_session(policy_facts=facts)])
    told = of_s1("telemetry.windows-over-the-sessions", largest=largest, whole=4000.0).at("session s1")
    assert reasons({**sound(), "window_packets": windows}, plan) == ([told] if largest else [])


@pytest.mark.parametrize(("rate", "off"), [(1050.0, 0), (1051.0, 51.0), (949.0, 51.0), (950.0, 0)])
def test_a_rate_is_what_its_counter_rises_by(rate: float, off: float) -> None:
    samples, plan = EXACT
    found = reasons(changed(samples, "acknowledged_pps", "1", lambda _: rate), plan)
    assert found == ([of_one("telemetry.rate-off-its-counter", "1", off=off)] if off else [])


def test_a_rate_counts_over_a_second_and_in_its_median() -> None:
    # The counter stands still until 2 s; a rate of a second's mean follows it from there on.
    late = changed(sound(), "acked", "1", lambda t: 1000 * max(0.0, t - 2))
    late = changed(late, "acknowledged_pps", "1", lambda t: 1000 * min(1.0, max(0.0, t - 2)))
    assert reasons(late) == []
    assert reasons(changed(sound(), "acknowledged_pps", "1", lambda t: 0.0 if t < 5 else 1000.0)) == []
    assert reasons(changed(sound(), "acknowledged_pps", "2", lambda t: 0.0 if t < 6 else 250.0)) == [
        of_one("telemetry.rate-off-its-counter", off=250.0)
    ]
    # Without a counter of its own, or with few samples, nothing is said.
    assert reasons({**sound(), "acked": {"1": sound()["acked"]["1"]}}) == []
    assert (
        reasons(
            {
                **sound(),
                "acked": {"2": sound()["acked"]["2"]},
                "acknowledged_pps": {"1": at([1.0], [1.0]), "2": sound()["acknowledged_pps"]["2"]},
            }
        )
        == []
    )


def test_a_rate_counts_from_the_youngest_sample_that_is_a_second_old() -> None:
    """Packets come in bursts, and each sample but the first is a few nanoseconds short of a second after the tenth
    before it."""
    t_ns = np.array([START_NS + k * 100_000_000 - k for k in range(200)])
    acked = np.array([100.0 * (k // 5) + 20.0 for k in range(200)])
    rate = np.zeros(200)
    for k in range(11, 200):
        back = 10 if t_ns[k] - t_ns[k - 10] >= 1_000_000_000 else 11
        rate[k] = (acked[k] - acked[k - back]) / ((t_ns[k] - t_ns[k - back]) / 1e9)
    tenth = (acked[11:] - acked[1:-10]) / ((t_ns[11:] - t_ns[1:-10]) / 1e9)
    assert np.median(np.abs(tenth - rate[11:])) > 0.05 * tenth.max(), "the tenth before it would not do"
    told = {**sound(20.0), "acked": {"1": Samples(t_ns, acked)}, "acknowledged_pps": {"1": Samples(t_ns, rate)}}
    assert reasons(told, end_s=20.0, results=[]) == []
    forged = {**told, "acknowledged_pps": {"1": Samples(t_ns, rate * 1.1)}}
    assert len(reasons(forged, end_s=20.0, results=[])) == 1


def test_a_sample_that_is_just_a_second_old_is_that_old() -> None:
    """With a burst each half second, which a longer time would count one more of."""
    t = ticks(20.0, 0.125)
    acked = [1000.0 * (8 * s // 4) for s in t]
    rate = [(acked[k] - acked[k - 8]) if k >= 8 else 0.0 for k in range(len(t))]
    assert set(rate[8:]) == {2000.0}
    told = {**sound(20.0, 0.125), "acked": {"1": at(t, acked)}, "acknowledged_pps": {"1": at(t, rate)}}
    plan = small_plan(telemetry={"interval_ms": 125})
    assert reasons(told, plan, end_s=20.0, results=[]) == []
    short = changed(told, "acknowledged_pps", "1", lambda _: 1850.0)
    assert reasons(short, plan, end_s=20.0, results=[]) == [of_one("telemetry.rate-off-its-counter", "1", off=150.0)]


def test_a_second_that_no_sample_is_old_tells_no_rate() -> None:
    assert reasons(sound(0.9, 0.02), small_plan(telemetry={"interval_ms": 20}), end_s=0.9, results=[]) == []
    wrong = changed(sound(), "acknowledged_pps", "2", lambda _: 100.0)
    for series in ("acknowledged_pps", "acked"):
        wrong[series] = {"1": sound(0.9, 0.02)[series]["1"], "2": wrong[series]["2"]}
    assert reasons(wrong) == [of_one("telemetry.rate-off-its-counter", off=150.0)]


def test_a_connection_without_a_counter_hides_no_other() -> None:
    wrong = changed(sound(), "acknowledged_pps", "2", lambda _: 100.0)
    assert reasons({**wrong, "acked": {"2": wrong["acked"]["2"]}}) == [
        of_one("telemetry.rate-off-its-counter", off=150.0)
    ]


def test_a_rate_is_per_second_where_samples_do_not_fall_on_seconds() -> None:
    assert reasons(sound(20.0, 0.4), small_plan(telemetry={"interval_ms": 400}), end_s=20.0, results=[]) == []


def test_a_slow_rate_may_be_a_twentieth_of_a_packet_a_second_off() -> None:
    samples, plan = EXACT
    slow = changed(changed(samples, "acked", "2", lambda t: t), "acknowledged_pps", "2", lambda _: 0.925)
    assert reasons(slow, plan) == [of_one("telemetry.rate-off-its-counter", off=0.075)]
    near = changed(slow, "acknowledged_pps", "2", lambda _: 0.96875)
    assert reasons(near, plan) == []


@pytest.mark.parametrize(("n", "found"), [(19, 0), (20, 1)])
def test_few_samples_tell_no_rate(n: int, found: int) -> None:
    samples = changed(sound(n / 10), "acknowledged_pps", "1", lambda _: 3000.0)
    assert len(reasons(samples, end_s=n / 10, results=[])) == found
    assert len(reasons(sound(n / 10), end_s=n / 10)) == 2 * found  # the results are of ten seconds


@pytest.mark.parametrize(
    ("delivered", "found"), [(9_091, 0), (9_000, 0), (7_999, 1), (8_000, 0), (12_000, 0), (12_001, 1)]
)
def test_deliveries_sum_to_what_arrived(delivered: int, found: int) -> None:
    got = [{**DELIVERED[0], "delivered": delivered, "received": delivered}, DELIVERED[1]]
    said = reasons(*EXACT, results=[{**RESULTS[0], "connections": []}, {**RESULTS[1], "connections": got}])
    told = of_one("telemetry.deliveries-off", "1", brought=10_000.0, delivered=delivered)
    assert said == ([told] if found else [])


def test_a_tenth_of_many_deliveries_may_be_missing() -> None:
    def said(delivered: int) -> list[Message]:
        told = [
            DELIVERED[0] | {"delivered": 30_000, "received": 30_000},
            DELIVERED[1] | {"delivered": delivered, "received": delivered},
        ]
        return reasons(
            sound(30.0), end_s=30.0, results=[RESULTS[0] | {"connections": []}, {**RESULTS[1], "connections": told}]
        )

    assert said(8_333) == []
    assert said(8_334) == [of_one("telemetry.deliveries-off", brought=7_500.0, delivered=8_334)]
    assert said(0) == []


def test_what_a_connection_did_not_tell_is_no_delivery() -> None:
    got = [
        {"index": 3, "delivered": 5},
        {"index": 1, "received": 10_000},
        {**DELIVERED[1], "delivered": 9_000, "received": 9_000},
    ]
    assert reasons(results=[{**RESULTS[0], "connections": []}, {**RESULTS[1], "connections": got}]) == [
        of_one("telemetry.deliveries-off", brought=2_500.0, delivered=9_000)
    ]


def too_short(connection: str, rtt_ms: float, least_ms: float) -> Saying:
    return of_one("telemetry.rtt-too-short", connection, rtt_ms=rtt_ms, least_ms=least_ms)


# Connection 1's links take 2 × 50 ms there and back, and 2% and 1 ms less may be measured.
@pytest.mark.parametrize(
    ("links", "timeline", "rtt_ms", "least_ms"),
    [
        ({}, [], 97.0, 0),
        ({}, [], 96.9, 100.0),
        ({"jitter_ms": 5.0}, [], 0.5, 0),
        ({"jitter_file": "x"}, [], 0.5, 0),
        ({"reorder": 0.1}, [], 0.5, 0),
        ({}, [{"link": "fast", "properties": {"reorder": 0.1}}], 0.5, 0),
        ({}, [{"link": "fast", "properties": {"reorder": 0.0}}], 96.9, 100.0),
        ({}, [{"link": "slow", "properties": {"reorder": 0.1}}], 96.9, 100.0),
        ({}, [{"link": "fast", "properties": {"delay_ms": 20.0}}], 38.2, 0),
        ({}, [{"link": "fast", "properties": {"delay_ms": 20.0}}], 38.0, 40.0),
        ({}, [{"link": "fast", "properties": {"delay_ms": 70.0}}], 96.9, 100.0),
        ({}, [{"link": "fast", "properties": {"loss": 0.1}}], 96.9, 100.0),
        ({}, [{"link": "slow", "properties": {"delay_ms": 10.0}}], 96.9, 100.0),
    ],
)  # fmt: skip
def test_no_packet_is_faster_than_its_path(links: Any, timeline: Any, rtt_ms: float, least_ms: float) -> None:
    of_set = {"at_s": 99.0, "kind": "set", "direction": "both", "text": "x"}
    plan = small_plan(timeline=[{**of_set, **action} for action in timeline])
    plan["timeline"].append({"at_s": 99.0, "kind": "carrier", "link": "fast", "up": False, "text": "y"})
    plan["links"][0] |= links
    found = reasons(changed(sound(), "rtt_ms", "1", lambda t: rtt_ms if t > 4 else 500.0), plan)
    assert found == ([too_short("1", rtt_ms, least_ms)] if least_ms else [])


def test_every_link_of_a_path_takes_its_time() -> None:
    path = [{"index": 1, "link": "slow", "path": ["fast", "slow"]}, {"index": 2, "link": "slow"}]
    plan = small_plan(sessions=[small_session(connections=path)])
    assert reasons(plan=plan) == [too_short("1", 120.0, 140.0)]
    only = {**sound(), "rtt_ms": {"2": at([1.0], [1.0])}}
    assert reasons(only, plan) == [too_short("2", 1.0, 40.0)]


def more_arrived(came: int, left: int) -> Saying:
    return of_one("telemetry.more-arrived-than-sent", came=came, left=left)


@pytest.mark.parametrize(
    ("received", "link", "action", "found"),
    [
        (2_500, {}, {}, 0),
        (2_501, {}, {}, 1),
        (2_501, {"duplicate": 0.1}, {}, 0),
        (2_501, {}, {"link": "slow", "properties": {"duplicate": 0.1}}, 0),
        (2_501, {}, {"link": "fast", "properties": {"duplicate": 0.1}}, 1),
        (2_501, {}, {"link": "slow", "properties": {"loss": 0.1}}, 1),
        (None, {}, {}, 0),
    ],
)
def test_no_more_arrives_than_was_sent(received: int | None, link: Any, action: Any, found: int) -> None:
    plan = small_plan(
        timeline=[{"at_s": 99.0, "kind": "set", "direction": "both", "text": "x", **action}] if action else []
    )
    plan["links"][1] |= link
    told = [{"index": 3, "received": 9}, {**DELIVERED[1], "received": received}]
    left = [{"index": 4, "sent": 1}, *SENT]
    said = reasons(plan=plan, results=[{**RESULTS[0], "connections": left}, {**RESULTS[1], "connections": told}])
    assert said == ([more_arrived(2_501, 2_500)] if found else [])


def test_arrivals_are_compared_where_both_ends_tell_of_them() -> None:
    unsent = [{"index": 1}, {"index": 2, "sent": 2_499}]
    assert reasons(results=[{**RESULTS[0], "connections": unsent}, RESULTS[1]]) == [more_arrived(2_500, 2_499)]
    assert reasons(results=RESULTS[:1]) == []
    assert reasons(results=RESULTS[1:]) == []


LOSS = {"at_s": 4.0, "kind": "set", "text": "loss", "link": "fast", "direction": "both", "properties": {"loss": 0.0}}
PAUSE = {"at_s": 10.0, "kind": "pause_read", "text": "paused", "connection": 1, "for_s": 0.1}
LATER = {"at_s": 10.1, "kind": "carrier", "text": "unplugged", "link": "fast", "up": False}


def not_done(action: str, at_s: float) -> Saying:
    return Saying("timeline.not-done", action=action, at_s=at_s)


@pytest.mark.parametrize(
    ("done", "says"),
    [
        ([(4.0, "loss"), (10.0, "paused")], []),
        ([(4.1, "loss"), (9.9, "paused")], []),
        ([(4.101, "loss"), (10.0, "paused")], [Saying("timeline.late", action="loss", done_s=4.101, at_s=4.0)]),
        ([(3.899, "loss"), (10.0, "paused")], [Saying("timeline.late", action="loss", done_s=3.899, at_s=4.0)]),
        ([(10.0, "paused")], [not_done("loss", 4.0)]),
        ([], [not_done("loss", 4.0), not_done("paused", 10.0)]),
        ([(4.0, "loss"), (10.0, "paused"), (2.0, "more")], [Saying("timeline.unasked", action="more")]),
        ([(7.0, "loss"), (4.0, "loss"), (10.0, "paused")], [Saying("timeline.unasked", action="loss", done_s=7.0)]),
        ([(2.0, "loss"), (4.0, "loss"), (10.0, "paused")], [Saying("timeline.unasked", action="loss", done_s=2.0)]),
        ([(4.0, "loss"), (10.0, "paused"), (10.1, "unplugged")], []),
        ([(4.0, "loss"), (9.0, "paused"), (10.0, "paused")], [Saying("timeline.unasked", action="paused", done_s=9.0)]),
    ],
)
def test_the_timeline_was_done(done: Iterable[tuple[float, str]], says: list[Saying]) -> None:
    kinds = {"loss": "set", "paused": "pause_read", "more": "carrier", "unplugged": "carrier"}
    told = [event(kinds[text], at_s, "", text) for at_s, text in done]
    plan = small_plan(timeline=[LOSS, PAUSE, LATER])
    assert reasons(plan=plan, events=[*told, event("receive_end", 9.0, text="x")]) == says


def test_an_action_that_is_asked_twice_is_done_twice_and_may_be_as_late_as_the_limits_say() -> None:
    plan = small_plan(timeline=[LOSS, {**LOSS, "at_s": 6.0}], limits={"lateness_max_ms": 1500.0})

    def said(*at_s: float) -> list[Message]:
        return reasons(plan=plan, events=[event("set", s, "", "loss") for s in at_s])

    assert said(4.5, 6.5) == said(5.5, 4.0) == []
    assert said(4.0) == [not_done("loss", 6.0)]
    assert said(4.0, 7.6) == [Saying("timeline.late", action="loss", done_s=7.6, at_s=6.0)]
    assert said(4.0, 7.5) == []


def test_times_are_those_since_the_first_session_began() -> None:
    plan = small_plan(sessions=[small_session("s2"), small_session("s1")], timeline=[LOSS])
    samples: Groups = {**later(sound()), **{(str(series), of_session()): of for series, of in sound().items()}}
    done: list[Event] = [event("set", 6.0, "", "loss"), *S2_STARTS]
    assert reasons(samples, plan, events=done, results=[]) == []
