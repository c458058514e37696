"""The patch's own reckoning, and round trips expected of a download."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.traffic.tcp.captured.receive_window import (
    expected_rtts,
    limited_bps,
    limited_rtts,
    one_rtt_bps,
    paced_rtts,
    packets,
)

MIB = 1 << 20


def test_the_figures_of_the_patch() -> None:
    assert packets(MIB) == 719
    assert one_rtt_bps(MIB, 0.05) / 1e6 == pytest.approx(168, abs=0.3)
    assert limited_rtts(MIB) == pytest.approx(math.log(16, 5))
    assert limited_rtts(MIB) == pytest.approx(1.72, abs=0.005)
    assert limited_bps(MIB, 0.05, whole_rtts=True) / 1e6 == pytest.approx(55.9, abs=0.05)
    assert limited_bps(MIB, 0.05, whole_rtts=False) / 1e6 == pytest.approx(61.6, abs=0.05)


def test_round_trips_of_the_cases() -> None:
    assert expected_rtts(MIB, 1_099_776, 800, "cubic") == 1
    assert expected_rtts(MIB, 64_512, 800, "cubic") == 3, "as the patch has it: 1.72 rounded up, and the first"
    assert expected_rtts(MIB, 64_512, 10, "cubic") == 7, "10 + 20 + … + 320 are 630 of 719 segments"
    assert expected_rtts(MIB, 1_099_776, 800, "bbr") == pytest.approx(1 + 719 / 800 / 2.885 / 0.99)


@given(st.integers(1, 1 << 28), st.integers(1000, 1 << 24), st.integers(1, 2000), st.sampled_from(["cubic", "bbr"]))
def test_more_window_takes_no_longer(size: int, window: int, segments: int, control: str) -> None:
    trips = expected_rtts(size, window, segments, control)
    assert trips >= 1
    assert expected_rtts(size, 2 * window, segments, control) <= trips
    if control == "cubic":
        assert expected_rtts(size, window, 2 * segments, control) <= trips
    assert paced_rtts(size, segments) > 1
