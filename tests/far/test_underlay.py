"""The way to another machine: its figures, what takes trust away, and the file that keeps it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.trust import underlay
from testbed.judge.trust.underlay import Sample
from testbed.message import Message
from tests.sabotage.catalogue.machine import quiet_way
from tests.said import Saying

LIMITS: Any = {"delay_error_ms": 1.0, "lateness_p99_ms": 2.0, "cpu_idle": 0.05}


def judged(samples: list[Sample], ways: Any = None, span: tuple[int, int] | None = None) -> list[Message]:
    """``ways``: by default that to m1, which frames take."""
    return underlay.violations(LIMITS, ways or {("", "m1"): True}, samples, span)


def changed(part: slice, **changes: Any) -> list[Sample]:
    samples = quiet_way()
    samples[part] = [replace(one, **changes) for one in samples[part]]
    return samples


def lost(where: str = "to m1") -> Saying:
    return Saying("underlay.lost", lost=40, samples=400, gap_s=2.05).at(f"underlay {where}")


def late(where: str = "to m1") -> Saying:
    return Saying("underlay.late", late_ms=9.95, limit_ms=2.0).at(f"underlay {where}")


def too_few(when: str, sent: int, where: str = "to m1") -> Saying:
    return Saying("underlay.too-few-samples", when=when, sent=sent).at(f"underlay {where}")


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


CHANGED = Saying("underlay.delay-changed", one_way_ms=7.0, change_ms=1.95, limit_ms=1.0).at("underlay to m1")
OTHER_CLOCK = Saying("machine.clock-unknown", machine="m1", uncertain_ms=200.0, limit_ms=25.0)


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (changed(slice(200, 240), lost=True), lost()),
        (changed(slice(100, 400), rtt_ns=14_000_000), CHANGED),
        (changed(slice(200, 240), rtt_ns=30_000_000), late()),
        (changed(slice(300, 400), offset_ns=3_600_200_000_000), OTHER_CLOCK),
        (changed(slice(100, 400), idle=800), Saying("machine.elsewhere-starved", machine="m1", idle=0.0, limit=0.05)),
        (changed(slice(100, 400), idle=0, cpu=0), Saying("machine.cpu-unknown", machine="m1")),
        (changed(slice(100, 400), idle=800, cpu=1000), Saying("machine.cpu-unknown", machine="m1")),
        ([one for one in quiet_way() if one.when == "before"], too_few("during", 0)),
        ([one for one in quiet_way() if one.when == "during"], too_few("before", 0)),
        ([], too_few("before", 0)),
    ],
)
def test_what_takes_trust_is_said_with_figures(samples: list[Sample], said: Saying) -> None:
    assert judged(samples) == [said]


def test_each_machine_with_hosts_must_have_been_measured() -> None:
    assert judged(quiet_way(), {("", "m1"): True, ("", "m2"): False}) == [too_few("before", 0, "to m2")]


def between(**changes: Any) -> list[Sample]:
    """The way from m1 to m2 beside that to m1, and the first changed for 2 s."""
    samples = [replace(one, machine="m2", origin="m1") for one in quiet_way()]
    samples[200:240] = [replace(one, **changes) for one in samples[200:240]]
    return quiet_way() + samples


BETWEEN = {("", "m1"): False, ("m1", "m2"): True}


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"lost": True}, lost("between m1 and m2")), ({"rtt_ns": 30_000_000}, late("between m1 and m2"))],
)
def test_a_way_between_two_other_machines_is_judged_by_its_own_packets(changes: dict[str, Any], said: Saying) -> None:
    assert judged(between(**changes), BETWEEN) == [said]
    assert judged(between(), BETWEEN) == []
    assert judged(quiet_way(), BETWEEN)[0] == too_few("before", 0, "between m1 and m2")


def test_clocks_and_load_are_told_by_the_ways_from_here() -> None:
    assert judged(between(offset_ns=0, idle=0, cpu=0), BETWEEN) == []


def test_a_way_that_no_frame_takes_may_lose_packets() -> None:
    lossy = changed(slice(200, 240), lost=True)
    assert judged(lossy, {("", "m1"): False}) == []
    assert judged([replace(one, lost=True) for one in lossy], {("", "m1"): False}), "but not all of them"


def test_the_ways_of_a_run_are_those_of_its_frames_and_clocks() -> None:
    link = {"name": "fast", "a": {"host": "h1"}, "b": {"host": "h2"}}
    plan: Any = {"place": {"h1": "m1", "h2": "m2"}, "links": [link]}
    assert underlay.ways_of(plan) == {("", "m1"): True, ("", "m2"): True}, "its middle is here"
    plan["middles"] = {"fast": "m2"}
    assert underlay.ways_of(plan) == {("", "m1"): False, ("", "m2"): False, ("m1", "m2"): True}
    plan["place"] = {"h2": "m2"}
    assert underlay.ways_of(plan) == {("", "m2"): True}


DURING = [one.sent_unix_ns for one in quiet_way() if one.when == "during"]


@pytest.mark.parametrize(("kept", "from_s"), [(slice(0, 250), 7.45), (slice(250, 400), 0.0)])
def test_samples_span_the_transfer(kept: slice, from_s: float) -> None:
    """Half of a file is not all of a run, however many samples it has."""
    span = (DURING[0], DURING[-1])
    before = [one for one in quiet_way() if one.when == "before"]
    half = before + [one for one in quiet_way()[kept] if one.when == "during"]
    assert judged(half) == []
    assert judged(half, span=span) == [Saying("underlay.not-measured", gap_s=7.5, from_s=from_s).at("underlay to m1")]
    assert judged(quiet_way(), span=span) == []
    gap = [one for one in quiet_way() if not span[0] + 3e9 < one.sent_unix_ns < span[0] + 5e9]
    assert judged(gap, span=span) == [Saying("underlay.not-measured", gap_s=2.0, from_s=3.0).at("underlay to m1")]
    assert judged(changed(slice(200, 240), lost=True), span=span) == [lost()], "a lost packet was sent"


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


def test_a_file_of_before_tells_of_ways_from_here(tmp_path: Path) -> None:
    file = tmp_path / underlay.FILE
    underlay.write(quiet_way(), file)
    file.write_text("".join(line.rpartition(",")[0] + "\n" for line in file.read_text().splitlines()))
    assert file.read_text().startswith("machine,when,sent_unix_ns,lost,rtt_ns,offset_ns,idle,cpu\n")
    assert underlay.read(file) == quiet_way()
    underlay.write(between(), file)
    assert underlay.read(file) == between()


def test_what_another_machine_measured_is_on_this_ones_clock() -> None:
    line = '{"number":1,"sent_unix_ns":1100,"lost":false,"rtt_ns":7,"offset_ns":-2,"idle":3,"cpu":4}'
    (found,) = underlay.samples_of(f"{line}\n{line[:30]}", "m2", "during", "m1", 100)
    assert found == Sample("m2", "during", 1000, lost=False, rtt_ns=7, offset_ns=-2, idle=3, cpu=4, origin="m1")
