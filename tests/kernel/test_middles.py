"""Both middles of a link, measured in one guest: what was asked is what there is, by netem as by the relay.

Bounds on shares are such that one honest run in a million misses one. Delays are compared by medians: the
guest shares a core with whatever else this machine does.
"""

import itertools
import math
import statistics
from typing import Any

import pytest

from tests.kernel.measure import SAMPLES_MS

pytestmark = pytest.mark.slow

MIDDLES = ("netem", "relay")
Z = 4.9
"""Standard deviations: a normal variable is farther off with a chance of one in a million."""

Flow = dict[str, Any]


@pytest.fixture(params=MIDDLES)
def found(request: pytest.FixtureRequest, measured: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = measured[request.param]
    return result


def delays_ms(flow: Flow) -> list[float]:
    return [(at_ns - flow["sent_ns"][number]) / 1e6 for number, at_ns in flow["arrived"]]


def numbers(flow: Flow) -> list[int]:
    return [number for number, _ in flow["arrived"]]


def inversions(flow: Flow) -> int:
    return sum(before > after for before, after in itertools.pairwise(numbers(flow)))


def is_share(count: int, of: int, share: float) -> bool:
    """Whether a count is what independent draws with this chance give."""
    return abs(count - of * share) <= Z * math.sqrt(of * share * (1 - share)) + 1


def nearest(measured: dict[str, Any], middle: str, where: str, name: str, asked: float) -> float:
    """Of the probe's readings the one nearest to what was asked: a disturbed guest only takes away from it."""
    readings: list[float] = [probe[where][name] for probe in measured[middle]["probes"]]
    return min(readings, key=lambda reading: abs(reading - asked))


@pytest.mark.parametrize("direction", ["ab", "ba"])
@pytest.mark.parametrize(
    ("link", "delay_ms", "rate_pps"), [("plain", 20, 512), ("lossy", 10, 128), ("droptail", 10, 256)]
)
def test_delay_and_rate_are_the_same(
    measured: dict[str, Any], link: str, delay_ms: float, rate_pps: float, direction: str
) -> None:
    where = f"{link} {direction}"
    delays = [nearest(measured, middle, where, "delay_ms", delay_ms) for middle in MIDDLES]
    assert delays == pytest.approx([delay_ms] * 2, abs=1)
    assert delays[0] == pytest.approx(delays[1], abs=1)
    rate_bps = rate_pps * 1073 * 8
    rates = [nearest(measured, middle, where, "rate_bps", rate_bps) for middle in MIDDLES]
    assert rates == pytest.approx([rate_bps] * 2, rel=0.02)
    assert rates[0] == pytest.approx(rates[1], rel=0.02)


def test_losses_are_independent_draws_of_the_share_asked(found: dict[str, Any]) -> None:
    for direction in ("ab", "ba"):
        readings = [probe[f"lossy {direction}"] for probe in found["probes"]]
        sent = sum(reading["sent"] for reading in readings)
        lost = sent - sum(reading["received"] for reading in readings)
        assert sent > 2000
        assert is_share(lost, sent, 0.05), f"{lost} of {sent}"


def test_no_loss_where_none_was_asked(found: dict[str, Any]) -> None:
    for name in ("uniform", "normal", "samples", "reorder"):
        assert sorted(numbers(found[name])) == list(range(1500)), name


def test_losses_come_in_bursts(found: dict[str, Any]) -> None:
    enter, leave = 0.02, 0.25
    flow = found["bursts"]
    arrived, sent = set(numbers(flow)), len(flow["sent_ns"])
    bursts = [
        len(list(run))
        for lost, run in itertools.groupby(number not in arrived for number in range(sent))
        if lost
    ]
    # Lengths are geometric. The share lost spreads more than of independent draws, by what neighbours share.
    assert statistics.fmean(bursts) == pytest.approx(
        1 / leave, abs=Z * math.sqrt(1 - leave) / leave / math.sqrt(len(bursts))
    )
    share, alike = enter / (enter + leave), 1 - enter - leave
    spread = math.sqrt(share * (1 - share) * (1 + alike) / (1 - alike) / sent)
    assert sum(bursts) / sent == pytest.approx(share, abs=Z * spread)


def test_jitter_keeps_the_order_unless_told_otherwise(measured: dict[str, Any]) -> None:
    medians = []
    for middle in MIDDLES:
        flow = measured[middle]["uniform"]
        assert inversions(flow) == 0
        assert statistics.pstdev(delays_ms(flow)) > 1, "there is jitter"
        assert statistics.quantiles(delays_ms(flow), n=20)[0] > 15
        medians.append(statistics.median(delays_ms(flow)))
        assert inversions(measured[middle]["normal"]) > 100
    # Frames that wait for those before them: more than the 20 ms asked, and alike.
    assert min(medians) > 22
    assert medians[0] == pytest.approx(medians[1], abs=2)


def test_normal_jitter_has_the_standard_deviation_asked(found: dict[str, Any]) -> None:
    delays = delays_ms(found["normal"])
    assert statistics.median(delays) == pytest.approx(30, abs=1.5)
    # By quartiles, so that a few late frames do not count.
    low, _, high = statistics.quantiles(delays, n=4)
    assert (high - low) / 1.349 == pytest.approx(5, rel=0.12)


def test_jitter_is_drawn_from_a_file(found: dict[str, Any]) -> None:
    delays = delays_ms(found["samples"])
    assert min(delays) > 10 + min(SAMPLES_MS) - 1
    # A guest lets some frames go late, none early, and whatever they drew: those on time tell the shares.
    on_time = [sum(-1 < delay - 10 - sample < 1.5 for delay in delays) for sample in SAMPLES_MS]
    assert sum(on_time) > len(delays) / 3
    for count in on_time:
        assert is_share(count, sum(on_time), 1 / len(SAMPLES_MS)), on_time


def test_reordered_frames_skip_the_delay(found: dict[str, Any]) -> None:
    early = sum(delay < 10 for delay in delays_ms(found["reorder"]))
    assert is_share(early, 1500, 0.1)
    assert inversions(found["reorder"]) > 50


def test_duplicates_arrive_twice(found: dict[str, Any]) -> None:
    arrived = numbers(found["duplicate"])
    assert set(arrived) == set(range(1500))
    assert max(map(arrived.count, range(1500))) == 2
    assert is_share(len(arrived) - 1500, 1500, 0.1)


def test_corrupt_frames_are_refused_by_their_checksum(found: dict[str, Any]) -> None:
    flow = found["corrupt"]
    lost = 1500 - len(flow["arrived"])
    # netem may flip a bit of the Ethernet header, too: nobody takes or refuses such a frame, or it passes.
    assert is_share(lost, 1500, 0.1)
    assert 0.9 * lost <= flow["refused"] <= lost


def test_a_change_takes_effect_and_drops_nothing(found: dict[str, Any]) -> None:
    flow = found["live"]["packets"]
    arrived, sent_ns = numbers(flow), flow["sent_ns"]
    delays: dict[int, float] = {}
    for number, at_ns in flow["arrived"]:
        delays.setdefault(number, (at_ns - sent_ns[number]) / 1e6)

    def of(first: int, last: int) -> list[float]:
        return [delays[number] for number in range(first, last) if number in delays]

    # All but those of the blackhole arrive: what was on its way at a change of delay, up or down, as well.
    assert set(arrived) == set(range(1250)) | set(range(1500, 2000))
    assert inversions(flow) == 0
    assert statistics.median(of(0, 250)) == pytest.approx(100, abs=2)
    assert statistics.median(of(250, 500)) == pytest.approx(200, abs=2)
    assert statistics.median(of(620, 1000)) == pytest.approx(20, abs=2)
    assert statistics.median(of(1030, 1250)) < 2, "a delay of 0 is no delay"
    assert statistics.median(of(1500, 2000)) == pytest.approx(10, abs=2)
    assert {number for number in set(arrived) if arrived.count(number) == 2} == set(range(1500, 1750))


def test_less_delay_does_not_let_frames_overtake(found: dict[str, Any]) -> None:
    flow = found["live"]["packets"]
    arrived_ns = dict(flow["arrived"])
    # The first after the change from 200 to 20 ms waits for the last before it, if that is still under way.
    waits_ms = (arrived_ns[499] - flow["sent_ns"][500]) / 1e6
    took_ms = (arrived_ns[500] - flow["sent_ns"][500]) / 1e6
    assert took_ms == pytest.approx(max(20, waits_ms), abs=5)


def test_a_pulled_plug(found: dict[str, Any]) -> None:
    plug = found["plug"]
    assert plug["down"] == [False, False], "as both hosts see it"
    assert plug["up"] == [True, True]
    assert set(numbers(plug["packets"])) == {*range(200), *range(400, 600)}


@pytest.mark.parametrize(("name", "rate_pps"), [("droptail", 256), ("drophead", 512)])
def test_a_full_queue_drops_at_its_tail_or_head(found: dict[str, Any], name: str, rate_pps: float) -> None:
    flow, queue_packets, burst_packets = found[name], 50, 2
    arrived = numbers(flow)
    sending_s = (flow["sent_ns"][-1] - flow["sent_ns"][0]) / 1e9
    expected = queue_packets + burst_packets + sending_s * rate_pps
    assert len(arrived) == pytest.approx(expected, abs=4)
    assert inversions(flow) == 0
    if name == "droptail":
        assert arrived[:queue_packets] == list(range(queue_packets))
    else:
        assert arrived[-queue_packets:] == list(range(150 - queue_packets, 150))
    # The last waits for all before it; a guest that is held up lets frames go late, none early.
    waits_ms = 1000 * queue_packets / rate_pps
    assert max(delays_ms(flow)) > 10 + waits_ms - 12
    assert statistics.median(delays_ms(flow)) < 10 + waits_ms


def test_codel_holds_an_overload_down_alike(measured: dict[str, Any]) -> None:
    flows = [measured[middle]["codel"] for middle in MIDDLES]
    # What neither drop-tail nor a long queue would do: 500 packets at 512 packets/s are 976 ms.
    longest_ms = [max(delays_ms(flow)) for flow in flows]
    assert longest_ms[0] == pytest.approx(longest_ms[1], rel=0.15)
    assert max(longest_ms) < 940
    delivered = [len(flow["arrived"]) for flow in flows]
    assert delivered[0] == pytest.approx(delivered[1], rel=0.03)


def test_a_queue_drains_at_the_new_rate(found: dict[str, Any]) -> None:
    flow, changed_ns = found["faster"]["packets"], found["faster"]["changed_ns"]
    assert numbers(flow) == list(range(152)), "none of the queue is lost or overtaken"
    times_ns = [at_ns for _, at_ns in flow["arrived"]]
    after = [b - a for a, b in itertools.pairwise(times_ns) if a > changed_ns + 15e6]
    assert len(after) > 50
    assert statistics.median(after) == pytest.approx(1e9 / (4 * 128), rel=0.05)
    assert 152 - len(after) > 3, "some left at the old rate"


def test_many_small_changes_of_the_rate_add_nothing_to_it(found: dict[str, Any]) -> None:
    first_ns, *_, last_ns = changed_ns = found["ramp"]["changed_ns"]
    assert len(changed_ns) >= 10
    delivered = sum(first_ns < at_ns < last_ns for _, at_ns in found["ramp"]["packets"]["arrived"])
    rate_pps = delivered / (last_ns - first_ns) * 1e9
    assert 0.9 * 128 < rate_pps < 1.03 * 128


def test_each_change_has_bounds_on_when_it_took_effect(measured: dict[str, Any]) -> None:
    assert all(ms == 0 for ms in measured["relay"]["live"]["uncertainty_ms"].values())
    assert all(ms > 0 for ms in measured["netem"]["live"]["uncertainty_ms"].values())


def test_losses_without_a_seed_are_said_to_be(measured: dict[str, Any]) -> None:
    assert measured["relay"]["facts"]["losses_seeded"] is True
    facts = measured["netem"]["facts"]
    # The guest's kernel is from before netem had seeds.
    assert facts["losses_seeded"] is False
    assert "6.6" in facts["reason"]
