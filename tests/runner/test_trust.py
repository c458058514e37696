"""Calibration and trust: what is off is said, with figures."""

from typing import Any

from testbed.checks.result import Trust
from testbed.runner.calibration import LinkReading, off_limits
from testbed.runner.trust import judge_trust

LIMITS = {"rate_error": 0.02, "delay_error_ms": 1.0, "lateness_p99_ms": 2.0, "cpu_idle": 0.05}


def reading(**changes) -> LinkReading:
    values = {
        "link": "fast", "direction": "ab", "rate_bps_asked": 8e6, "rate_bps": 8e6, "delay_ms_asked": 50.0,
        "delay_ms": 50.05, "delay_p99_ms": 50.2, "loss_asked": 0.0, "loss": 0.0, "sent": 100, "received": 100,
    }  # fmt: skip
    return LinkReading(**{**values, **changes})


def test_a_link_within_its_limits_is_not_named() -> None:
    assert off_limits([reading(rate_bps=8.1e6, delay_ms=50.9)], LIMITS) == []


def test_a_link_off_its_limits_is_named_with_both_figures() -> None:
    said = off_limits([reading(rate_bps=7.8e6), reading(direction="ba", delay_ms=0.1)], LIMITS)
    assert len(said) == 2
    assert "link fast ab: rate 7.800 Mbit/s is -2.5% off the asked 8.000" in said[0]
    assert "link fast ba: delay 0.10 ms is -49.90 ms off the asked 50" in said[1]


def test_a_loss_is_judged_by_what_chance_allows() -> None:
    asked = {"loss_asked": 0.01, "sent": 2000}
    assert off_limits([reading(loss=0.015, **asked)], LIMITS) == []
    (said,) = off_limits([reading(loss=0.0, **asked)], LIMITS)
    assert "link fast ab: loss 0.00% of 2000 packets, asked 1.00%" in said


def relayed(late_us: float, lost: int) -> dict[str, Any]:
    """A link's entry in the relay's own result."""
    lateness = {"p50": late_us / 10, "p99": late_us, "max": late_us * 2}
    drops = {"socket": lost, "oversize": 0, "no_buffer": 0, "send": 0}
    return {"link": "fast", "direction": "ab", "lateness_us": lateness, "unasked_drops": drops}


def trust(**changes: Any) -> Trust:
    parts = {"relay": {"links": []}, "idle": [0.5], "qdiscs": []}
    return judge_trust(LIMITS, **{**parts, **changes})


def test_a_quiet_run_is_trusted() -> None:
    assert trust(relay={"links": [relayed(150.0, 0)]}, qdiscs=[{"kind": "tbf", "drops": 0}]).trusted
    assert trust(relay=None).trusted, "netem has no relay to be late"


def test_what_makes_a_run_untrusted() -> None:
    said = trust(
        relay={"links": [relayed(2500.0, 0), relayed(10.0, 3)]},
        idle=[0.0, 0.02],
        qdiscs=[{"kind": "tbf", "drops": 7, "host": "h1", "dev": "h1-eth1"}],
    )
    assert not said.trusted
    assert len(said.reasons) == 4
    for figure in ("2.50 ms late", "lost 3 frames", "dropped 7 packets", "1.0% of its CPU time"):
        assert any(figure in reason for reason in said.reasons), (figure, said.reasons)
