"""The sign test that may be looked at after every run: when it decides, how often it errs, and what errs more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from testbed.judge import intervals, sign_test
from testbed.judge.intervals import Interval
from testbed.judge.status import Status

MOST = 20
LOOKS = range(1, MOST + 1)


@pytest.mark.parametrize(("against", "n"), [(0, 5), (1, 12), (2, 16)])
def test_it_decides_after_five_runs_twelve_with_one_against_and_sixteen_with_two(against: int, n: int) -> None:
    assert [sign_test.rejects(runs, runs - against) for runs in (n - 1, n)] == [False, True]
    assert sign_test.of_signs(n - against, n) == Status.PASS
    assert sign_test.of_signs(against, n) == Status.FAIL
    assert sign_test.of_signs(n - 1 - against, n - 1) in (Status.INCONCLUSIVE, Status.INSUFFICIENT_DATA)


@given(st.integers(0, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_the_evidence_is_the_published_integral(counts: tuple[int, int]) -> None:
    n, k = counts
    integral, _ = integrate.quad(lambda p: (2 * p) ** k * (2 * (1 - p)) ** (n - k), 0.5, 1)
    assert sign_test.evidence(n, k) == pytest.approx((2.0**n * (k == n) + 2 * integral) / 2, rel=1e-6)


@given(st.integers(0, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_at_a_limit_the_evidence_neither_rises_nor_falls_with_the_next_run(counts: tuple[int, int]) -> None:
    n, k = counts
    after = (sign_test.evidence(n + 1, k + 1) + sign_test.evidence(n + 1, k)) / 2
    assert after == pytest.approx(sign_test.evidence(n, k))


def error_while_looking(rejects: Callable[[int, int], bool], looks: range = LOOKS) -> float:
    """The exact probability that a limit at the median is ever rejected, where one looks after each run."""
    going, error = {0: 1.0}, 0.0
    for n in looks:
        after: dict[int, float] = {}
        for k, chance in going.items():
            for right in (k, k + 1):
                after[right] = after.get(right, 0.0) + chance / 2
        error += sum(chance for k, chance in after.items() if rejects(n, k))
        going = {k: chance for k, chance in after.items() if not rejects(n, k)}
    return error


def test_its_exact_error_is_below_that_of_the_review_however_often_one_looks() -> None:
    assert error_while_looking(sign_test.rejects, range(1, 6)) == 1 / 32
    assert 1 / 32 < error_while_looking(sign_test.rejects) < 0.034
    assert error_while_looking(sign_test.rejects, range(1, 400)) < sign_test.ERROR


def peeks(n: int, k: int) -> bool:
    """The interval for a fixed number of runs, looked at after each: a limit below its lower end is rejected."""
    interval = intervals.of_median([0.0] * (n - k) + [1.0] * k)
    return interval is not None and interval.low > 0.5


def test_saboteur_the_interval_of_a_fixed_number_of_runs_errs_more_when_one_looks_at_it_after_each() -> None:
    level = (1 - intervals.level_of(3, 1)) / 2
    assert level == 1 / 8
    assert error_while_looking(peeks) > level
    of_six_on = error_while_looking(lambda n, k: n >= 6 and peeks(n, k))
    assert of_six_on > (1 - intervals.LEVEL) / 2 + 0.02  # also without the low levels of a few runs


@pytest.mark.parametrize("draw", ["exponential", "standard_normal", "standard_cauchy"])
def test_a_limit_at_the_median_is_rejected_no_more_often_whatever_the_distribution(draw: str) -> None:
    median = math.log(2) if draw == "exponential" else 0.0
    rng, wrong, times = np.random.default_rng(5), 0, 2000
    for values in getattr(rng, draw)(size=(times, MOST)).tolist():
        watched = (sign_test.of_median(values[:n]) for n in LOOKS)
        wrong += any(interval is not None and interval.low > median for interval in watched)
    assert wrong / times < 0.034 + 3 * math.sqrt(0.034 / times)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=40), st.floats(-10, 10), st.floats(0, 5))
def test_the_interval_is_what_no_limit_was_rejected_of(values: list[float], low: float, width: float) -> None:
    interval, high, n = sign_test.of_median(values), low + width, len(values)
    inside = [sum(value >= low for value in values), sum(value <= high for value in values)]
    if interval is None:
        assert n < sign_test.LEAST_N
        assert not any(sign_test.rejects(n, k) for k in range(n + 1))
    else:
        holds = all(sign_test.rejects(n, k) for k in inside)
        fails = any(sign_test.rejects(n, n - k) for k in inside)
        word = Status.PASS if holds else Status.FAIL if fails else Status.INCONCLUSIVE
        assert interval.against(low, high) == word
        assert interval.level == sign_test.LEVEL
        evidence = sign_test.of_limits(values, low, high)
        assert (evidence[0] >= 20) == holds
        assert fails or evidence[1] < 20


def test_a_value_at_a_limit_lies_inside_and_never_beyond() -> None:
    assert sign_test.of_median([0.0] * 5) == Interval(0.0, 0.0, sign_test.LEVEL)
    assert sign_test.of_limits([0.0] * 5, 0.0, 0.0) == (21.25, sign_test.evidence(5, 0))


def share_wrong(rng: np.random.Generator, choose: Callable[[dict[str, float]], list[str]]) -> Iterator[float]:
    """The part of the chosen claims that are wrong, of sixty of which each tenth one is true. The median of the others
    is at the limit, and their runs end when they seem to hold."""
    for _ in range(400):
        found = {}
        for claim in range(60):
            right = 0.5 if claim % 10 else 0.99
            counts = list(accumulate((rng.random(12) < right).tolist()))
            looked = [sign_test.evidence(n, k) for n, k in enumerate(counts, 1) if n >= sign_test.LEAST_N]
            found[f"{claim}"] = next((e for e in looked if e >= 20), looked[-1])
        chosen = choose(found)
        yield sum(int(claim) % 10 > 0 for claim in chosen) / max(1, len(chosen))


def test_of_claims_that_are_decided_together_few_are_wrong() -> None:
    wrong = np.mean(list(share_wrong(np.random.default_rng(8), sign_test.together)))
    assert wrong < sign_test.ERROR


def test_saboteur_without_the_threshold_of_many_claims_more_are_wrong() -> None:
    def each_alone(found: dict[str, float]) -> list[str]:
        return [claim for claim, evidence in found.items() if evidence >= 1 / sign_test.ERROR]

    assert np.mean(list(share_wrong(np.random.default_rng(8), each_alone))) > 2 * sign_test.ERROR


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1e6), max_size=40))
def test_those_decided_together_are_the_most_that_are_sure_enough(evidence: dict[str, float]) -> None:
    chosen = sign_test.together(evidence)
    assert all(evidence[name] * len(chosen) * sign_test.ERROR >= len(evidence) for name in chosen)
    for more in range(len(chosen) + 1, len(evidence) + 1):
        assert sorted(evidence.values(), reverse=True)[more - 1] * more * sign_test.ERROR < len(evidence)
