"""Intervals: they cover the median as often as they say, say what n gives and no more, and lie where they lie."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import sub, truediv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from testbed.judge import intervals
from testbed.judge.intervals import LEVEL, OF_TWO, Interval

VALUES = st.lists(st.floats(0.1, 100), min_size=3, max_size=40)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_few_values_have_no_interval(values: list[float]) -> None:
    assert intervals.of_median(values) is None


@pytest.mark.parametrize(
    ("n", "k", "level"),
    [
        (3, 1, 0.75),
        (4, 1, 0.875),
        (5, 1, 0.9375),
        (6, 1, 0.96875),
        (8, 1, 0.9921875),
        (9, 2, 0.9609375),
        (11, 2, 0.98828125),
    ],
)
def test_the_level_is_the_one_that_n_gives(n: int, k: int, level: float) -> None:
    assert intervals.of_median(range(n, 0, -1)) == Interval(k, n + 1 - k, level)


@pytest.mark.parametrize(
    ("n", "least", "k"), [(6, 0.3125, 3), (6, 0.313, 2), (7, 0.5, 3), (3, 0.1, 1), (4, 0.375, 2), (4, 0.376, 1)]
)
def test_a_lower_level_has_a_narrower_interval(n: int, least: float, k: int) -> None:
    assert intervals.of_median(range(1, n + 1), least) == Interval(k, n + 1 - k, intervals.level_of(n, k))


@given(st.integers(3, 200), st.sampled_from([LEVEL, OF_TWO]))
def test_only_fewer_than_six_values_have_less_than_is_asked_and_no_narrower_one_would_do(n: int, least: float) -> None:
    found = intervals.of_median(range(1, n + 1), least)
    assert found is not None
    k = int(found.low)
    assert found.high == n + 1 - k
    assert found.level == pytest.approx(1 - 2 * stats.binom.cdf(k - 1, n, 0.5))
    assert (found.level >= least) == (n >= (6 if least == LEVEL else 7))
    assert k == n or intervals.level_of(n, k + 1) < least


@given(VALUES.filter(lambda values: len(values) > 5))
def test_the_bounds_are_scipy_s(values: list[float]) -> None:
    theirs = stats.quantile_test(values, q=0.0, p=0.5).confidence_interval(LEVEL)
    ours = intervals.of_median(values)
    assert ours is not None
    assert (ours.low, ours.high) == (theirs.low, theirs.high)


@given(VALUES, st.randoms())
def test_the_median_is_inside_and_the_order_says_nothing(values: list[float], random: object) -> None:
    found = intervals.of_median(values)
    assert found is not None
    assert min(values) <= found.low <= np.median(values) <= found.high <= max(values)
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert intervals.of_median(shuffled) == found


DRAWS: dict[str, tuple[float, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]]] = {
    "normal": (0.0, lambda rng, size: rng.normal(0, 1, size)),
    "exponential": (math.log(2), lambda rng, size: rng.exponential(1, size)),
    "cauchy": (0.0, lambda rng, size: rng.standard_cauchy(size)),
    "two heaps": (0.0, lambda rng, size: rng.choice([-1.0, 1.0], size) * rng.uniform(5, 6, size)),
    "a die": (3.5, lambda rng, size: rng.integers(1, 7, size).astype(float)),
    "nearly always the same": (1.0, lambda rng, size: (rng.random(size) < 0.9).astype(float)),
}
"""True median, and how to draw."""
TIMES = 4000


def covered(share: float, level: float) -> bool:
    """Whether a share of :data:`TIMES` may be that of something with the level: three standard errors less."""
    return share >= level - 3 * math.sqrt(level * (1 - level) / TIMES)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 9, 11, 20])
@pytest.mark.parametrize("drawn", DRAWS)
def test_it_covers_the_true_median_at_least_as_often_as_it_says(drawn: str, n: int) -> None:
    median, draw = DRAWS[drawn]
    found = [intervals.of_median(values) for values in draw(np.random.default_rng(n), (TIMES, n)).tolist()]
    share = sum(one is not None and one.low <= median <= one.high for one in found) / TIMES
    assert found[0] is not None
    assert covered(share, found[0].level)
    if drawn == "normal":  # and where no two values are alike, no more often either
        assert covered(1 - share, 1 - found[0].level)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (3, 11), (5, 6), (7, 7), (11, 11)])
@pytest.mark.parametrize(("one", "other"), [("normal", "cauchy"), ("exponential", "exponential"), ("a die", "normal")])
@pytest.mark.parametrize("of", ["ratio", "difference"])
def test_so_do_ratio_and_difference(of: str, one: str, other: str, n: int, m: int) -> None:
    rng, (a, draw_a), (b, draw_b) = np.random.default_rng(n + m), DRAWS[one], DRAWS[other]
    b += 1000  # far from 0
    true = a / b if of == "ratio" else a - b
    inside, level = 0, 0.0
    for x, y in zip(draw_a(rng, (TIMES, n)).tolist(), (draw_b(rng, (TIMES, m)) + 1000).tolist(), strict=True):
        both = intervals.of_median(x, OF_TWO), intervals.of_median(y, OF_TWO)
        assert both[0] is not None
        assert both[1] is not None
        if min(y) <= 0:
            inside += 1  # no ratio is said
            continue
        found = intervals.of_two(both[0], both[1], truediv if of == "ratio" else sub)
        inside, level = inside + (found.low <= true <= found.high), found.level
    assert covered(inside / TIMES, level)


def test_the_levels_of_two_are_added_up() -> None:
    one, other = intervals.of_median([2.0, 2.1, 2.2], OF_TWO), intervals.of_median([1.0, 1.1, 0.9], OF_TWO)
    assert one is not None
    assert other is not None
    assert intervals.of_two(one, other, truediv) == pytest.approx((2.0 / 1.1, 2.2 / 0.9, 0.5))
    assert intervals.of_two(one, other, sub) == pytest.approx((0.9, 1.3, 0.5))
    assert intervals.of_two(Interval(-1, 2, 0.9), Interval(-4, -2, 0.9), truediv) == pytest.approx((-1, 0.5, 0.8))
    assert intervals.of_two(Interval(0, 1, 0.4), Interval(0, 1, 0.4), sub).level == 0


@given(st.floats(0, 1, exclude_max=True))
def test_no_level_is_told_as_more_than_a_threshold_that_it_misses(level: float) -> None:
    percent = int(intervals.levels_in_words([level]).removesuffix("%"))
    assert abs(percent - 100 * level) <= 1
    assert percent < 100
    assert (percent >= 95) == (level >= LEVEL)


def test_levels_in_words() -> None:
    assert intervals.levels_in_words([0.75]) == "75%"
    assert intervals.levels_in_words([0.96875, 0.75, 0.875]) == "75 to 97%"
    assert intervals.levels_in_words([0.9499]) == "94%"


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0.9, 2.1, "pass"),
        (1.0, None, "pass"),
        (1.5, None, "inconclusive"),
        (2.1, None, "fail"),
        (0.0, 0.9, "fail"),
        (0.0, 1.5, "inconclusive"),
        (1.2, 1.8, "inconclusive"),
    ],
)
def test_where_it_lies(low: float, high: float | None, found: str) -> None:
    assert Interval(1.0, 2.0, 0.75).against(low, high) == found


@pytest.mark.parametrize(("value", "found"), [(1.0, "pass"), (0.9, "fail")])
def test_a_value_alone_is_never_undecided(value: float, found: str) -> None:
    assert intervals.against(value, None, 1.0, None) == found


def test_in_parts_of_a_number_and_less_a_number() -> None:
    assert Interval(1.0, 3.0, 0.75).over(2.0) == (0.5, 1.5, 0.75)
    assert Interval(1.0, 3.0, 0.75).less(2.0) == (-1.0, 1.0, 0.75)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(1.0, 2.0, "pass"), (2.0, None, "inconclusive"), (2.0, 3.0, "inconclusive"), (0.0, 1.0, "inconclusive")],
)
def test_its_ends_belong_to_it_and_to_what_is_asked(low: float, high: float | None, found: str) -> None:
    assert intervals.against(5.0, Interval(1.0, 2.0, 0.75), low, high) == found


def test_a_value_alone_is_beside_an_upper_limit() -> None:
    assert [intervals.against(value, None, 1.0, 2.0) for value in (2.0, 2.1)] == ["pass", "fail"]


def test_certainty_is_told_as_certainty_only() -> None:
    assert [intervals.levels_in_words([level]) for level in (1.0, 0.999, 0.95, 0.0)] == ["100%", "99%", "95%", "0%"]
