"""Calibration and trust: what is off is said, with figures."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.host_load import BUSY, STEP_SAMPLES, HostLoad, clock_step_s, idle_shares, longest_busy_s
from testbed.engines.emulation.calibration import LinkReading, off_limits
from testbed.judge.checks.result import Trust
from testbed.judge.trust.machine import lossy_interfaces, violations
from tests.said import Saying, codes

LIMITS: Any = {
    "rate_error": 0.02,
    "delay_error_ms": 1.0,
    "lateness_p99_ms": 2.0,
    "lateness_max_ms": 100.0,
    "cpu_idle": 0.05,
    "cpu_busy_s": 2.0,
}


def reading(**changes) -> LinkReading:
    values = {
        "link": "fast",
        "direction": "ab",
        "rate_bps_asked": 8e6,
        "rate_bps": 8e6,
        "delay_ms_asked": 50.0,
        "delay_ms": 50.05,
        "delay_p99_ms": 50.2,
        "loss_asked": 0.0,
        "loss": 0.0,
        "sent": 100,
        "received": 100,
    }
    return LinkReading(**{**values, **changes})


def test_a_link_within_its_limits_is_not_named() -> None:
    assert off_limits([reading(rate_bps=8.1e6, delay_ms=50.9)], LIMITS) == []


def test_a_link_off_its_limits_is_named_with_both_figures() -> None:
    slow, short = reading(rate_bps=7.8e6), reading(direction="ba", delay_ms=0.1)
    assert (slow.rate_error, short.delay_error_ms) == pytest.approx((-0.025, -49.9))
    assert off_limits([slow, short], LIMITS) == [
        Saying("calibration.rate-off", link="link fast ab", mbps=7.8, planned_mbps=8.0, limit=0.02),
        Saying("calibration.delay-off", link="link fast ba", delay_ms=0.1, error_ms=-49.9, limit=1.0),
    ]


def test_a_loss_is_judged_by_what_chance_allows() -> None:
    asked = {"loss_asked": 0.01, "sent": 2000}
    assert off_limits([reading(loss=0.015, **asked)], LIMITS) == []
    off = reading(loss=0.0, **asked)
    assert off_limits([off], LIMITS) == [Saying("calibration.loss-off", link="link fast ab", loss=0.0, planned=0.01)]


def relayed(late_us: float, lost: int) -> dict[str, Any]:
    """A link's entry in the relay's own result."""
    lateness = {"p50": late_us / 10, "p99": late_us, "max": late_us * 2}
    drops = {"socket": lost, "oversize": 0, "no_buffer": 0, "send": 0}
    return {"link": "fast", "direction": "ab", "lateness_us": lateness, "unasked_drops": drops}


def trust(**changes: Any) -> Trust:
    plan: Any = {"limits": LIMITS, "telemetry": {"interval_ms": 100}, "timeline": [], "links": changes.pop("links", [])}
    parts = {"relay": {"links": []}, "host_load": [(0.1, 0.5)], "qdiscs": []}
    return Trust.of(violations(plan, **{**parts, **changes}))


def shaper(drops: int) -> dict[str, Any]:
    return {"host": "h1", "dev": "h1-eth1", "kind": "htb", "root": True, "drops": drops}


def test_a_quiet_run_is_trusted() -> None:
    assert trust(relay={"links": [relayed(150.0, 0)]}, qdiscs=[shaper(0)]).trusted
    assert trust(relay=None).trusted, "netem has no relay to be late"


def test_what_makes_a_run_untrusted() -> None:
    starved = [(0.1, 0.0), (0.1, 0.02)]
    said = trust(relay={"links": [relayed(2500.0, 0), relayed(10.0, 3)]}, host_load=starved, qdiscs=[shaper(7)])
    assert not said.trusted
    assert list(said.said) == [
        Saying("link.late", late_ms=2.5, limit_ms=2.0).at("link fast ab"),
        Saying("relay.lost", frames=3).at("link fast ab"),
        Saying("queue.dropped", qdisc="h1 h1-eth1: the htb", drops=7),
        Saying("machine.starved", idle=0.01, limit=0.05),
    ]
    assert said.codes == codes(said.said)
    assert said.reasons == [str(reason) for reason in said.said]


def test_a_machine_that_stopped_once_is_not_trusted() -> None:
    stopped = relayed(150.0, 0)
    stopped["lateness_us"]["max"] = 259_000.0
    (reason,) = trust(relay={"links": [stopped]}).said
    assert reason == Saying("machine.stopped", late_ms=259.0, limit_ms=100.0).at("link fast ab")


def test_a_stretch_without_idle_time_is_enough() -> None:
    # A loop that ran for a part of the transfer only leaves the mean high.
    busy, rest = (0.1, 0.0), [(0.1, 1.0)] * 80
    (reason,) = trust(host_load=[busy] * 32 + rest).said
    assert reason == Saying("machine.busy", busy_s=3.3, idle=0.05, limit_s=2.0)
    assert trust(host_load=[busy] * 18 + rest).trusted


def test_late_samples_of_the_load_count_for_all_that_they_cover(tmp_path: Path) -> None:
    load = HostLoad(tmp_path / "host.lp", "r", "s", 0.1)
    for idle, seconds in ((0.5, 0.1), (0.0, 1.0), (0.005, 0.6), (0.9, 0.1), (0.0, 0.5)):
        load.spans.append((seconds, idle))
    shares = idle_shares(load.spans, 0.1)
    assert len(shares) == 23
    assert sum(shares) / 23 == pytest.approx((0.5 + 0.9 + 0.005 * 6) / 23)
    # The busy samples, and the idle one between them: 93 ms of 2.2 s.
    assert longest_busy_s(load.spans) == pytest.approx(2.2)


@given(st.lists(st.tuples(st.floats(0.05, 2), st.floats(0, 1)), max_size=30))
def test_the_longest_busy_stretch_is_the_longest_of_all(spans: list[tuple[float, float]]) -> None:
    stretches = [spans[i:j] for i in range(len(spans)) for j in range(i + 1, len(spans) + 1)]
    busy = [
        sum(seconds for seconds, _ in stretch)
        for stretch in stretches
        if sum((idle - BUSY) * seconds for seconds, idle in stretch) < -1e-9
    ]
    assert longest_busy_s(spans) >= max(busy, default=0.0) - 1e-9
    nearly = [
        sum(seconds for seconds, _ in stretch)
        for stretch in stretches
        if sum((idle - BUSY) * seconds for seconds, idle in stretch) < 1e-9
    ]
    assert longest_busy_s(spans) <= max(nearly, default=0.0) + 1e-9


def test_a_throttled_real_time_load_is_a_busy_stretch() -> None:
    # Each second 0.95 s of it, then what others may have of 50 ms.
    assert longest_busy_s([(0.9, 0.0), (0.1, 0.2)] * 4 + [(0.1, 0.9)] * 50) == pytest.approx(4.1)


def test_drops_count_once_and_only_where_nobody_asked_for_them() -> None:
    below = {"host": "h1", "dev": "h1-eth1", "kind": "bfifo", "parent": "1:1", "drops": 7}
    (reason,) = trust(qdiscs=[shaper(7), below]).said
    assert reason == Saying("queue.dropped", qdisc="h1 h1-eth1: the htb", drops=7)
    middle = {"host": "fabric", "drops": 9}
    queue_in_the_middle = [
        {**middle, "dev": "l1x", "kind": "htb", "root": True},
        {**middle, "dev": "l1x", "kind": "pfifo", "parent": "1:1"},
        {**middle, "dev": "l1a", "kind": "ingress", "parent": "ffff:fff1"},
    ]
    assert trust(qdiscs=queue_in_the_middle).trusted
    netem = {**middle, "dev": "l1b", "kind": "netem", "root": True}
    assert not trust(qdiscs=[netem]).trusted, "its limit was too low"
    lossy = {"name": "l1", "loss": 0.01, **{end: {"middle_interface": f"l1{end}"} for end in "ab"}}
    assert trust(qdiscs=[netem], links=[lossy]).trusted


def test_interfaces_are_lossy_by_the_links_loss_or_the_timeline() -> None:
    def link(number: int, **more: Any) -> dict[str, Any]:
        ends = {end: {"middle_interface": f"l{number}{end}"} for end in ("a", "b")}
        return {"name": f"link{number}", "loss": 0.0, **ends, **more}

    bursts = {"enter": 0.1, "leave": 0.5}
    links = [link(1), link(2, loss=0.01), link(3, gilbert_elliott=bursts), link(4), link(5), link(6)]
    timeline = [
        {"at_s": 1.0, "kind": "set", "link": "link1", "direction": "both", "properties": {"delay_ms": 3.0}},
        {"at_s": 2.0, "kind": "set", "link": "link4", "direction": "ba", "properties": {"loss": 1.0}},
        {"at_s": 2.0, "kind": "set", "link": "link4", "direction": "ba", "properties": {"loss": 0.0}},
        {"at_s": 3.0, "kind": "carrier", "link": "link5", "up": False},
        {"at_s": 4.0, "kind": "pause_read", "connection": 1},
    ]
    wanted = {f"l{number}{end}" for number in (2, 3, 4, 5) for end in "ab"}
    plan: Any = {"links": links, "timeline": timeline}
    assert lossy_interfaces(plan) == wanted


NOISE = st.floats(min_value=0.0, max_value=0.05)


@given(st.lists(NOISE, max_size=30), st.lists(NOISE, max_size=30), st.sampled_from([3600.0, 0.5, -0.5, -3600.0]))
def test_a_clock_that_is_set_shows(before: list[float], after: list[float], step_s: float) -> None:
    base = 1.7e9
    found = clock_step_s([base + late for late in before] + [base + step_s + late for late in after])
    if min(len(before), len(after)) >= STEP_SAMPLES:
        assert found == pytest.approx(step_s, abs=0.051)
        (reason,) = trust(relay=None, host_load=[], clock_step_s=found).said
        assert reason == Saying("machine.clock-set", way="forward" if step_s > 0 else "back", by_s=abs(found))


@given(st.lists(st.floats(min_value=0.0, max_value=60.0), max_size=60))
def test_a_sample_that_is_held_up_is_no_step(late_s: list[float]) -> None:
    """As long as of any three in a row one comes in time."""
    assert clock_step_s([1.7e9 + (0.0 if n % STEP_SAMPLES == 0 else late) for n, late in enumerate(late_s)]) == 0.0


def test_the_hosts_samples_fall_on_steps_of_the_clock_as_all_others_do(tmp_path: Path) -> None:
    interval_s, spool = 0.2, tmp_path / "host.lp"
    time.sleep(interval_s * 1.5 - time.time() % interval_s)
    host_load = HostLoad(spool, "run", "scenario", interval_s)
    host_load.start()
    time.sleep(6.5 * interval_s)
    host_load.stop()
    times_s = [int(line.rsplit(" ", 1)[1]) / 1e9 for line in spool.read_text().splitlines() if line.startswith("host,")]
    assert len(times_s) >= 4
    assert min(at_s % interval_s for at_s in times_s) < interval_s / 8, times_s
    assert host_load.spans[0][0] > interval_s * 0.4, "what is left until the first step"


def test_a_full_disk_ends_the_hosts_samples_and_is_told_of() -> None:
    host_load = HostLoad(Path("/dev/full"), "run", "scenario", 0.01)
    host_load.start()
    host_load.join(timeout=30)
    assert host_load.failure == "the host's load: No space left on device (/dev/full)"
