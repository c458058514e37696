"""The way to another machine: its figures, what takes trust away, and the file that keeps it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.far import underlay
from testbed.far.underlay import Sample
from tests.sabotage.catalogue.machine import quiet_way

LIMITS: Any = {"delay_error_ms": 1.0, "lateness_p99_ms": 2.0, "cpu_idle": 0.05}


def judged(samples: list[Sample], machines: tuple[str, ...] = ("m1",)) -> list[str]:
    return underlay.judge_underlay(LIMITS, machines, samples)


def changed(part: slice, **changes: Any) -> list[Sample]:
    samples = quiet_way()
    samples[part] = [replace(one, **changes) for one in samples[part]]
    return samples


def test_a_quiet_way_takes_no_trust_whatever_the_clock() -> None:
    assert judged(quiet_way()) == []
    assert judged([replace(one, offset_ns=-one.offset_ns) for one in quiet_way()]) == []


def test_figures() -> None:
    way = underlay.of(quiet_way())
    assert (way.machine, way.samples, way.lost) == ("m1", 400, 0)
    assert way.one_way_ms == pytest.approx(5.05)
    assert way.one_way_p99_ms == pytest.approx(5.1)
    assert way.asymmetry_ms == 5.0
    assert way.ahead_ns == 3600 * 10**9


def test_the_clock_is_by_the_quickest_packets() -> None:
    samples = changed(slice(100, 200), rtt_ns=90_000_000, offset_ns=3_640_000_000_000)
    assert underlay.of(samples).ahead_ns == 3600 * 10**9


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (changed(slice(200, 240), lost=True), "underlay to m1: it lost 40 of 400 packets, for up to 2.0 s"),
        (changed(slice(100, 400), rtt_ns=14_000_000), "one-way delay was 7.00 ms during the run, +1.95 ms off"),
        (changed(slice(200, 240), rtt_ns=30_000_000), "1% of the packets came more than 9.95 ms late"),
        (changed(slice(300, 400), offset_ns=3_600_200_000_000), "its clock is known to ±200.0 ms only"),
        (changed(slice(100, 400), idle=800), "m1 was starved: 0.0% of its CPU time was idle (limit 5%)"),
        (changed(slice(100, 400), idle=0, cpu=0), "m1 does not tell its CPU time"),
        (changed(slice(100, 400), idle=800, cpu=1000), "m1 does not tell its CPU time"),
        ([one for one in quiet_way() if one.when == "before"], "too few packets came back during the run"),
        ([one for one in quiet_way() if one.when == "during"], "too few packets came back before the run"),
        ([], "too few packets came back before the run"),
    ],
)
def test_what_takes_trust_is_said_with_figures(samples: list[Sample], said: str) -> None:
    (reason,) = judged(samples)
    assert said in reason


def test_each_machine_with_hosts_must_have_been_measured() -> None:
    (reason,) = judged(quiet_way(), ("m1", "m2"))
    assert reason.startswith("underlay to m2: too few packets came back")


def test_one_lost_packet_is_the_machines_affair() -> None:
    assert judged(changed(slice(200, 201), lost=True)) == []


def test_a_late_answer_is_no_clock_that_was_set() -> None:
    """A packet that is held up one way shows an offset of half of that."""
    late = changed(slice(200, 202), rtt_ns=110_000_000, offset_ns=3_600_050_000_000)
    assert underlay.clock_uncertainty_ms(late) == pytest.approx(5.0)


def test_the_file_keeps_it_all(tmp_path: Path) -> None:
    samples = changed(slice(200, 240), lost=True)
    underlay.write(samples, tmp_path / underlay.FILE)
    assert underlay.read(tmp_path / underlay.FILE) == samples
