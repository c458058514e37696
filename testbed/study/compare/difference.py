"""How large a difference between two groups is, how sure, and what it is called."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from testbed.judge.checks.result import rounded
from testbed.judge.intervals import LEAST_N, Interval
from testbed.judge.status import Status, of_direction
from testbed.study.compare.figures import FIGURES, figure_of
from testbed.study.compare.groups import Group, RunOf

Direction = Literal["better", "worse", "differs", "no difference shown"]
"""Which way a figure went; ``differs`` where neither way is better."""
NOT_SHOWN: Direction = "no difference shown"


RESAMPLES = 9999
SEED = 20240
"""The resampling is seeded, so that the same values always have the same interval."""
SAME = 1e-12
"""Values that differ by no more, in parts of the largest, are the same number."""


@dataclass(frozen=True)
class Sample:
    """One group's values of a figure: how many, mean, smallest, largest; ``never``: in how many it was not reached."""

    n: int
    mean: float
    low: float
    high: float
    never: int


@dataclass(frozen=True)
class Difference:
    """A figure of a case in a group against the first group. ``difference`` is of the means; its interval ``low`` to
    ``high`` is None where there are too few runs. ``paired``: run by run, by setting and seed."""

    case: str
    group: str
    figure: str
    base: Sample
    new: Sample
    difference: float
    low: float | None
    high: float | None
    paired: bool
    direction: Direction
    why: str

    @property
    def status(self) -> Status:
        """What it is worth."""
        return of_direction(self.direction)

    @property
    def relative(self) -> float | None:
        """In parts of the first group's mean."""
        return self.difference / abs(self.base.mean) if self.base.mean else None

    def as_json(self) -> dict[str, Any]:
        """For ``compare.json``."""
        relative = None if self.relative is None else rounded(self.relative)
        return asdict(self) | {"relative": relative, "status": self.status}


def differences(base: Group, others: Sequence[Group], confidence: float, only: Sequence[str] = ()) -> list[Difference]:
    """All figures of all cases that both groups have. All intervals together are to hold with ``confidence``: each
    one's own (nominal) level is higher the more of them there are (Bonferroni)."""
    asked = [
        (other, case, name)
        for other in others
        for case in cases(base, other)
        for name in _names(runs_of(base, case), runs_of(other, case), only)
    ]
    level = 1 - (1 - confidence) / max(1, len(asked))
    return [_difference(name, case, base, other, level) for other, case, name in asked]


def cases(base: Group, other: Group) -> list[str]:
    """The settings that both groups have; two groups of one setting each are compared whatever it is."""
    mine, theirs = base.cases, other.cases
    return [""] if len(mine) == len(theirs) == 1 else [case for case in mine if case in theirs]


def alone(base: Group, other: Group) -> list[str]:
    """The settings that only one of the two has, so that they are not compared."""
    if cases(base, other) == [""]:
        return []
    mine, theirs = base.cases, other.cases
    return [case for case in mine if case not in theirs] + [case for case in theirs if case not in mine]


def runs_of(group: Group, case: str) -> list[RunOf]:
    """The group's trusted runs of a setting; of all with an empty name."""
    return [run for run in group.trusted if case in ("", run.case)]


def _names(a: Sequence[RunOf], b: Sequence[RunOf], only: Sequence[str]) -> list[str]:
    both = {n for run in a for n in run.measured.values} & {n for run in b for n in run.measured.values}
    never = {n for n in both if all(n in run.measured.never for run in (*a, *b) if n in run.measured.values)}
    ordered = [name for name in FIGURES if name in both] + sorted(both - set(FIGURES))
    return [name for name in ordered if name not in never and (not only or name in only)]


def _difference(name: str, case: str, base: Group, other: Group, level: float) -> Difference:
    pairs = _pairs(runs_of(base, case), runs_of(other, case), name)
    a = _values(runs_of(base, case), name) if pairs is None else pairs[0]
    b = _values(runs_of(other, case), name) if pairs is None else pairs[1]
    difference = float(b.mean() - a.mean())
    bounds = interval(a, b, paired=pairs is not None, level=level)
    direction, why = _direction(name, a, difference, bounds, min(a.size, b.size))
    low, high = bounds[:2] if bounds else (None, None)
    return Difference(
        case,
        other.name,
        name,
        _sample(runs_of(base, case), name),
        _sample(runs_of(other, case), name),
        rounded(difference),
        None if low is None else rounded(low),
        None if high is None else rounded(high),
        pairs is not None,
        direction,
        why,
    )


def _values(runs: Sequence[RunOf], name: str) -> NDArray[np.float64]:
    return np.array([run.measured.values[name] for run in runs if name in run.measured.values], dtype=np.float64)


def _pairs(a: Sequence[RunOf], b: Sequence[RunOf], name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Both groups' values in the same order, where each run has exactly one of the same seed beside it."""
    mine = {run.seed: run for run in a if name in run.measured.values}
    theirs = {run.seed: run for run in b if name in run.measured.values}
    alone = len(mine) < len(_values(a, name)) or len(theirs) < len(_values(b, name))
    if alone or mine.keys() != theirs.keys():
        return None
    return _values(list(mine.values()), name), _values([theirs[seed] for seed in mine], name)


def interval(a: NDArray[np.float64], b: NDArray[np.float64], *, paired: bool, level: float) -> Interval | None:
    """Between which bounds mean(b) − mean(a) lies, None for fewer than :data:`LEAST_N` values of either.

    Student's interval (Welch's where runs are not paired), widened to the percentile bootstrap's where that is wider.
    ``level`` is nominal: Student's has it where values are normally distributed, Welch's nearly, and with a handful of
    runs nobody can see whether they are. The bootstrap has no level of its own then: resampling can't go beyond the
    values, so that at "95%" three normal ones cover their mean in 75% of cases; here it only ever widens.
    docs/statistics.md has what both cover elsewhere.
    """
    if min(a.size, b.size) < LEAST_N:
        return None
    samples = [b - a] if paired else [b, a]
    point = float(b.mean() - a.mean())
    if all(np.ptp(sample) <= SAME * max(1.0, float(np.abs(sample).max())) for sample in samples):
        return Interval(point, point, level)  # nothing to resample, nothing to divide by
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they warn of values that are nearly alike, which is fine here
        again = stats.bootstrap(
            samples,
            np.mean if paired else _mean_difference,
            n_resamples=RESAMPLES,
            confidence_level=level,
            method="percentile",
            vectorized=True,
            rng=np.random.default_rng(SEED),
        ).confidence_interval
        test = stats.ttest_1samp(samples[0], 0.0) if paired else stats.ttest_ind(b, a, equal_var=False)
        student = test.confidence_interval(level)
    return Interval(float(min(again.low, student.low)), float(max(again.high, student.high)), level)


def _mean_difference(b: NDArray[np.float64], a: NDArray[np.float64], axis: int = -1) -> Any:
    return np.mean(b, axis=axis) - np.mean(a, axis=axis)


def _direction(
    name: str, a: NDArray[np.float64], difference: float, bounds: Interval | None, runs: int
) -> tuple[Direction, str]:
    if bounds is None:
        return (NOT_SHOWN, f"{runs} run{'s' * (runs != 1)}: at least {LEAST_N} of each are needed")
    low, high = bounds.low, bounds.high
    if low <= 0 <= high:
        return NOT_SHOWN, "the interval has 0 in it" if low != high else "the same in all runs"
    figure = figure_of(name)
    least = max(figure.least_absolute, figure.least_relative * abs(float(a.mean())))
    if abs(difference) < least and not math.isclose(abs(difference), least):
        return (NOT_SHOWN, f"less than {least:.3g} {figure.unit}".strip() + ", which does not matter")
    if figure.better is None:
        return "differs", "no direction is known for it"
    why = "the same difference in every run: one observation" if low == high else ""
    return ("better" if (difference > 0) == (figure.better == "higher") else "worse"), why


def _sample(runs: Sequence[RunOf], name: str) -> Sample:
    values = _values(runs, name)
    never = sum(name in run.measured.never for run in runs)
    return Sample(int(values.size), rounded(values.mean()), rounded(values.min()), rounded(values.max()), never)


def conclusion(found: Sequence[Difference]) -> str:
    """``better``, ``worse``, ``mixed`` or ``no difference shown``, over a group's figures."""
    words = {difference.direction for difference in found}
    if {"better", "worse"} <= words:
        return "mixed"
    return next((word for word in ("worse", "better") if word in words), NOT_SHOWN)


def by_group(found: Sequence[Difference]) -> Mapping[str, list[Difference]]:
    """Differences by the group that is compared with the first."""
    groups: dict[str, list[Difference]] = {}
    for difference in found:
        groups.setdefault(difference.group, []).append(difference)
    return groups
