"""Quantities: what is read, and what the message says where something can't be."""

import contextlib
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raises import Containing, Said, raises
from topologies.units import (
    LONGEST_S,
    QueueLength,
    Rate,
    UnitError,
    parse_delay_ms,
    parse_duration_s,
    parse_fraction,
    parse_queue,
    parse_rate,
    parse_size_bytes,
    whole_bps,
)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("50ms", 50.0), ("0.5s", 500.0), ("250us", 0.25), ("250µs", 0.25), (" 2 ms ", 2.0), ("0", 0.0), (0, 0.0)],
)
def test_delays(text: object, milliseconds: float) -> None:
    assert parse_delay_ms(text) == milliseconds


@pytest.mark.parametrize(("text", "bps"), [("8mbit", 8e6), ("8Mbit/s", 8e6), ("1.5gbit", 1.5e9), ("64kbit", 64e3)])
def test_bit_rates(text: str, bps: float) -> None:
    assert parse_rate(text).to_bps(frame_bytes=1073) == bps


def test_a_packet_rate_depends_on_the_frame() -> None:
    rate = parse_rate("1024pps")
    assert rate.to_bps(1073) == 1024 * 1073 * 8
    assert rate.to_pps(1073) == 1024


@pytest.mark.parametrize(
    ("text", "bps", "whole"),
    [
        ("22857.143kbit", 22857143, 22857143),
        ("1.0000001mbit", 1000000.1, 1000000),
        ("102.4pps", 879001.6, 879002),
        ("0.01pps", 85.84, 86),
        ("0.1pps", 858.4, 858),
    ],
)
def test_a_rate_is_not_rounded_and_an_engine_takes_whole_bits(text: str, bps: float, whole: int) -> None:
    found = parse_rate(text).to_bps(1073)
    assert (found, type(found)) == (bps, type(bps))
    assert whole_bps(found) == whole


def test_an_engine_has_one_bit_per_second_at_least() -> None:
    assert [whole_bps(rate) for rate in (0.2, 0.5, 1.5, 2.5, 3.5)] == [1, 1, 2, 2, 4]


@given(st.decimals("0.01", "10000000", places=4), st.integers(60, 9000))
def test_packets_per_second_come_back(pps: Decimal, frame_bytes: int) -> None:
    rate = Rate(pps=float(pps))
    assert Rate(bps=rate.to_bps(frame_bytes)).to_pps(frame_bytes) == pytest.approx(float(pps), rel=1e-15)


@pytest.mark.parametrize(("text", "size"), [("48MiB", 48 << 20), ("1MB", 10**6), ("64KiB", 65536), ("1024B", 1024)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size_bytes(text) == size


@pytest.mark.parametrize(("text", "fraction"), [("1%", 0.01), ("0.01", 0.01), (0.25, 0.25), (0, 0.0), ("100%", 1.0)])
def test_fractions(text: object, fraction: float) -> None:
    assert parse_fraction(text) == fraction


@pytest.mark.parametrize(
    ("text", "queue"),
    [
        ("100 packets", QueueLength(packets=100)),
        ("64KiB", QueueLength(bytes=65536)),
        ("20ms", QueueLength(ms=20.0)),
        ("1x bdp", QueueLength(bdp=1.0)),
        ("2.5 bdp", QueueLength(bdp=2.5)),
    ],
)
def test_queues(text: str, queue: QueueLength) -> None:
    assert parse_queue(text) == queue


def test_a_queue_of_one_bdp_holds_rate_times_rtt() -> None:
    assert parse_queue("1x bdp").to_packets(rate_pps=1024, rtt_ms=100, frame_bytes=1073) == 102
    assert parse_queue("1x bdp").to_packets(rate_pps=1, rtt_ms=1, frame_bytes=1073) == 1, "never without room for one"


@pytest.mark.parametrize(
    ("parse", "text", "says"),
    [
        (parse_rate, 1024, Said("quantity.number-without-unit", number=1024, example=Containing("1024pps"))),
        (parse_rate, "1024", Said("quantity.no-unit")),
        (parse_rate, "8furlong", Said("quantity.unknown-unit", unit="furlong", known=Containing("pps, bit"))),
        (parse_rate, "0pps", Said("quantity.not-above-zero")),
        (parse_rate, "-1mbit", Said("quantity.not-above-zero")),
        (parse_delay_ms, "-5ms", Said("quantity.negative-duration")),
        (parse_delay_ms, 50, Said("quantity.number-without-unit", number=50)),
        (parse_delay_ms, True, Said("quantity.not-a-quantity")),
        (parse_delay_ms, None, Said("quantity.not-a-quantity")),
        (parse_size_bytes, "48", Said("quantity.no-unit")),
        (parse_size_bytes, "0.1B", Said("quantity.below-one-byte")),
        (parse_fraction, "101%", Said("quantity.fraction-outside")),
        (parse_fraction, True, Said("quantity.not-a-fraction")),
        (parse_queue, 100, Said("quantity.no-unit")),
        (parse_queue, "100 wagons", Said("quantity.not-a-queue", example=Containing("100 packets, 64KiB"))),
    ],
)
def test_messages_say_what_would_be_right(parse, text, says) -> None:
    with raises(UnitError, says):
        parse(text)


@given(
    st.floats(min_value=0, max_value=LONGEST_S / 3600, allow_nan=False),
    st.sampled_from(["ns", "us", "ms", "s", "min", "h"]),
)
def test_durations_scale_by_their_unit(number: float, unit: str) -> None:
    factor = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}[unit]
    assert math.isclose(parse_duration_s(f"{number}{unit}"), number * factor, rel_tol=1e-12, abs_tol=1e-15)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_unit_error(text: str) -> None:
    for parse in (parse_rate, parse_delay_ms, parse_size_bytes, parse_fraction, parse_queue):
        with contextlib.suppress(UnitError):
            parse(text)
