"""A sign test of a median that may be looked at after every run.

Of n runs, k lie on the right side of a limit. If the median lies beyond the limit, each run is on the right side with
a probability p of at most ½. The evidence against that is what two bets have won. Half is a bet on nothing but right
sides, half is on every p above ½, in equal parts. Its mean is then at most 1 after every run, whatever the
distribution, so that it ever reaches 20 with a probability of at most 1/20 (Ville's inequality), however often one
looks (H. Robbins, Annals of Mathematical Statistics 41, 1970; A. Ramdas et al., Statistical Science 38(4), 2023).
docs/verdicts.md has its exact error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from testbed.judge.intervals import Interval
from testbed.judge.status import Status

ERROR = 0.05
"""Largest probability that a limit is ever rejected wrongly."""
LEVEL = 1 - 2 * ERROR
"""Smallest probability that intervals of both limits cover the median after every run."""
LEAST_N = 5
"""Fewest runs that decide, if all agree."""


def evidence(n: int, k: int) -> float:
    """The evidence of ``k`` of ``n`` runs that the median lies on their side of a limit."""
    # The integral of p^k (1 − p)^(n − k) over ½…1 is an incomplete beta function, a sum of binomial coefficients.
    mixed = sum(math.comb(n + 1, i) for i in range(k + 1)) / ((n + 1) * math.comb(n, k))
    return (mixed + (2.0**n if k == n else 0.0)) / 2


def rejects(n: int, k: int) -> bool:
    """Whether so many runs on the right side of a limit show that the median is on that side, too."""
    return evidence(n, k) >= 1 / ERROR


def of_median(values: Sequence[float]) -> Interval | None:
    """The medians that no run so far has rejected: from the j-th smallest to the j-th largest value; None with fewer
    than :data:`LEAST_N`. A limit is rejected as soon as it lies outside."""
    n, ordered = len(values), sorted(values)
    if n < LEAST_N:
        return None
    j = max(j for j in range(1, n // 2 + 1) if rejects(n, n + 1 - j))
    return Interval(float(ordered[j - 1]), float(ordered[n - j]), LEVEL)


def of_signs(held: int, n: int) -> Status:
    """The status of what holds in ``held`` of ``n`` runs: whether it holds, or fails, in most."""
    if rejects(n, held):
        return Status.PASS
    return Status.FAIL if rejects(n, n - held) else undecided(n)


def undecided(n: int) -> Status:
    """The status where ``n`` runs decide nothing."""
    return Status.INCONCLUSIVE if n >= LEAST_N else Status.INSUFFICIENT_DATA


def of_limits(values: Sequence[float], low: float, high: float | None) -> tuple[float, float]:
    """Evidence that the median lies inside the limits, and that it lies beyond one of them. Inside is only as sure as
    its weaker limit; beyond is the mean of both, as either may be the wrong one."""
    n, ends = len(values), [(value >= low, value < low) for value in values]
    sides = [ends] if high is None else [ends, [(value <= high, value > high) for value in values]]
    counts = [[sum(side) for side in zip(*of, strict=True)] for of in sides] if n else [[0, 0]]
    return min(evidence(n, inside) for inside, _ in counts), sum(evidence(n, out) for _, out in counts) / len(counts)


def together(evidences: Mapping[str, float], error: float = ERROR) -> list[str]:
    """The names whose decisions hold together. Of these, at most a part ``error`` is expected to be wrong, however
    they depend on each other (e-BH: R. Wang, A. Ramdas, JRSS B 84(3), 2022). Each has the evidence for the side that
    was decided, the larger of two of which at most one can be wrong."""
    ordered = sorted(evidences, key=lambda name: -evidences[name])
    many = (
        count for count in range(len(ordered), 0, -1) if count * evidences[ordered[count - 1]] * error >= len(ordered)
    )
    return ordered[: next(many, 0)]
