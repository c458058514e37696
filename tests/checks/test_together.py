"""Sessions beside each other: fair shares of a link, and whether it is put to use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from ruamel.yaml import YAML

from testbed import paths
from testbed.judge.checks import Check, CheckResult, Trust
from testbed.judge.checks.evidence import CannotJudge, Evidence
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.together import flow_rates_bps, jain, wire_rates_bps
from testbed.judge.judge import judge
from testbed.series import FromFile
from tests.checks.in_memory import at, evidence_of, small_plan, small_session, ticks
from tests.said import Saying, has

ADAPTER: TypeAdapter[CheckParameters] = TypeAdapter(Check)
START_NS = 1_795_000_000_000_000_000
FRAME_BYTES = 1073
FAIR = {"judge": "fair_share", "min": 0.9, "from_s": 2.0, "to_s": 8.0}
FILLED = {"judge": "link_filled", "link": "core", "min": 0.9, "from_s": 2.0, "to_s": 8.0}


def judged(
    folder: Path,
    check: dict[str, Any],
    packets_per_s: dict[str, float],
    *,
    starts_s: dict[str, float] | None = None,
    tcp_bps: float | None = None,
) -> CheckResult:
    """A check of sessions that each deliver so many packets a second for ten seconds, over a link of 512."""
    starts_s = starts_s or {}
    ends = {"a": {"host": "h1"}, "b": {"host": "h2"}, "burst_bytes": 3000, "delay_ms": 0.0}
    link = {"name": "core", **ends, "rate_bps": 512 * FRAME_BYTES * 8, "frame_bytes": FRAME_BYTES}
    plan: Any = {
        "scenario": "s",
        "run": "r",
        "links": [link, {**link, "name": "other"}],
        "sessions": [
            {
                "name": name,
                "start_s": starts_s.get(name, 0.0),
                "sender_host": "h1",
                "transport": "udp",
                "policy": "nkp24",
                "transfer_bytes": 1,
                "connections": [{"index": 1, "link": "core", "path": ["core"]}],
            }
            for name in packets_per_s
        ],
        "timeline": [],
        "limits": {"rate_error": 0.02},
        "cross_traffic": [{"number": 1, "path": ["core"]}] if tcp_bps is not None else [],
        "telemetry": {"interval_ms": 100},
        "checks": [{"name": "c", **check}],
    }
    lines = []
    for name, pps in packets_per_s.items():
        start_s = starts_s.get(name, 0.0)
        at_ns = START_NS + round(start_s * 1e9)
        lines.append(f'event,run=r,kind=transfer_start,session={name} at_s=0,text="x" {at_ns}')
        for tick in range(101):
            time_ns = at_ns + tick * 100_000_000
            lines += [
                f"ncp_session,run=r,session={name},role=receiver bytes={round(pps * tick / 10 * 1024)}i {time_ns}",
                f"ncp_connection,run=r,session={name},role=receiver,connection=1 delivered_pps={pps} {time_ns}",
            ]
    if tcp_bps is not None:
        lines += [f"iperf3,run=r,flow=1 goodput_bps={tcp_bps} {START_NS + tick * 500_000_000}" for tick in range(21)]
    file = folder / "telemetry.lp"
    file.write_text("".join(f"{line}\n" for line in lines))
    (result,) = judge(plan, FromFile(file), folder / "agents", Trust(trusted=True)).checks
    return result


def test_equal_shares_are_fair(tmp_path: Path) -> None:
    result = judged(tmp_path, FAIR, {"a": 170, "b": 170, "c": 170})
    assert (result.status, result.measured) == ("pass", 1.0)


def test_one_that_takes_nearly_all_is_not_fair(tmp_path: Path) -> None:
    result = judged(tmp_path, FAIR, {"a": 480, "b": 20})
    assert result.status == "fail"
    assert result.measured == pytest.approx(500**2 / (2 * (480**2 + 20**2)), abs=1e-3)
    assert "a 3.932" in str(result.said)


def test_one_of_many_that_is_starved_is_not_hidden_by_the_others(tmp_path: Path) -> None:
    rates = {**dict.fromkeys("abcdefg", 66.0), "h": 25.0}
    assert judged(tmp_path, FAIR, rates).status == "pass"
    starved = judged(tmp_path, FAIR | {"least": 0.5}, rates)
    assert (starved.status, starved.figures["least"]) == ("fail", pytest.approx(0.410, abs=1e-3))
    assert has(starved.said, "poorest, least, part", ["h ", 0.5, 0.41])
    assert judged(tmp_path, FAIR | {"least": 0.4}, rates).status == "pass"


SHIPPED = [
    (file.stem, check)
    for file in sorted((paths.CHECKOUT / "scenarios").glob("*.yaml"))
    for check in YAML(typ="safe").load(file.read_text())["checks"]
    if check["judge"] == "fair_share"
]


@pytest.mark.parametrize("flows", [2, 3, 8])
@pytest.mark.parametrize(("scenario", "check"), SHIPPED, ids=[scenario for scenario, _ in SHIPPED])
def test_a_flow_with_less_than_half_of_its_share_fails_every_shipped_scenario(
    tmp_path: Path, scenario: str, check: dict[str, Any], flows: int
) -> None:
    rest = {f"s{i}": 100.0 for i in range(1, flows)}
    starved = 0.45 * sum(rest.values()) / (flows - 0.45)  # 0.45 of an even share
    asked = FAIR | {key: check[key] for key in ("min", "least") if key in check}
    assert judged(tmp_path, asked, {"starved": starved, **rest}).status == "fail", scenario
    assert judged(tmp_path, asked, {"other": 100.0, **rest}).status == "pass"


def test_only_the_sessions_named_and_flows_where_asked(tmp_path: Path) -> None:
    rates = {"a": 100.0, "b": 100.0, "c": 1.0}
    assert judged(tmp_path, FAIR | {"sessions": ["a", "b"]}, rates).status == "pass"
    starved_tcp = judged(tmp_path, FAIR | {"sessions": ["a", "b"], "cross_traffic": True}, rates, tcp_bps=1e3)
    assert starved_tcp.status == "fail"
    assert "iperf3-1 0.001" in str(starved_tcp.said)
    unknown = judged(tmp_path, FAIR | {"sessions": ["a", "x"]}, rates)
    assert (unknown.status, unknown.code) == ("error", "fairness.no-session")
    assert has(unknown.said, "session", ["x", "a, b, c"])
    assert judged(tmp_path, FAIR, {"a": 100.0}).status == "error"


def test_a_session_that_is_not_there_all_the_time_can_not_be_judged(tmp_path: Path) -> None:
    result = judged(tmp_path, FAIR, {"a": 100, "b": 100}, starts_s={"b": 5.0})
    assert result.status == "error"
    assert result.said == Saying("samples.do-not-cover", who="session b", from_s=2, to_s=8, first_s=5)


def test_a_link_is_filled_by_sessions_and_tcp_together(tmp_path: Path) -> None:
    alone = judged(tmp_path, FILLED, {"a": 200, "b": 56})
    assert alone.status == "fail"
    assert alone.measured == pytest.approx(0.5)
    # Half of the link for TCP: 1448 bytes of payload in each frame of 1514.
    half_bps = 256 * FRAME_BYTES * 8 * 1448 / 1514
    both = judged(tmp_path, FILLED, {"a": 200, "b": 56}, tcp_bps=half_bps)
    assert both.status == "pass"
    assert both.measured == pytest.approx(1.0)
    assert judged(tmp_path, FILLED | {"link": "other"}, {"a": 512}).measured == 0


def test_more_than_a_links_rate_is_no_link(tmp_path: Path) -> None:
    assert judged(tmp_path, FILLED, {"a": 600}).status == "fail"
    unknown = judged(tmp_path, FILLED | {"link": "croe"}, {"a": 512})
    assert unknown.said == Saying("plan.no-link", link="croe", guess="did you mean 'core'")


def two_on_a_link(**delivered_pps: float) -> Evidence:
    """A session of two connections over the same link, of 1000 bytes a packet."""
    session = small_session(connections=[{"index": number, "link": "fast"} for number in (1, 2)])
    samples = {number: at(ticks(10), pps) for number, pps in zip("12", delivered_pps.values(), strict=False)}
    return evidence_of(small_plan(sessions=[session]), {"delivered_pps": samples})


def test_a_sessions_connections_over_a_link_count_together() -> None:
    both = two_on_a_link(one=100.0, two=50.0)
    assert wire_rates_bps(both, "fast", 2, 8) == {"s1": pytest.approx(150 * 8 * 1000)}
    assert flow_rates_bps(both, 2, 8) == {}


def test_who_has_no_samples_is_named() -> None:
    with pytest.raises(CannotJudge) as none:
        wire_rates_bps(two_on_a_link(one=100.0), "fast", 2, 8)
    assert none.value.said == Saying("samples.none-of", who="session s1 connection 2")
    with pytest.raises(CannotJudge) as none:
        flow_rates_bps(evidence_of(small_plan(cross_traffic=[{"number": 1, "path": ["fast"]}]), {}), 2, 8)
    assert none.value.said == Saying("samples.none-of", who="iperf3-1")


def test_a_session_that_never_began_shares_nothing() -> None:
    plan = small_plan(sessions=[small_session(), small_session("late")])
    with pytest.raises(CannotJudge) as never:
        wire_rates_bps(evidence_of(plan, {"delivered_pps": {n: at(ticks(10), 9) for n in "12"}}), "fast", 2, 8)
    assert never.value.said == Saying("session.never-started", session="late")


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=20))
def test_jains_index_is_from_one_nth_to_one(rates: list[float]) -> None:
    assert 1 / len(rates) - 1e-9 <= jain(rates) <= 1 + 1e-9
    assert jain([3 * rate for rate in rates]) == pytest.approx(jain(rates))


@pytest.mark.parametrize(
    ("check", "says"),
    [
        (FAIR | {"to_s": 1.0}, "has to be later than from"),
        (FAIR | {"min": 1.5}, "less than or equal to 1"),
        (FILLED | {"min": 0.9, "max": 0.8}, "has to be at least min"),
    ],
)
def test_mistakes_in_parameters(check: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ADAPTER.validate_python({"name": "c", **check}, context={"resolved": True})


def test_jains_index_of_equal_rates_and_of_one_alone() -> None:
    assert jain([2.0, 2.0, 2.0]) == pytest.approx(1)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(1 / 4)
