"""Intervals: reproducible, as wide as few values ask for, and where they lie beside what is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed import intervals
from testbed.intervals import Interval

VALUES = st.lists(st.floats(0.1, 100), min_size=3, max_size=12)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_few_values_have_no_interval(values: list[float]) -> None:
    assert intervals.of_median(values) is None
    assert intervals.of_ratio(values, [1, 2, 3]) is None
    assert intervals.of_difference([1, 2, 3], values) is None


@settings(max_examples=15, deadline=None)
@given(VALUES)
def test_the_median_is_inside_and_the_same_values_give_the_same(values: list[float]) -> None:
    found = intervals.of_median(values)
    assert found is not None
    assert min(values) <= found.low <= np.median(values) <= found.high <= max(values)
    assert intervals.of_median(list(values)) == found


def test_up_to_five_values_give_their_range() -> None:
    assert intervals.of_median([3.0, 1.0, 2.0]) == Interval(1.0, 3.0)
    assert intervals.of_median([5.0, 1.0, 2.0, 4.0, 3.0]) == Interval(1.0, 5.0)


def test_more_values_narrow_it() -> None:
    few = intervals.of_median([10, 11, 12, 13, 14])
    many = intervals.of_median([10, 11, 12, 13, 14] * 8)
    assert few is not None
    assert many is not None
    assert many.high - many.low < few.high - few.low


def test_values_that_are_all_alike_leave_nothing_open() -> None:
    assert intervals.of_median([7.0] * 3) == Interval(7.0, 7.0)
    assert intervals.of_ratio([6.0] * 3, [3.0] * 4) == Interval(2.0, 2.0)


def test_it_covers_the_true_median_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    found = [intervals.of_median(list(rng.normal(5.0, 1.0, 15))) for _ in range(60)]
    covers = sum(one is not None and one.low <= 5.0 <= one.high for one in found)
    assert covers >= 50  # of 60, at 95%: the seed is fixed


def test_ratio_and_difference_of_what_is_far_apart() -> None:
    ratio = intervals.of_ratio([2.0, 2.1, 2.2], [1.0, 1.1, 0.9])
    difference = intervals.of_difference([2.0, 2.1, 2.2], [1.0, 1.1, 0.9])
    assert ratio is not None
    assert difference is not None
    assert ratio.low == pytest.approx(2.0 / 1.1)
    assert ratio.high == pytest.approx(2.2 / 0.9)
    assert difference.low == pytest.approx(0.9)
    assert difference.high == pytest.approx(1.3)
    assert intervals.of_ratio([1, 2, 3], [0, 1, 2]) is None


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0.9, 2.1, "inside"),
        (1.0, None, "inside"),
        (1.5, None, "straddles"),
        (2.1, None, "outside"),
        (0.0, 0.9, "outside"),
        (0.0, 1.5, "straddles"),
        (1.2, 1.8, "straddles"),
    ],
)
def test_where_it_lies(low: float, high: float | None, found: str) -> None:
    assert Interval(1.0, 2.0).against(low, high) == found
