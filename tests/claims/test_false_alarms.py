"""What chance does to many claims: the sentence follows from the levels behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.judge import intervals
from testbed.judge.status import Status
from testbed.study.checks.claims import Judged, false_alarms_of

PASS = Status.PASS
ONE = Judged(
    "x",
    "s",
    "claim",
    "",
    Status.PASS,
    "",
    "r",
    "",
    "c",
    "",
    "",
    "",
    "",
    reproduces=True,
    n=3,
    figures={"measured": 1.0},
)


def by_interval(*levels: float) -> Judged:
    places: dict[str, tuple[float, ...]] = {f"place {number}": (0.9, 1.1, level) for number, level in enumerate(levels)}
    return replace(ONE, figures=dict.fromkeys(places, 1.0), intervals=places)


def test_three_runs_each_raise_more_alarms_than_six() -> None:
    three = false_alarms_of([by_interval(0.75)] * 20)
    six = false_alarms_of([by_interval(0.96875)] * 20)
    assert (three["expected"], six["expected"]) == pytest.approx((20 / 8, 20 / 64))
    assert (three["at_least_one"], six["at_least_one"]) == pytest.approx((1 - (7 / 8) ** 20, 1 - (63 / 64) ** 20))
    assert three["text"] == (
        "Of 20 claims judged at once 20 are decided by intervals of 75%: if each true value lay exactly at its limit, "
        "at most 2.5 of them would be expected to fail by chance, and one or more with a probability of at most 93%."
    )
    assert "intervals of 97%" in six["text"]
    assert "at most 0.3 of them" in six["text"]


def test_each_kind_of_claim_is_counted() -> None:
    one = replace(ONE, observations=1)
    claims = [
        by_interval(0.75),
        by_interval(0.96875),
        one,
        replace(one, n=1, observations=None),
        replace(by_interval(0.75), verdict=Status.INCONCLUSIVE),
        replace(by_interval(0.75), verdict=Status.FAIL, reproduces=False),
    ]
    found = false_alarms_of(claims)
    assert (found["claims"], len(found["levels"]), found["without_chance"], found["unknown"]) == (6, 3, 1, 1)
    assert found["text"].startswith("Of 6 claims judged at once 3 are decided by intervals of 75 to 97%")
    assert "; 1 by values that chance has no part in" in found["text"]
    assert found["text"].endswith("; 1 without an interval: how likely they fail by chance is not known.")


def test_without_intervals_nothing_is_reckoned() -> None:
    found = false_alarms_of([ONE])
    assert (found["expected"], found["at_least_one"]) == (0, 0)
    assert found["text"].startswith(
        "Of 1 claims judged at once none is decided by an interval; 1 without an interval: "
    )


def test_an_interval_whose_level_was_not_told_is_of_an_unknown_one() -> None:
    old = replace(ONE, intervals={"measured": (0.9, 1.1)})
    assert (false_alarms_of([old])["unknown"], old.n_told) == (1, "3")


@given(st.lists(st.lists(st.floats(0.5, 0.999), min_size=1, max_size=4), max_size=20), st.floats(0.5, 0.999))
def test_more_claims_and_lower_levels_never_mean_fewer_alarms(levels: list[list[float]], further: float) -> None:
    claims = [by_interval(*of) for of in levels]
    before, after = false_alarms_of(claims), false_alarms_of([*claims, by_interval(further)])
    assert after["expected"] > before["expected"]
    assert after["at_least_one"] >= before["at_least_one"]
    assert before["at_least_one"] <= min(1.0, before["expected"]) + 1e-9


@pytest.mark.parametrize("n", [3, 6])
def test_the_reckoning_is_what_comes_out(n: int) -> None:
    """Claims whose median lies at their upper limit fail as often as the sentence says."""
    rng, times, claims = np.random.default_rng(n), 2000, 10
    expected = false_alarms_of([by_interval(intervals.level_of(n, 1))] * claims)
    failed = []
    for values in rng.exponential(1, (times, claims, n)).tolist():
        found = [intervals.of_median(of) for of in values]
        failed.append(sum(one is not None and one.against(0, np.log(2)) == "fail" for one in found))
    error = 3 * np.std(failed) / times**0.5
    assert np.mean(failed) == pytest.approx(expected["expected"], abs=error)
    assert np.mean([count > 0 for count in failed]) == pytest.approx(expected["at_least_one"], abs=0.04)
