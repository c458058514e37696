"""What a comparison would have seen: as often as it says, and never on a scale where less than nothing is left."""

from __future__ import annotations

import math
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from testbed.engines import named
from testbed.judge import power
from testbed.judge.status import Status
from testbed.plan.engines import is_certain
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.checks.better import FIGURES, NOT_SHOWN, Difference, Group, differences, judge
from testbed.study.kinds import compare
from testbed.study.kinds.table import TableRequest
from testbed.study.programs import programs
from testbed.study.report.text import comparison_lines, print_comparison
from tests.compare.test_words import group, run
from tests.ready import simulated

MEAN, SIGMA, N = 1.2, 0.01, 5


def compared(rng: np.random.Generator, factor: float, n: int = N, seeds: list[int] | None = None) -> Difference:
    """The difference of two groups with σ = 1%."""
    base, new = (mean * np.exp(rng.normal(0, SIGMA, n)) for mean in (MEAN, MEAN * factor))
    (found,) = differences(group("base", base), [group("new", new, seeds=seeds)], 0.95)
    return found


def shown(rng: np.random.Generator, factor: float, times: int) -> float:
    """The part of comparisons that show a difference, of runs without a partner."""
    seeds = list(range(100, 100 + N))
    return sum(compared(rng, factor, seeds=seeds).direction != NOT_SHOWN for _ in range(times)) / times


def test_links_that_are_slower_by_five_percent_are_noticed() -> None:
    assert shown(np.random.default_rng(1), 0.95, 500) > 0.99


def test_identical_code_raises_seldom_an_alarm() -> None:
    assert shown(np.random.default_rng(2), 1.0, 1000) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)


def effect() -> float:
    """What five runs with σ = 1% see, in logs."""
    return power.reach([(SIGMA**2, N)] * 2, 0.95)[1]


def test_what_would_be_seen_is_seen_in_four_of_five_comparisons() -> None:
    assert shown(np.random.default_rng(3), math.exp(-effect()), 1500) == pytest.approx(power.POWER, abs=0.05)


@pytest.mark.parametrize("n", [3, 5, 10])
def test_pairs_show_it_exactly_as_often(n: int) -> None:
    rng, least = np.random.default_rng(n), power.reach([(1.0, n)], 0.95)[1]
    drawn = rng.normal(least, 1, (2000, n))
    halves = [power.reach([(float(of.var(ddof=1)), n)], 0.95)[0] for of in drawn]
    assert np.mean(drawn.mean(axis=1) > halves) == pytest.approx(power.POWER, abs=0.03)


def test_saboteur_half_of_it_is_seen_less_often() -> None:
    assert shown(np.random.default_rng(4), math.exp(-effect() / 2), 500) < power.POWER - 0.3


def test_a_difference_says_what_its_own_spread_shows() -> None:
    rng = np.random.default_rng(5)
    seen = [compared(rng, 1.0, seeds=[9, 8, 7, 6, 5]).sees for _ in range(200)]
    assert np.median([float(one) for one in seen]) == pytest.approx(math.expm1(effect()), rel=0.15)


def test_pairs_see_more_where_both_meet_the_same() -> None:
    rng = np.random.default_rng(6)
    luck, own = rng.normal(0, 0.05, 8), rng.normal(0, 0.002, (2, 8))
    base, new = np.exp(luck + own[0]), np.exp(luck + own[1])
    (paired,) = differences(group("a", base), [group("b", new)], 0.95)
    (apart,) = differences(group("a", base), [group("b", new, seeds=list(range(50, 58)))], 0.95)
    assert isinstance(paired.sees, float)
    assert isinstance(apart.sees, float)
    assert paired.sees < apart.sees / 5


def test_runs_for_is_the_inverse_of_what_they_see() -> None:
    n = power.runs_for(0.02, [SIGMA**2] * 2, 0.95)
    assert power.reach([(SIGMA**2, n)] * 2, 0.95)[1] <= 0.02 < power.reach([(SIGMA**2, n - 1)] * 2, 0.95)[1]
    assert power.runs_for(1e-6, [SIGMA**2] * 2, 0.95) == power.MOST_RUNS
    assert power.reach([(SIGMA**2, 1)], 0.95)[1] == math.inf


@pytest.mark.parametrize("figure", ["goodput_mib_s", "settled_s", "resent_share"])
def test_no_interval_of_figures_above_0_reaches_minus_a_hundred_percent(figure: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(100):
        base, new = np.exp(rng.normal(0, 1.5, (2, 3)))
        (found,) = differences(group("a", base, figure), [group("b", new, figure, seeds=[7, 8, 9])], 0.95)
        assert found.scale == "log"
        assert found.low is not None
        assert found.low > -found.base.mean
    (found,) = differences(group("a", [0.0, 1, 2], figure), [group("b", [1.0, 2, 3], figure)], 0.95)
    assert found.scale == "linear"
    # Of an error only so much matters, and small ones scatter by large factors.
    (found,) = differences(group("a", [0.01, 0.02, 0.03], "law_error"), [group("b", [0.1] * 3, "law_error")], 0.95)
    assert found.scale == "linear"


def test_the_means_of_a_log_scale_are_geometric() -> None:
    (found,) = differences(group("a", [1.0, 4, 2]), [group("b", [2.0, 8, 4])], 0.95)
    assert (found.base.mean, found.new.mean, found.relative) == (2.0, 4.0, 1.0)
    assert (found.low, found.high) == (2.0, 2.0), "every pair has the same ratio"


def certain(name: str, value: float, n: int, chance: str = "none") -> Group:
    runs = [run({"goodput_mib_s": value}, seed).model_copy(update={"chance": chance}) for seed in range(n)]
    return Group(name=name, runs=runs)


def test_one_run_is_enough_where_nothing_is_left_to_chance() -> None:
    (found,) = differences(certain("a", 1.0, 1), [certain("b", 0.98, 1)], 0.95)
    assert (found.direction, found.sees) == ("worse", "exact")
    (found,) = differences(certain("a", 1.0, 1, "seed"), [certain("b", 0.98, 1, "seed")], 0.95)
    assert (found.direction, found.sees) == (NOT_SHOWN, "unknown")
    # Runs that happen to be alike say less on a real machine.
    for chance, sees in (("seed", "exact"), ("real", "unknown")):
        (found,) = differences(certain("a", 1.0, 3, chance), [certain("b", 1.0, 3, chance)], 0.95)
        assert (found.direction, found.sees) == (NOT_SHOWN, sees)


def test_runs_of_earlier_documents_are_compared_as_they_were() -> None:
    (found,) = differences(certain("a", 1.0, 1, ""), [certain("b", 0.98, 1, "")], 0.95)
    assert (found.direction, found.scale, found.sees) == (NOT_SHOWN, "linear", "unknown")


def of_two(n: int, goodput: float, rtt: float, rng: np.random.Generator) -> list[Group]:
    """Groups with a change of both figures, in parts."""
    names = {"goodput_mib_s": goodput, "rtt_ms": rtt}
    return [
        Group.of(
            name,
            [
                run({figure: 50 * by**place * (1 + rng.normal(0, 0.01)) for figure, by in names.items()}, seed)
                for seed in range(n)
            ],
        )
        for place, name in enumerate(("base", "new"))
    ]


def test_no_difference_is_never_said_without_what_would_have_been_seen() -> None:
    rng = np.random.default_rng(8)
    for n in (1, 2, 3, 5):
        found = judge(of_two(n, 1.0, 1.0, rng), 0.95)
        (line,) = comparison_lines(found)
        assert line.startswith("NO DIFFERENCE SHOWN new against base: goodput_mib_s ")
        assert ("% would have been seen" if n >= 3 else "too few runs: what would have been seen is unknown") in line
        screen = StringIO()
        print_comparison(found, Console(width=200, file=screen))
        lines = [one for one in screen.getvalue().splitlines() if NOT_SHOWN in one]
        assert len(lines) == sum(d.direction == NOT_SHOWN for d in found.differences) > 0
        assert all("would have been seen" in one for one in lines)


def test_the_requested_figure_decides_and_others_are_named() -> None:
    rng = np.random.default_rng(9)
    groups = of_two(5, 1.05, 1.2, rng)
    main, goodput, rtt = (judge(groups, 0.95, names) for names in ([], ["goodput_mib_s"], ["rtt_ms"]))
    for found in (main, goodput):
        assert (found.directions, found.statuses) == ({"new": "better"}, {"new": Status.PASS})
        assert found.also_worse == {"new": ["rtt_ms"]}
        (line,) = comparison_lines(found)
        assert line.startswith("BETTER new against base: goodput_mib_s +")
        assert "; also worse: rtt_ms +" in line
    assert (rtt.directions, rtt.statuses) == ({"new": "worse"}, {"new": Status.FAIL})
    assert rtt.also_worse == {"new": []}
    (line,) = comparison_lines(rtt)
    assert "; also better: goodput_mib_s +" in line
    both = judge(groups, 0.95, ["goodput_mib_s", "rtt_ms"])
    assert (both.directions, both.statuses) == ({"new": "mixed"}, {"new": Status.FAIL})


def test_saboteur_one_figure_against_all_others() -> None:
    """What is requested decides alone: where it alone got worse, and where all but it did."""
    names = ["goodput_mib_s", "settled_s", "rtt_ms", "resent_share", "checks_held"]
    base = dict.fromkeys(names, 50.0)
    for name in names:
        for requested, others in ((1.2, 0.8), (0.8, 1.2)):
            factors = {one: requested if one == name else others for one in names}
            # A factor above 1 is an improvement.
            new = {one: base[one] * (by if FIGURES[one].better == "higher" else 1 / by) for one, by in factors.items()}
            groups = [
                Group.of(of, [run(figures, seed) for seed in range(3)]) for of, figures in (("a", base), ("b", new))
            ]
            found = judge(groups, 0.95, [name])
            passes = requested > 1
            assert found.statuses == {"b": Status.PASS if passes else Status.FAIL}
            assert found.directions == {"b": "better" if passes else "worse"}
            assert set(found.also_worse["b"]) == ({*names} - {name} if passes else set())


def test_only_requested_figures_make_each_others_levels_higher() -> None:
    rng = np.random.default_rng(10)
    groups = of_two(5, 1.0, 1.0, rng)
    alone, both = (
        judge(groups, 0.95, names).differences[0] for names in (["goodput_mib_s"], ["goodput_mib_s", "rtt_ms"])
    )
    assert isinstance(alone.sees, float)
    assert isinstance(both.sees, float)
    assert alone.sees < both.sees


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    return tmp_path / "results"


@pytest.mark.usefixtures("results")
def test_what_draws_nothing_is_certain() -> None:
    loaded = [load("startup", [change]) for change in ("ncp.transfer=512KiB", "links.fast.jitter=5ms")]
    plain, jitter = (simulated(one, Progress(), seed=None, quick=False).plan for one in loaded)
    assert (is_certain(plain), is_certain(jitter)) == (True, False)
    assert [is_certain({**plain, "engine": engine}) for engine in ("vkernel", "mininet")] == [False, False]
    lossy, all_lost = ({"kind": "set", "properties": {"loss": loss}} for loss in (0.01, 1.0))
    assert [is_certain({**plain, "timeline": [one]}) for one in (lossy, all_lost)] == [False, True]


def test_what_runs_will_show_is_said_before_them(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = programs(None, named("sim"), Progress())

    def said(seeds: int, *changes: str) -> list[str]:
        loaded = load("startup", ["ncp.transfer=512KiB", *changes])
        capsys.readouterr()
        request = TableRequest(seeds, engine="sim")
        compare.run({"base": (loaded, made), "new": (loaded, made)}, request, results / "compare", Progress(), (), 0.95)
        return [line for line in capsys.readouterr().err.splitlines() if "each" in line or "version" in line]

    (certain,) = said(1)[:1]
    assert certain.startswith("one run of each version is enough")
    (first,) = said(4, "links.fast.jitter=5ms")[:1]
    assert first == "no earlier runs tell what 4 runs of each version will show; the report will"
    few, *_ = said(2, "links.fast.jitter=5ms")
    assert few.startswith("goodput_mib_s: 2 runs of each version will show nothing; ")
    assert few.endswith("of earlier runs)")
    for verdict in results.glob("compare/*/cells/*/1/*/verdict.json"):
        verdict.write_text("{")
    broken, *_ = said(2, "links.fast.jitter=5ms")
    assert broken.endswith("of earlier runs)"), "of those that can be read"
    other, *_ = said(2, "links.fast.jitter=6ms")
    assert other.startswith("no earlier runs tell"), "of the same changes"
