"""A link's properties as options of tc: pure text, so without a kernel. What the kernel makes of it: tests/netem."""

from pathlib import Path
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies import netem_options, shaper
from topologies.impairments import jitter
from topologies.impairments.impairment import percent
from topologies.impairments.loss import GilbertElliott
from topologies.link import Impairments, Link, QueueMode, resolve_link
from topologies.netem_options import changed, properties_of
from topologies.units import QueueLength, Rate


def link(
    mode: QueueMode = "droptail", impairments: Impairments | None = None, *, delay_ms: float = 0.0, loss: float = 0.0
) -> Link:
    return resolve_link(
        1,
        "k",
        "h1",
        "h2",
        Rate(bps=8e6),
        queue_mode=mode,
        queue=QueueLength(packets=40),
        impairments=impairments or Impairments(),
        delay_ms=delay_ms,
        loss=loss,
    )


def option(options: list[str], name: str, values: int = 1) -> list[str]:
    at = options.index(name)
    return options[at + 1 : at + 1 + values]


def test_netem_may_hold_what_the_delay_keeps_in_it() -> None:
    slow = resolve_link(1, "slow", "h1", "h2", Rate(bps=1e6), delay_ms=1)
    assert netem_options.limit_packets(properties_of(slow)) == 1000, "never below netem's own default"
    fast = resolve_link(1, "fast", "h1", "h2", Rate(bps=1e9), delay_ms=500)
    # 1 Gbit/s of 64-byte frames for half a second is 976,562 packets.
    assert netem_options.limit_packets(properties_of(fast)) > 976_562


def test_every_option_is_named_so_that_a_change_goes_back_to_nothing() -> None:
    options = netem_options.netem(properties_of(link(delay_ms=5)))
    assert option(options, "delay", 2) == ["5000.000us", "0.000us"]
    for name in ("loss", "duplicate", "corrupt", "reorder"):
        assert float(option(options, name)[0].rstrip("%")) == 0


def test_order_is_kept_by_a_rate_that_takes_no_time() -> None:
    keeps = netem_options.netem(properties_of(link(impairments=Impairments(jitter_ms=5))))
    assert option(keeps, "rate") == ["10tbit"]
    reorders = netem_options.netem(properties_of(link(impairments=Impairments(jitter_ms=5, jitter_reorders=True))))
    assert option(reorders, "rate") == ["0"]


def test_bursty_loss_in_the_order_of_tc() -> None:
    bursts: GilbertElliott = {"enter": 0.01, "leave": 0.2, "loss_good": 0.001, "loss_bad": 0.9}
    options = netem_options.netem(properties_of(link(impairments=Impairments(gilbert_elliott=bursts))))
    at = options.index("gemodel")
    # p, r, 1-h (lost in the bad state), 1-k (lost in the good state)
    assert [float(text.rstrip("%")) for text in options[at + 1 : at + 5]] == [1, 20, 90, 0.1]


@given(st.floats(0, 1))
def test_shares_are_as_fine_as_netem_itself(share: float) -> None:
    text = percent(share)
    assert text.endswith("%")
    assert float(text[:-1]) / 100 == pytest.approx(share, abs=2**-33)
    assert "e" not in text, "tc reads no exponents"


def test_one_loss_replaces_the_other() -> None:
    properties = properties_of(link(loss=0.1))
    bursty = changed(properties, {"gilbert_elliott": {"enter": 0.1, "leave": 0.5}})
    assert "gemodel" in netem_options.netem(bursty)
    assert option(netem_options.netem(changed(bursty, {"loss": 1.0})), "loss") == ["100.000000000%"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dely_ms": 1}, "dely_ms: no such property"),
        ({"loss": 1.5}, "loss: 1.5, want a number from 0 to 1"),
        ({"delay_ms": -1}, "delay_ms: -1"),
        ({"delay_ms": float("nan")}, "delay_ms: nan"),
        ({"rate_bps": 0}, "rate_bps: 0"),
        ({"gilbert_elliott": {"enter": 2}}, "gilbert_elliott.enter: 2"),
        ({"gilbert_elliott": {"p": 0.1}}, "gilbert_elliott.p"),
        ({"jitter": "normal"}, "jitter: netem can't change it on a live link"),
        ({"frame_bytes": 1}, "frame_bytes: no such property"),
    ],
)
def test_bad_changes_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        changed(properties_of(link()), change)


def test_a_change_changes_nothing_else() -> None:
    before = properties_of(link(loss=0.1, delay_ms=3, impairments=Impairments(duplicate=0.2)))
    after = changed(before, {"delay_ms": 7.0})
    assert after["delay_ms"] == 7
    assert changed(after, {"delay_ms": 3.0}) == before


def test_the_rates_bucket_is_that_of_a_token_bucket_filter() -> None:
    plan = link()
    options = shaper.rate_class(plan["rate_bps"], plan["burst_bytes"], plan["frame_bytes"])
    # HTB sends a frame more than its tokens are for.
    assert int(options["burst"]) + plan["frame_bytes"] == plan["burst_bytes"]
    assert options["rate"] == options["ceil"] == "8000000bit"


@pytest.mark.parametrize(("mode", "kind"), [("droptail", "pfifo"), ("drophead", "pfifo_head_drop"), ("codel", "codel")])
def test_each_queue_has_its_discipline(mode: QueueMode, kind: str) -> None:
    options = netem_options.queue(properties_of(link(mode)))
    assert options[:3] == [kind, "limit", "40"]


def entries(asked: Link) -> list[int]:
    return [int(line) for line in jitter.table(asked).splitlines()]


def test_normal_jitter_has_the_standard_deviation_asked() -> None:
    asked = link(impairments=Impairments(jitter_ms=5, jitter="normal"))
    multiples = [entry / jitter.TABLE_UNIT for entry in entries(asked)]
    assert fmean(multiples) == pytest.approx(0, abs=1e-3)
    assert pstdev(multiples) == pytest.approx(1, rel=2e-3)
    assert jitter.option_ms(asked) == 5


A_NANOSECOND_MS = 1e-6  # finer than that, netem has no delay


@given(st.lists(st.floats(-1000, 1000), min_size=1, max_size=200))
def test_samples_survive_the_table(tmp_path_factory: pytest.TempPathFactory, samples_ms: list[float]) -> None:
    path = tmp_path_factory.mktemp("jitter") / "samples.txt"
    path.write_text("\n".join(map(repr, samples_ms)))
    asked = link(impairments=Impairments(jitter="samples", jitter_file=str(path)))
    unit_ms = jitter.option_ms(asked)
    largest = max(map(abs, samples_ms))
    for entry, sample in zip(entries(asked), samples_ms, strict=True):
        assert abs(entry) < 2**15
        assert entry * unit_ms / jitter.TABLE_UNIT == pytest.approx(sample, abs=max(largest / 30_000, A_NANOSECOND_MS))


def test_a_bad_sample_is_named(tmp_path: Path) -> None:
    path = tmp_path / "samples.txt"
    path.write_text("1.5\n\nsoon\n")
    with pytest.raises(ValueError, match=r"samples.txt: line 3: 'soon', want milliseconds"):
        jitter.read_samples_ms(path)
    path.write_text("1\n-3600001\n")  # what internal/linkmodel takes is an hour
    with pytest.raises(ValueError, match=r"line 2: '-3600001', want milliseconds, 3600000 at most"):
        jitter.read_samples_ms(path)
    path.write_text("\n")
    with pytest.raises(ValueError, match="no sample"):
        jitter.read_samples_ms(path)
    path.write_text("x" * 1000)
    with pytest.raises(ValueError, match=r"'x{40}', want milliseconds"):
        jitter.read_samples_ms(path)


def test_each_direction_and_change_has_its_own_seed() -> None:
    one, other = link(), resolve_link(2, "other", "h1", "h2", Rate(bps=8e6))
    seeds = {
        netem_options.seed_of(which, direction, changes)
        for which in (one, other)
        for direction in ("ab", "ba")
        for changes in (0, 1)
    }
    assert len(seeds) == 8
    assert netem_options.seed_of(one, "ab", 0) == netem_options.seed_of(link(), "ab", 0)
