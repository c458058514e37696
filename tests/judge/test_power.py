"""The smallest effect that so many runs show: the published figures, and as often as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from testbed.judge import intervals, power, sign_test


@pytest.mark.parametrize(("n", "published"), [(12, 1.4), (20, 1.1)])
def test_the_sign_test_sees_what_the_rule_says(n: int, published: float) -> None:
    assert power.of_sign_test(n) == pytest.approx(published, abs=0.05)


def test_fewer_runs_than_decide_see_nothing() -> None:
    assert power.of_sign_test(sign_test.LEAST_N - 1) == math.inf


@pytest.mark.parametrize("n", [5, 12])
def test_the_sign_test_shows_it_in_four_of_five_series(n: int) -> None:
    rng, times = np.random.default_rng(n), 1500
    above = np.cumsum(rng.normal(power.of_sign_test(n), 1, (times, n)) > 0, axis=1)
    shown = sum(any(sign_test.rejects(run, int(k)) for run, k in enumerate(of, 1)) for of in above)
    assert shown / times == pytest.approx(power.POWER, abs=3 * math.sqrt(0.16 / times))


def test_saboteur_half_the_effect_is_shown_less_often() -> None:
    rng, times = np.random.default_rng(3), 500
    above = np.cumsum(rng.normal(power.of_sign_test(12) / 2, 1, (times, 12)) > 0, axis=1)
    shown = sum(any(sign_test.rejects(run, int(k)) for run, k in enumerate(of, 1)) for of in above)
    assert shown / times < power.POWER / 2


def test_the_spread_is_pooled_over_cells_on_a_log_scale() -> None:
    rng = np.random.default_rng(1)
    cells = [(mean * np.exp(rng.normal(0, 0.05, 4))).tolist() for mean in (1, 10, 1000) * 300]
    assert power.spread_of(cells) == pytest.approx(0.05, rel=0.05)
    assert power.spread_of([[1.0], [2.0], [0.0, 1.0]]) is None


@pytest.mark.parametrize(("n", "published"), [(3, 1.46), (6, 1.79), (12, 1.12)])
@pytest.mark.parametrize("part", [1.0, 0.5])
def test_an_interval_shows_it_in_four_of_five_tables_and_half_of_it_less_often(
    n: int, published: float, part: float
) -> None:
    assert power.of_interval(n) == pytest.approx(published, abs=0.01)
    rng, times = np.random.default_rng(n), 1500
    found = [intervals.of_median(rng.normal(part * power.of_interval(n), 1, n).tolist()) for _ in range(times)]
    shown = sum(of is not None and of.low > 0 for of in found) / times
    if part == 1:
        assert shown == pytest.approx(power.POWER, abs=3 * math.sqrt(0.16 / times))
    else:
        assert shown < power.POWER - 0.2


@pytest.mark.parametrize("n", [4, 9])
def test_the_intervals_of_both_medians_of_a_quotient_show_it_in_four_of_five_at_least(n: int) -> None:
    rng, times, sigma = np.random.default_rng(n), 1500, 0.02
    seen = power.seen([[1.0, 1.02, 1.01]] * 2, lambda _: power.of_interval(n, of_two=True), 2)["least_seen"]
    effect = 1 + math.expm1(math.log1p(seen["relative"]) / seen["sigma"] * sigma)

    def interval(median: float) -> intervals.Interval:
        found = intervals.of_median((median * np.exp(rng.normal(0, sigma, n))).tolist(), intervals.OF_TWO)
        assert found
        return found

    shown = sum(intervals.of_two(interval(effect), interval(1), lambda a, b: a / b).low > 1 for _ in range(times))
    assert shown / times > power.POWER


def test_what_is_seen_says_what_it_follows_from_and_is_nothing_where_it_is_unknown() -> None:
    found = power.seen([[1.0, 1.02, 1.04], [], [5.0, 5.1, 5.2, 5.3]], power.of_interval)["least_seen"]
    assert found == {
        "relative": pytest.approx(0.0343, abs=5e-4),
        "n": 3,
        "sigma": pytest.approx(0.02305, abs=5e-5),
        "runs": 7,
        "freedom": 5,
    }
    assert power.seen([[1.0, 1.1]], power.of_interval) == {}
    assert power.seen([[-1.0, 1.1, 2.0]], power.of_interval) == {}
    assert power.seen([], power.of_interval) == {}
    for values, of in (([1.0, 1.1, 1.2], power.of_sign_test), ([1e-300, 1.0, 1e300], power.of_interval)):
        few = power.seen([values], of)["least_seen"]
        assert few == {"n": 3, "sigma": pytest.approx(np.log(values).std(ddof=1), abs=1e-6), "runs": 3, "freedom": 2}


@pytest.mark.parametrize(("n", "level"), [(3, 0.95), (5, 0.95), (5, 1 - 0.05 / 80)])
def test_one_run_beside_a_reference_shows_it_in_four_of_five_and_half_of_it_less_often(n: int, level: float) -> None:
    rng, times, sigma = np.random.default_rng(n), 4000, 0.02
    references = rng.normal(0, sigma, (times, n))
    apart = np.abs(rng.normal(0, sigma, times) - np.median(references, axis=1))
    half, least = power.of_another(sigma, n - 1, n, level)
    by = half / sigma * references.std(axis=1, ddof=1)  # as the reference's own σ has it
    assert np.mean(apart > by) == pytest.approx(1 - level, abs=0.015)
    for part in (1.0, 0.5):
        runs = rng.normal(part * least, sigma, times)
        shown = np.mean(np.abs(runs - np.median(references, axis=1)) > by)
        assert (abs(shown - power.POWER) < 0.03) if part == 1 else (shown < power.POWER - 0.2)
