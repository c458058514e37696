"""Statistics of the benchmarks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from testbed.lab.links import CONFIDENCE
from testbed.lab.table import Spread, quantile

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


@given(numbers)
def test_a_median_lies_between_the_extremes(values: list[float]) -> None:
    spread = Spread.of(values)
    assert spread.low <= spread.median <= spread.high
    assert spread.n == len(values)


@given(numbers, st.floats(0, 1))
def test_a_quantile_is_not_exceeded_by_its_share(values: list[float], share: float) -> None:
    found = quantile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values)


def test_the_median_of_an_even_number_is_between() -> None:
    assert Spread.of([4.0, 1.0, 3.0, 2.0]) == Spread(2.5, 1.0, 4.0, 4)


def test_of_nothing_there_is_no_figure() -> None:
    with pytest.raises(ValueError, match="no median"):
        Spread.of([])


@pytest.mark.parametrize(("trials", "chance"), [(20, 0.5), (50, 0.1), (9, 0.01)])
def test_the_interval_has_the_tails_that_it_may_have(trials: int, chance: float) -> None:
    low, high = map(int, stats.binom.interval(CONFIDENCE, trials, chance))
    mass = [math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]
    assert sum(mass[:low]) <= 0.005
    assert sum(mass[high + 1 :]) <= 0.005 + 1e-12
    assert sum(mass[: low + 1]) > 0.005, "one more at the lower end would be too many"
    assert sum(mass[high:]) > 0.005, "one more at the upper end would be too many"


def test_the_interval_of_many_is_about_that_of_the_normal_distribution() -> None:
    low, high = stats.binom.interval(CONFIDENCE, 20_000, 0.1)
    deviation = math.sqrt(20_000 * 0.1 * 0.9)
    assert low == pytest.approx(2000 - 2.576 * deviation, abs=3)
    assert high == pytest.approx(2000 + 2.576 * deviation, abs=3)
