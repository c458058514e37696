"""Both middles of a link, measured in one guest: what was asked is what there is, by netem as by the relay.

The guest's time is virtual, so that nothing else delays a packet: delays are judged packet by packet. Draws are the
same each time, too; bounds on their shares are such that one honest seed in a million misses one.
"""

import itertools
import math
import re
import statistics
from typing import Any

import pytest

from tests.netem.measure import SAMPLES_MS

MIDDLES = ("netem", "relay")
Z = 4.9
"""Standard deviations: a normal variable is farther off with a chance of one in a million."""
LATE_MS = 0.15
"""How late a packet may be: system calls have their price in virtual time, and several may be due at once."""
PACKETS_PER_LATE_ONE, RARELY_LATE_MS = 250, 1.0
"""One packet of so many may be later, by less than this: seen in one guest of many, for a cause that is not known."""
EARLY_MS = 0.001
"""How early, for the clock's sake: netem counts from when a packet was sent, which the sender notes before it."""

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


def on_time(delays: list[float], asked_ms: float) -> bool:
    """Whether there are delays, and each is what was asked."""
    late = sum(delay - asked_ms >= LATE_MS for delay in delays)
    in_time = all(-EARLY_MS <= delay - asked_ms < RARELY_LATE_MS for delay in delays)
    return bool(delays) and in_time and late <= len(delays) // PACKETS_PER_LATE_ONE


def is_share(count: int, of: int, share: float) -> bool:
    """Whether a count is what independent draws with this chance give."""
    return abs(count - of * share) <= Z * math.sqrt(of * share * (1 - share)) + 1


@pytest.mark.parametrize("direction", ["ab", "ba"])
@pytest.mark.parametrize(
    ("link", "delay_ms", "rate_pps"), [("plain", 20, 512), ("lossy", 10, 128), ("droptail", 10, 256)]
)
def test_delay_and_rate_are_what_was_asked(
    found: dict[str, Any], link: str, delay_ms: float, rate_pps: float, direction: str
) -> None:
    reading = found["probe"][f"{link} {direction}"]
    assert on_time([reading["delay_ms"], reading["delay_p99_ms"]], delay_ms)
    assert reading["rate_bps"] == pytest.approx(rate_pps * 1073 * 8, rel=1e-4)


def test_losses_are_independent_draws_of_the_share_asked(found: dict[str, Any]) -> None:
    for direction in ("ab", "ba"):
        reading = found["probe"][f"lossy {direction}"]
        sent, lost = reading["sent"], reading["sent"] - reading["received"]
        assert sent > 2000
        assert is_share(lost, sent, 0.05), f"{lost} of {sent}"


def test_no_loss_where_none_was_asked(found: dict[str, Any]) -> None:
    for name in ("uniform", "normal", "samples", "reorder"):
        assert sorted(numbers(found[name])) == list(range(1500)), name


def test_losses_come_in_bursts(found: dict[str, Any]) -> None:
    enter, leave = 0.02, 0.25
    flow = found["bursts"]
    assert on_time(delays_ms(flow), 5)
    arrived, sent = set(numbers(flow)), len(flow["sent_ns"])
    bursts = [
        len(list(run)) for lost, run in itertools.groupby(number not in arrived for number in range(sent)) if lost
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
        delays = delays_ms(flow)
        assert inversions(flow) == 0
        assert statistics.pstdev(delays) > 1, "there is jitter"
        assert min(delays) >= 10
        assert max(delays) < 30 + LATE_MS
        assert statistics.quantiles(delays, n=20)[0] > 15
        medians.append(statistics.median(delays))
        assert inversions(measured[middle]["normal"]) > 100
    # Frames that wait for those before them: more than the 20 ms asked, and alike.
    assert min(medians) > 22
    assert medians[0] == pytest.approx(medians[1], abs=1)


def test_normal_jitter_has_the_standard_deviation_asked(found: dict[str, Any]) -> None:
    delays = delays_ms(found["normal"])
    assert statistics.fmean(delays) == pytest.approx(30, abs=Z * 5 / math.sqrt(len(delays)))
    assert statistics.pstdev(delays) == pytest.approx(5, rel=Z / math.sqrt(2 * len(delays)))


def test_jitter_is_drawn_from_a_file(found: dict[str, Any]) -> None:
    delays = delays_ms(found["samples"])
    drawn = [sum(on_time([delay], 10 + sample) for delay in delays) for sample in SAMPLES_MS]
    assert sum(drawn) == len(delays), "and nothing else"
    for count in drawn:
        assert is_share(count, len(delays), 1 / len(SAMPLES_MS)), drawn


def test_reordered_frames_skip_the_delay(found: dict[str, Any]) -> None:
    delays = delays_ms(found["reorder"])
    early = [delay for delay in delays if delay < 10]
    assert on_time(early, 0)
    assert on_time([delay for delay in delays if delay >= 10], 20)
    assert is_share(len(early), 1500, 0.1)
    assert inversions(found["reorder"]) > 50


def test_duplicates_arrive_twice(found: dict[str, Any]) -> None:
    arrived = numbers(found["duplicate"])
    assert set(arrived) == set(range(1500))
    assert max(map(arrived.count, range(1500))) == 2
    assert is_share(len(arrived) - 1500, 1500, 0.1)
    assert on_time(delays_ms(found["duplicate"]), 20)


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
    assert on_time(of(0, 250), 100)
    assert on_time(of(250, 500), 200)
    # From 200 to 20 ms: the first packets wait for those before them, 90 packets long.
    assert on_time(of(600, 1000), 20)
    # From 20 to 0 ms: 10 packets long.
    assert on_time(of(1020, 1250), 0), "a delay of 0 is no delay"
    assert on_time(of(1500, 2000), 10)
    assert {number for number in set(arrived) if arrived.count(number) == 2} == set(range(1500, 1750))


def test_less_delay_does_not_let_frames_overtake(found: dict[str, Any]) -> None:
    flow = found["live"]["packets"]
    arrived_ns = dict(flow["arrived"])
    # The first after the change from 200 to 20 ms waits for the last before it, which is still under way.
    waits_ms = (arrived_ns[499] - flow["sent_ns"][500]) / 1e6
    took_ms = (arrived_ns[500] - flow["sent_ns"][500]) / 1e6
    assert 190 < waits_ms < 200
    assert took_ms == pytest.approx(waits_ms, abs=LATE_MS)


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
    assert len(arrived) == pytest.approx(expected, abs=1)
    assert inversions(flow) == 0
    if name == "droptail":
        assert arrived[:queue_packets] == list(range(queue_packets))
    else:
        assert arrived[-queue_packets:] == list(range(150 - queue_packets, 150))
    # The last waits for all before it, but for the one that is being sent.
    frame_ms = 1000 / rate_pps
    waits_ms = queue_packets * frame_ms
    assert 10 + waits_ms - frame_ms < max(delays_ms(flow)) < 10 + waits_ms + LATE_MS
    assert statistics.median(delays_ms(flow)) < 10 + waits_ms


@pytest.mark.parametrize("name", ["droptail", "drophead"])
def test_both_middles_drop_the_same_packets(measured: dict[str, Any], name: str) -> None:
    flows = [measured[middle][name] for middle in MIDDLES]
    netem, relay = (numbers(flow) for flow in flows)
    # A packet that leaves in the midst of the burst makes room for one more, and which one that is, or is at the head
    # then, hangs on the microsecond at which it leaves. There are few such; all others are the same.
    in_its_midst = [sum(at_ns < flow["sent_ns"][-1] + 10e6 for _, at_ns in flow["arrived"]) for flow in flows]
    assert max(in_its_midst) <= 4
    assert len(set(netem) ^ set(relay)) <= sum(in_its_midst)
    if name == "droptail":
        assert netem[:50] == relay[:50] == list(range(50))
    else:
        assert netem[-49:] == relay[-49:] == list(range(101, 150))


def test_codel_holds_an_overload_down_alike(measured: dict[str, Any]) -> None:
    flows = [measured[middle]["codel"] for middle in MIDDLES]
    # What neither drop-tail nor a long queue would do: 500 packets at 512 packets/s are 976 ms.
    longest_ms = [max(delays_ms(flow)) for flow in flows]
    assert longest_ms[0] == pytest.approx(longest_ms[1], rel=0.01)
    assert max(longest_ms) < 940
    delivered = [len(flow["arrived"]) for flow in flows]
    assert delivered[0] == pytest.approx(delivered[1], rel=0.005)


def test_a_queue_drains_at_the_new_rate(found: dict[str, Any]) -> None:
    flow, changed_ns = found["faster"]["packets"], found["faster"]["changed_ns"]
    assert numbers(flow) == list(range(152)), "none of the queue is lost or overtaken"
    times_ns = [at_ns for _, at_ns in flow["arrived"]]
    # What left before the change arrives up to the link's delay of 10 ms later.
    after = [b - a for a, b in itertools.pairwise(times_ns) if a > changed_ns + 15e6]
    assert len(after) > 100
    each_ns = 1e9 / (4 * 128)
    assert after == pytest.approx([each_ns] * len(after), abs=LATE_MS * 1e6)
    # A packet that is late makes two intervals another length.
    assert sum(abs(one - each_ns) > 0.01 * each_ns for one in after) <= 2
    assert statistics.median(after) == pytest.approx(1e9 / (4 * 128), rel=1e-3)
    assert 152 - len(after) > 3, "some left at the old rate"


def test_many_small_changes_of_the_rate_add_nothing_to_it(found: dict[str, Any]) -> None:
    first_ns, *_, last_ns = changed_ns = found["ramp"]["changed_ns"]
    assert len(changed_ns) > 90
    delivered = sum(first_ns < at_ns < last_ns for _, at_ns in found["ramp"]["packets"]["arrived"])
    rate_pps = delivered / (last_ns - first_ns) * 1e9
    # 128 and 1% more in turns; a packet is 0.4% of what crosses in two seconds.
    assert rate_pps == pytest.approx(1.005 * 128, rel=0.005)


def test_each_change_has_bounds_on_when_it_took_effect(measured: dict[str, Any]) -> None:
    assert all(ms == 0 for ms in measured["relay"]["live"]["uncertainty_ms"].values())
    assert all(0 < ms < 5 for ms in measured["netem"]["live"]["uncertainty_ms"].values())


def test_losses_are_seeded_where_tc_can(measured: dict[str, Any]) -> None:
    assert measured["relay"]["facts"]["losses_seeded"] is True
    netem = measured["netem"]
    major, minor = re.search(r"iproute2-(\d+)\.(\d+)", netem["tc"]).groups()  # type: ignore[union-attr]
    assert netem["facts"]["losses_seeded"] is ((int(major), int(minor)) >= (6, 6))
