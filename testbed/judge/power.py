"""The smallest effect that so many runs would show, with a probability of 80%.

Effects of a sign test are in standard deviations of a run's figure on a log scale, σ, on which figures that can't be
negative scatter alike whatever their size. An effect of 1.4 σ where σ = 2% is a difference of 2.8%.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import NormalDist, fmean

from testbed.judge import sign_test

POWER = 0.8
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
    from scipy import special  # slow to import; claims do without

    if min(n for _, n in spreads) < 2:
        return math.inf, math.inf
    parts = [variance / n for variance, n in spreads]
    weights = sum(part**2 / (n - 1) for part, (_, n) in zip(parts, spreads, strict=True))
    freedom, error = sum(parts) ** 2 / weights if weights else 1.0, math.sqrt(sum(parts))
    limit = float(special.stdtrit(freedom, (1 + level) / 2))
    # The spread is an estimate as well, so that a test's value has a t distribution about the difference, too.
    return limit * error, float(special.nctdtrinc(freedom, 1 - POWER, limit)) * error


def runs_for(effect: float, variances: Sequence[float], level: float) -> int:
    """The fewest runs of each group whose means show an effect; :data:`MOST_RUNS` where not even fewer than those
    do."""
    runs = range(MOST_RUNS)
    return bisect_left(runs, -effect, lo=3, key=lambda n: -reach([(variance, n) for variance in variances], level)[1])


def of_sign_test(n: int) -> float:
    """The least distance of a median from a limit, in σ of normally distributed logs, which a sign test shows within
    ``n`` runs that are looked at after each; infinite for fewer than decide."""
    if n < sign_test.LEAST_N:
        return math.inf
    low, high = 0.5, 1 - 1e-9
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if _decided(n, middle) < POWER else (low, middle)
    return NormalDist().inv_cdf(high)


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
