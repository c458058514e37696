"""The smallest effect that a number of runs would show, with a probability of 80%.

Effects of a sign test are in standard deviations of a run's figure on a log scale, σ, on which figures that can't be
negative scatter alike whatever their size. An effect of 1.4 σ where σ = 2% is a difference of 2.8%.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from statistics import NormalDist, fmean
from typing import Any

from testbed.judge import intervals, sign_test

POWER = 0.8
MOST = 100.0
"""Largest effect, as a logarithm, that is a figure."""
MOST_RUNS = 1000
"""Most runs that are recommended."""


def spread_of(cells: Iterable[Sequence[float]]) -> float | None:
    """σ, pooled over cells; None where no cell has two values above 0."""
    logs = [[math.log(value) for value in cell] for cell in cells if len(cell) > 1 and min(cell) > 0]
    freedom = sum(len(cell) - 1 for cell in logs)
    squares = sum((value - fmean(cell)) ** 2 for cell in logs for value in cell)
    return math.sqrt(squares / freedom) if freedom else None


def reach(spreads: Sequence[tuple[float, int]], level: float) -> tuple[float, float]:
    """The half width of Student's interval of a difference of means, and the least difference that it shows.

    ``spreads`` has the variance and number of the pairs' differences, or of each group's values (Welch's interval);
    infinite where one has a single value."""
    if min(n for _, n in spreads) < 2:
        return math.inf, math.inf
    parts = [variance / n for variance, n in spreads]
    weights = sum(part**2 / (n - 1) for part, (_, n) in zip(parts, spreads, strict=True))
    return _of_student(math.sqrt(sum(parts)), sum(parts) ** 2 / weights if weights else 1.0, level)


def of_another(sigma: float, freedom: int, n: int, level: float) -> tuple[float, float]:
    """The same of one more value about the median of ``n`` whose standard deviation is estimated as ``sigma``, with
    ``freedom`` degrees of freedom: the half width of Student's prediction interval."""
    # The median of normal values scatters by π/2 as much as their mean.
    return _of_student(sigma * math.sqrt(1 + math.pi / 2 / n), freedom, level)


def _of_student(error: float, freedom: float, level: float) -> tuple[float, float]:
    from scipy import special  # slow to import; most claims do without

    limit = float(special.stdtrit(freedom, (1 + level) / 2))
    # The spread is an estimate as well, so that a test's value has a t distribution about the difference, too.
    return limit * error, float(special.nctdtrinc(freedom, 1 - POWER, limit)) * error


def runs_for(effect: float, variances: Sequence[float], level: float) -> int:
    """The fewest runs of each group whose means show an effect, at most :data:`MOST_RUNS`."""
    runs = range(MOST_RUNS)
    return bisect_left(runs, -effect, lo=3, key=lambda n: -reach([(variance, n) for variance in variances], level)[1])


def of_sign_test(n: int) -> float:
    """The least distance of a median from a limit, in σ of normally distributed logs, which a sign test shows within
    ``n`` runs that are looked at after each; infinite for fewer than decide."""
    return _distance(partial(_decided, n), POWER) if n >= sign_test.LEAST_N else math.inf


def of_interval(n: int, *, of_two: bool = False) -> float:
    """The same where the interval of the median of ``n`` runs decides once. ``of_two``: it is one of two medians of
    which both have to show it."""
    if n < intervals.LEAST_N:
        return math.inf
    level, shown = (intervals.OF_TWO, (1 + POWER) / 2) if of_two else (intervals.LEVEL, POWER)
    least = n + 1 - intervals.order_of(n, level)

    def outside(right: float) -> float:
        return sum(math.comb(n, k) * right**k * (1 - right) ** (n - k) for k in range(least, n + 1))

    return _distance(outside, shown)


def _distance(decided: Callable[[float], float], shown: float) -> float:
    """The distance, in σ, at which a run lies on the right side so often that it is ``decided`` as often as shown."""
    low, high = 0.5, 1 - 1e-9
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if decided(middle) < shown else (low, middle)
    return NormalDist().inv_cdf(high)


def seen(cells: Iterable[Sequence[float]], distance: Callable[[int], float], times: int = 1) -> dict[str, Any]:
    """The smallest ``relative`` distance from a limit that the runs of cells would have shown, as ``least_seen`` of a
    check's figures; none where they are too few to decide. Beside it are the numbers that it follows from, such as σ
    and its degrees of ``freedom``. Empty where the runs say nothing of their spread, or are not above 0. ``times``: how
    often σ adds up, in a quotient."""
    runs = [values for values in cells if values]
    sigma, n = spread_of(runs), min(map(len, runs), default=0)
    if sigma is None or n < intervals.LEAST_N:
        return {}
    many, effect = sum(map(len, runs)), distance(n) * sigma * times
    found = {"relative": math.expm1(effect)} if effect <= MOST else {}
    found |= {"n": n, "sigma": sigma, "runs": many, "freedom": many - len(runs)}
    return {"least_seen": {name: round(value, 6) for name, value in found.items()}}


@cache
def _decided(n: int, right: float) -> float:
    """The probability of a rejection within ``n`` runs, each on the right side with the probability ``right``."""
    going, decided = {0: 1.0}, 0.0
    for run in range(1, n + 1):
        after: dict[int, float] = {}
        for k, chance in going.items():
            after[k] = after.get(k, 0.0) + chance * (1 - right)
            after[k + 1] = after.get(k + 1, 0.0) + chance * right
        decided += sum(chance for k, chance in after.items() if sign_test.rejects(run, k))
        going = {k: chance for k, chance in after.items() if not sign_test.rejects(run, k)}
    return decided
