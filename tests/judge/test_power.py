"""The smallest effect that so many runs show: the published figures, and as often as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from testbed.judge import power, sign_test


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
