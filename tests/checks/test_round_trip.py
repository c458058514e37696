"""``round_trip``: how much of a session's round trips is queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from testbed.judge.checks import Check, CheckResult, Trust
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.planned import base_rtt_ms
from testbed.judge.judge import judge
from testbed.series import FromFile

ADAPTER: TypeAdapter[CheckParameters] = TypeAdapter(Check)
START_NS = 1_795_000_000_000_000_000
SHORT = {"judge": "round_trip", "max": 1.5, "from_s": 3.0, "to_s": 8.0}
SESSION: Any = {
    "name": "s",
    "start_s": 0.0,
    "sender_host": "h1",
    "transport": "udp",
    "policy": "delivery-rate",
    "transfer_bytes": 1,
    "ack_interval_ms": 50,
    "connections": [{"index": 1, "link": "near"}, {"index": 2, "link": "far", "path": ["access", "far"]}],
}
FRAMES = {"frame_bytes": 1073, "burst_bytes": 3296}
H1, H2 = {"host": "h1"}, {"host": "h2"}
LINKS: Any = [
    {"name": "near", "a": H1, "b": H2, "rate_bps": 8_790_016, "delay_ms": 50.0, **FRAMES},
    {"name": "access", "a": H1, "b": {"host": "r1"}, "rate_bps": 8_790_016, "delay_ms": 5.0, **FRAMES},
    {"name": "far", "a": {"host": "r1"}, "b": H2, "rate_bps": 1_098_752, "delay_ms": 500.0, **FRAMES},
]


def judged(folder: Path, rtts_ms: dict[int, float], *, early_ms: float = 0.0, until_s: float = 10.0) -> CheckResult:
    """Connections with these RTTs from 3 s on, before that ``early_ms`` more."""
    plan: Any = {
        "scenario": "s",
        "run": "r",
        "links": LINKS,
        "timeline": [],
        "limits": {"rate_error": 0.02},
        "sessions": [SESSION],
        "telemetry": {"interval_ms": 100},
        "checks": [{"name": "c", **SHORT}],
    }
    lines = [f'event,run=r,kind=transfer_start,session=s at_s=0,text="x" {START_NS}']
    for tick in range(round(until_s * 10) + 1):
        for connection, rtt_ms in rtts_ms.items():
            value = rtt_ms + (early_ms if tick < 30 else 0)
            lines.append(
                f"ncp_connection,run=r,session=s,role=sender,connection={connection},policy=delivery-rate "
                f"rtt_ms={value} {START_NS + tick * 100_000_000}"
            )
    file = folder / "telemetry.lp"
    file.write_text("".join(f"{line}\n" for line in lines))
    (result,) = judge(plan, FromFile(file), folder / "agents", Trust(trusted=True)).checks
    return result


def test_without_a_queue_it_is_both_delays_and_half_an_ack_interval() -> None:
    plan: Any = {"links": LINKS}
    assert base_rtt_ms(plan, SESSION, "1") == 125
    assert base_rtt_ms(plan, SESSION, "2") == 1035
    at_once: Any = {key: value for key, value in SESSION.items() if key != "ack_interval_ms"}
    assert base_rtt_ms(plan, at_once, "1") == 100


def test_short_queues_pass_and_the_worst_connection_is_measured(tmp_path: Path) -> None:
    result = judged(tmp_path, {1: 175.0, 2: 1035.0})
    assert (result.status, result.measured) == ("pass", 1.4)
    assert result.figures["times"] == {"1": 1.4, "2": 1.0}


def test_a_queue_on_one_connection_fails_whatever_the_other_has(tmp_path: Path) -> None:
    result = judged(tmp_path, {1: 225.0, 2: 1035.0})
    assert (result.status, result.measured) == ("fail", 1.8)
    assert "1 225 of 125 ms" in str(result.said)


def test_what_was_before_does_not_count(tmp_path: Path) -> None:
    assert judged(tmp_path, {1: 130.0, 2: 1035.0}, early_ms=5000.0).status == "pass"


def test_a_run_that_ends_early_decides_nothing(tmp_path: Path) -> None:
    assert judged(tmp_path, {1: 125.0, 2: 1035.0}, until_s=6.0).status == "insufficient-data"


def test_a_connection_without_samples_is_an_error(tmp_path: Path) -> None:
    assert judged(tmp_path, {1: 125.0}).status == "error"


def test_the_time_is_in_order() -> None:
    with pytest.raises(ValidationError, match="has to be later than from"):
        ADAPTER.validate_python({"name": "c", **SHORT, "to_s": 1.0}, context={"resolved": True})
