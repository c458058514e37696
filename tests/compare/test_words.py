"""What a difference is called: intervals, pairs, and what is large enough to matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.judge.intervals import LEAST_N
from testbed.judge.status import Status
from testbed.study.checks.better import FIGURES, Group, Run, conclusion, differences, interval


def group(name, values, figure="goodput_mib_s", seeds=None, **options) -> Group:
    runs = [run({figure: v}, n if seeds is None else seeds[n], **options) for n, v in enumerate(values)]
    return Group(name=name, runs=runs)


def run(figures, seed, *, trusted=True, never=()) -> Run:
    return Run(
        folder="run",
        case="case",
        seed=seed,
        trusted=trusted,
        standing=Status.PASS,
        figures=figures,
        never=list(never),
        without_figures="",
        chance="real",
    )


def words(base: Group, new: Group, confidence: float = 0.95) -> list[str]:
    return [d.direction for d in differences(base, [new], confidence)]


def test_direction_is_the_figures_own() -> None:
    low, high = [1.0, 1.01, 1.02, 1.0], [1.2, 1.21, 1.19, 1.2]
    assert words(group("a", low), group("b", high)) == ["better"]
    assert words(group("a", high), group("b", low)) == ["worse"]
    assert words(group("a", low, "resent_share"), group("b", high, "resent_share")) == ["worse"]
    assert words(group("a", low, "unheard_of"), group("b", high, "unheard_of")) == ["differs"]


def test_runs_that_are_all_alike_are_told_as_one_observation() -> None:
    (alike,) = differences(group("a", [1.0] * 3), [group("b", [2.0] * 3)], 0.95)
    (apart,) = differences(group("a", [1.0, 1.01, 1.02]), [group("b", [2.0, 2.02, 2.05])], 0.95)
    assert (alike.direction, apart.direction) == ("better", "better")
    assert "one observation" in alike.why
    assert not apart.why


def test_few_runs_show_nothing() -> None:
    (found,) = differences(group("a", [1.0, 1.0]), [group("b", [2.0, 2.0])], 0.95)
    assert (found.direction, found.low) == ("no difference shown", None)
    assert f"at least {LEAST_N}" in found.why


def test_a_difference_that_does_not_matter_is_none() -> None:
    least = FIGURES["goodput_mib_s"].least_relative
    base = group("a", [1.0] * 4)
    assert words(base, group("b", [1 + least / 2] * 4)) == ["no difference shown"]
    assert words(base, group("b", [1 + least * 2] * 4)) == ["better"]


def test_runs_of_one_seed_are_compared_with_each_other() -> None:
    spread = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    changed = spread + np.array([0.1, 0.11, 0.09, 0.1, 0.1])
    (paired,) = differences(group("a", spread), [group("b", changed)], 0.95)
    (apart,) = differences(group("a", spread), [group("b", changed, seeds=[9, 8, 7, 6, 5])], 0.95)
    assert (paired.paired, paired.direction) == (True, "better")
    assert (apart.paired, apart.direction) == (False, "no difference shown")
    # Several runs of one seed, as on real packets, have no partner.
    (many,) = differences(group("a", spread, seeds=[1] * 5), [group("b", changed, seeds=[1] * 5)], 0.95)
    assert not many.paired


def test_untrusted_runs_are_left_out() -> None:
    base = group("a", [1.0] * 3)
    spoilt = run({"goodput_mib_s": 50.0}, 3, trusted=False)
    assert words(Group(name="a", runs=[*base.runs, spoilt]), group("b", [1.0] * 3)) == ["no difference shown"]


def test_what_was_never_reached_in_any_run_is_no_figure() -> None:
    never = {"never": ["settled_s"]}
    assert words(group("a", [5.0] * 3, "settled_s", **never), group("b", [6.0] * 3, "settled_s", **never)) == []
    assert words(group("a", [5.0] * 3, "settled_s", **never), group("b", [2.0] * 3, "settled_s")) == ["better"]


def test_conclusions() -> None:
    better = differences(group("a", [1.0] * 3), [group("b", [2.0] * 3)], 0.95)
    worse = differences(group("a", [1.0] * 3, "rtt_ms"), [group("b", [2.0] * 3, "rtt_ms")], 0.95)
    assert [conclusion(found) for found in (better, worse, better + worse, [])] == [
        "better",
        "worse",
        "mixed",
        "no difference shown",
    ]


samples = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=6).map(np.array)


@given(samples, samples, st.floats(0.8, 0.999))
def test_the_interval_holds_the_difference_and_grows_with_the_level(a, b, level) -> None:
    difference, slack = b.mean() - a.mean(), 1e-6
    both = [interval(a, b, paired=False, level=at) for at in (level, level + (1 - level) / 2)]
    found, surer = (one[0] for one in both if one is not None)
    assert found.low - slack <= difference <= found.high + slack
    assert surer.low <= found.low + slack
    assert found.high <= surer.high + slack


@pytest.mark.parametrize("size", [3, 8])
def test_two_samples_of_one_distribution_seldom_differ(size) -> None:
    """At 99%, of 120 pairs 1 or 2 are expected to have 0 outside their interval."""
    random = np.random.default_rng(7)
    outside = 0
    for _ in range(120):
        a, b = random.normal(10, 1, size), random.normal(10, 1, size)
        found = interval(a, b, paired=False, level=0.99)
        assert found is not None
        outside += not found[0].low <= 0 <= found[0].high
    assert outside <= 9
