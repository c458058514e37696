"""What checks ask, in words; which traffic they fit; and what of a plan they go by."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from testbed.errors import BadInput
from testbed.judge.checks import Check, planned
from testbed.judge.checks.evidence import CannotJudge
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.planned import rates_by_plan
from testbed.judge.checks.registry import FACTS, parameters_in_plan
from testbed.judge.checks.result import CheckResult, Trust, Verdict, rounded
from testbed.judge.figures import figures_of
from testbed.judge.judge import status_of_cell, status_of_run
from tests.checks.in_memory import small_plan, small_session
from tests.raises import raises
from tests.said import Saying

ADAPTER: TypeAdapter[CheckParameters] = TypeAdapter(Check)
RATIO = {"judge": "ratio", "min": 7, "max": 9.5}
LEVEL = {"judge": "level", "series": "rtt_ms", "min": 1, "max": 2.5}
SETTLES = {"judge": "settles", "within": "4s", "to": "9s"}
FAIR = {"judge": "fair_share", "min": 0.9, "from": "2s", "to": "8s"}
GOODPUT = {"judge": "goodput", "min": 0.85}
EDGES = {"judge": "window_edges", "count": 3}


@pytest.mark.parametrize(
    ("check", "says"),
    [
        (
            {"judge": "follows_law", "from": "1s", "to": "20s"},
            "From 1 s to 20 s every connection's share of the window stays within ±0.03 of the convergence law.",
        ),
        (
            {"judge": "follows_law", "from": "1s", "to": "20s", "start": "500ms", "rates": "acknowledged"},
            "From 1 s to 20 s every connection's share of the window stays within ±0.03 of the convergence law, "
            "the law starting at 0.5 s, taken with the rates of acknowledgements.",
        ),
        (
            RATIO | {"last": "5s"},
            "Window: connection 1 has 7 to 9.5 times that of connection 2 (median over the last 5 s).",
        ),
        (
            RATIO | {"from": "1s", "to": "2s", "of": [2, 1], "series": "delivered_pps"},
            "Delivery rate: connection 2 has 7 to 9.5 times that of connection 1 (median from 1 s to 2 s).",
        ),
        (
            SETTLES,
            "Window: connection 1 over connection 2 is within ±20% of the ratio of the links' rates at most 4 s, and "
            "stays there until 9 s.",
        ),
        (
            SETTLES | {"target": 1.5, "from": "3s", "of": [2, 1]},
            "Window: connection 2 over connection 1 is within ±20% of 1.5 at most 4 s after 3 s, and stays there until "
            "9 s.",
        ),
        (LEVEL | {"at": "5s"}, "RTT, with the wait for the ACK of every connection is 1 to 2.5 at 5 s."),
        (
            LEVEL | {"from": "5s", "to": "6s", "of": [1, 3]},
            "RTT, with the wait for the ACK of connection 1, 3 is 1 to 2.5 from 5 s to 6 s.",
        ),
        (GOODPUT, "Goodput is at least 85% of what the links can carry."),
        (
            GOODPUT | {"from": "1s", "to": "2s", "links": ["a", "b"]},
            "Goodput from 1 s to 2 s is at least 85% of what link a, b can carry.",
        ),
        (FAIR, "Jain's fairness index of the goodputs of the sessions is at least 0.9 (means from 2 s to 8 s)."),
        (
            FAIR | {"sessions": ["a", "b"], "cross_traffic": True, "least": 0.5},
            "Jain's fairness index of the goodputs of sessions a, b and iperf3's flows is at least 0.9, and everyone "
            "has at least 0.5 of an even share (means from 2 s to 8 s).",
        ),
        (
            {"judge": "link_filled", "link": "core", "min": 0.9, "from": "2s", "to": "8s"},
            "What arrives over link core is 0.9 to 1.03 of its rate (mean from 2 s to 8 s).",
        ),
        (
            {"judge": "round_trip", "max": 1.5, "from": "2s", "to": "8s"},
            "The RTT of every connection is at most 1.5 times that without a queue (means from 2 s to 8 s).",
        ),
        ({"judge": "mptcp_carried"}, "MPTCP's subflow over each link had at least 10,000 bytes acknowledged."),
        ({"judge": "payload_intact"}, "The receiver gets every byte that was requested, with the sender's SHA-256."),
        (
            {"judge": "payload_captured"},
            "All bytes that iperf3 counts at the receiver are in packets captured there, with at most a window more "
            "that it had not read, and the sender counts no fewer.",
        ),
        ({"judge": "points_stored"}, "InfluxDB holds as many of the run's points as the result folder's telemetry.lp."),
        (
            {"judge": "protocol_kept"},
            "Whole packets captured at both hosts break no rule of the protocol and carry the payload that both ends "
            "report, and neither end warns of anything.",
        ),
        (EDGES, "The sender waits at 3 right edges of the receiver's window, each 1 to 100 times the one before."),
        (
            EDGES | {"count": 2},
            "The sender waits at 2 right edges of the receiver's window, each 1 to 100 times the one before.",
        ),
        (EDGES | {"count": 1}, "The sender waits at 1 right edges of the receiver's window."),
        (EDGES | {"count": 0}, "The receiver's window never makes the sender wait."),
    ],
)
def test_a_check_in_words(check: dict[str, Any], says: str) -> None:
    assert ADAPTER.validate_python({"name": "c", **check}).in_words() == says


def section(kind: str | None, capture: str = "both") -> Any:
    return SimpleNamespace(capture=capture) if kind is None else SimpleNamespace(kind=kind, capture=capture)


@pytest.mark.parametrize(
    ("judge", "sends", "says"),
    [
        ({"judge": "payload_intact"}, section(None), None),
        ({"judge": "payload_intact"}, section("download"), None),
        (
            {"judge": "payload_intact"},
            section("iperf3"),
            "has nothing to compare: iperf3 sends for a time and hashes nothing; use payload_captured",
        ),
        ({"judge": "payload_captured"}, section("iperf3"), None),
        ({"judge": "payload_captured"}, section("iperf3", "receiver"), None),
        (
            {"judge": "payload_captured"},
            section("iperf3", "sender"),
            "needs the receiver's packets; use tcp.capture: receiver, or leave capture out",
        ),
        ({"judge": "payload_captured"}, section("download"), "is about iperf3, not download; that has payload_intact"),
        ({"judge": "protocol_kept"}, SimpleNamespace(transport="tcp"), None),
        (
            {"judge": "protocol_kept"},
            SimpleNamespace(transport="udp"),
            "is about sessions over TCP, whose streams captures hold whole; set ncp.transport to tcp",
        ),
        (EDGES, section("download"), None),
        (EDGES, section("iperf3"), "is about a download, not iperf3"),
        (GOODPUT, section("anything"), None),
        (GOODPUT | {"from": "1s", "to": "2s"}, SimpleNamespace(ack_interval_ms=50), None),
        (
            GOODPUT | {"from": "1s", "to": "2s"},
            section("anything"),
            "has no such time: from and to are of NCP's acknowledgements; leave them out",
        ),
    ],
)
def test_what_a_check_fits(judge: dict[str, Any], sends: Any, says: str | None) -> None:
    assert ADAPTER.validate_python({"name": "c", **judge}).unfit(sends) == says


def test_policies_may_be_one_or_several_and_connections_are_numbers() -> None:
    def read(**of: Any) -> Any:
        return ADAPTER.validate_python({"name": "c", **RATIO, "last": "5s", **of})

    assert read(policy="nkp24").policy == ["nkp24"]
    assert read(policy=["a", "b"]).policy == ["a", "b"]
    assert read(of=[3, "4"]).connections == ["3", "4"]
    with pytest.raises(ValidationError, match="valid string"):
        read(of=[True, 2])
    with pytest.raises(ValidationError, match="should match pattern"):
        read(of=["x", 2])


def test_a_plan_has_seconds_as_numbers_and_a_scenario_with_their_unit() -> None:
    (check,) = parameters_in_plan([{"name": "c", **LEVEL, "at_s": 5}])
    assert check.model_dump()["at_s"] == 5.0
    assert isinstance(check.model_dump()["at_s"], float)
    for value in (True, "5"):
        with raises(BadInput, "plan.bad-check", check="c", where="level.at"):
            parameters_in_plan([{"name": "c", **LEVEL, "at": value}])
    with pytest.raises(ValidationError, match="5 has no unit; write for example 50ms, 2s or 1min"):
        ADAPTER.validate_python({"name": "c", **LEVEL, "at": 5})
    with pytest.raises(ValidationError, match="has no unit"):
        ADAPTER.validate_python({"name": "c", **LEVEL, "at": 5}, context={"resolved": False})
    with raises(BadInput, "plan.bad-check", check=None, where="fair_share.name", error="Field required"):
        parameters_in_plan([FAIR])


def test_facts_are_the_five_that_no_interval_overrules() -> None:
    assert {"payload_intact", "payload_captured", "points_stored", "protocol_kept", "mptcp_carried"} == FACTS


def run(*statuses: tuple[str, Any], broken: str | None = None, trusted: bool = True) -> Verdict:
    checks = [CheckResult(name=judge, judge=judge, status=status, reason="") for judge, status in statuses]
    trust = Trust(trusted=trusted)
    return Verdict(scenario="s", run="r", verdict="fail", summary="", checks=checks, trust=trust, duration_s=1.0,
                   policy="p", broken=broken)  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "worth"),
    [
        (run(), "pass"),
        (run(("ratio", "fail"), ("payload_intact", "pass")), "pass"),
        (run(("payload_intact", "pass"), ("points_stored", "fail")), "fail"),
        (run(("ratio", "pass"), broken="a link was off"), "error"),
        (run(("payload_intact", "fail"), trusted=False), "untrusted"),
    ],
)
def test_a_run_counts_by_its_facts_its_end_and_its_trust(verdict: Verdict, worth: str) -> None:
    assert status_of_run(verdict) == worth


@pytest.mark.parametrize(
    ("checks", "part", "worth"),
    [
        ({}, "pass", "pass"),
        ({}, "fail", "pass"),
        ({}, "missing", "missing"),
        ({"law": {"judge": "follows_law", "status": "fail"}}, "fail", "pass"),
        ({"payload": {"judge": "payload_intact", "status": "fail"}}, "fail", "fail"),
        ({"payload": {"judge": "payload_intact", "status": "pass"}}, "untrusted", "untrusted"),
        ({"payload": {"status": "fail"}}, "pass", "pass"),
    ],
)
def test_a_cell_counts_by_its_facts_and_by_whether_it_is_there(checks: Any, part: Any, worth: str) -> None:
    assert status_of_cell(checks, part) == worth


def test_sessions_and_their_parts_of_the_plan() -> None:
    plan = small_plan(sessions=[small_session(), small_session("s2", send_window_bytes=1999, initial_windows=[1, 2])])
    assert [planned.session_of(plan, name)["name"] for name in (None, "s1", "s2")] == ["s1", "s1", "s2"]
    with pytest.raises(CannotJudge) as none:
        planned.session_of(plan, "x")
    assert none.value.said == Saying("plan.no-session", kind="session", name="x", guess=" (known: s1, s2)")
    assert str(none.value) == str(none.value.said)
    first, second = plan["sessions"]
    assert [planned.session_window_packets(s) for s in (first, second)] == [4000.0, 1.999]
    assert planned.initial_windows(first) == {"1": 2000.0, "2": 2000.0}
    assert planned.initial_windows(second) == {"1": 1.0, "2": 2.0}
    with pytest.raises(ValueError, match="shorter"):
        planned.initial_windows(small_session(initial_windows=[1]))
    assert planned.connections(first) == ["1", "2"]
    assert [planned.link_of(plan, first, c)["name"] for c in ("1", "2")] == ["fast", "slow"]


PATHS = [
    {"index": 1, "link": "slow", "path": ["fast", "slow"]},
    {"index": 2, "link": "fast"},
    {"index": 3, "link": "slow", "path": ["slow"]},
]


def test_a_connection_is_as_fast_as_its_share_of_the_slowest_link() -> None:
    session = small_session(connections=PATHS)
    assert planned.connections_over(session) == {"fast": 2, "slow": 2}
    assert planned.rates_pps(small_plan(), session) == {"1": 125.0, "2": 500.0, "3": 125.0}


def test_what_links_carry_is_their_payload_less_what_they_lose() -> None:
    plan = small_plan()
    plan["links"][1]["loss"] = 0.2
    session = small_session(connections=PATHS)
    assert planned.bound_bps(plan, session) == 8000 * (1000 + 250 * 0.8)
    assert planned.bound_bps(plan, session, ["slow"]) == 8000 * 250 * 0.8
    tcp: Any = {**session, "segment_bytes": 500}
    assert planned.bound_bps(plan, tcp, ["fast"]) == 8e6, "packets of its own size come first"
    del tcp["mtu_bytes"]
    assert planned.bound_bps(plan, tcp, ["fast"]) == 4e6


def action(at_s: float, kind: str, **of: Any) -> dict[str, Any]:
    return {"at_s": at_s, "kind": kind, "text": "", **of}


def loss(at_s: float, link: str = "slow", direction: str = "both", **properties: Any) -> dict[str, Any]:
    return action(at_s, "set", link=link, direction=direction, properties=properties)


@pytest.mark.parametrize(
    ("timeline", "second"),
    [
        ([], []),
        ([loss(1, loss=0.999)], []),
        ([loss(1, loss=1.0), loss(2, loss=0.1)], [(1.0, 0.0), (2.0, 250.0)]),
        ([loss(1, direction="ab", loss=1.0)], [(1.0, 0.0)]),
        ([loss(1, direction="ba", loss=1.0)], []),
        ([loss(1, link="fast", loss=1.0)], []),
        ([loss(1, loss=1.0), loss(2, delay_ms=9)], [(1.0, 0.0)]),
        ([loss(1, gilbert_elliott={"loss_good": 1, "loss_bad": 1})], [(1.0, 0.0)]),
        ([loss(1, gilbert_elliott={"loss_good": 0.9, "loss_bad": 1})], []),
        ([loss(1, gilbert_elliott={"loss_good": 1, "loss_bad": 0.9})], []),
        ([loss(1, loss=1.0), loss(2, gilbert_elliott={})], [(1.0, 0.0), (2.0, 250.0)]),
        ([loss(1, rate_bps=800_000)], [(1.0, 100.0)]),
        ([loss(2, rate_bps=800_000), loss(1, loss=1.0)], [(1.0, 0.0)]),
        ([action(1, "pause_read", connection=2, for_s=0.5)], [(1.0, 0.0), (1.5, 250.0)]),
        ([action(1, "pause_read", connection=1, for_s=0.5)], []),
        (
            [action(1, "carrier", link="slow", up=False), action(2, "carrier", link="slow", up=True)],
            [(1.0, 0.0), (2.0, 250.0)],
        ),
        ([action(1, "carrier", link="fast", up=False)], []),
        ([action(1, "carrier", link="slow", up=False), loss(2, loss=0.0)], [(1.0, 0.0)]),
        (
            [action(1, "pause_read", connection=2, for_s=2), loss(2, loss=1.0), loss(5, loss=0.0)],
            [(1.0, 0.0), (5.0, 250.0)],
        ),
    ],
)
def test_what_a_timeline_makes_of_the_rates(timeline: list[dict[str, Any]], second: list[tuple[float, float]]) -> None:
    plan = small_plan(timeline=timeline)
    found = rates_by_plan(plan, plan["sessions"][0])
    told = [(at_s, rates["2"]) for at_s, rates in found]
    assert [pair for i, pair in enumerate(told) if pair[1] != (told[i - 1][1] if i else 250.0)] == second
    assert all(rates.keys() == {"1", "2"} for _, rates in found)
    without: Any = {key: value for key, value in plan.items() if key != "timeline"}
    assert rates_by_plan(without, plan["sessions"][0]) == found[:1]


def test_a_change_on_a_path_is_one_of_every_connection_over_it() -> None:
    plan = small_plan(timeline=[loss(1, link="fast", rate_bps=800_000)])
    before, after = rates_by_plan(plan, small_session(connections=PATHS))
    assert before == (0.0, planned.rates_pps(plan, small_session(connections=PATHS)))
    assert after == (1.0, {"1": 50.0, "2": 50.0, "3": 125.0})


def test_figures_are_flat_and_of_other_sessions_by_name() -> None:
    results = [
        {"session": "s2", "role": "receiver", "goodput_bps": 16 * 2**20, "figures": {"goodput_bps": 3.0}},
        {"session": "s1", "role": "receiver", "goodput_bps": 8 * 2**20, "figures": {"mean_ms": 1.23456789}},
        {"session": "s1", "role": "sender", "goodput_bps": 5, "figures": {"sent": 7}},
        {"session": "s3", "role": "receiver", "goodput_bps": 0},
    ]
    assert figures_of(results) == {
        "s2.goodput_bps": 3.0,
        "s2.goodput_mib_s": 2.0,
        "goodput_bps": 8.0 * 2**20,
        "goodput_mib_s": 1.0,
        "mean_ms": 1.234568,
        "sent": 7.0,
    }
    assert figures_of([{"figures": {"x": 1}}, {"session": "a", "figures": {"x": 2}}]) == {"x": 1.0, "a.x": 2.0}
    assert figures_of([]) == {}


def test_a_verdict_is_read_as_it_was_written() -> None:
    verdict = run(("ratio", "fail"))
    document = verdict.to_json()
    assert document["schema"] == 2
    assert "schema_version" not in document
    assert Verdict.from_json(document) == verdict
    with pytest.raises(ValidationError, match="schema_version"):
        Verdict.from_json({**document, "schema": 3})
    assert rounded(1.23456789) == 1.234568
