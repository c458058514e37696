"""Intervals of medians, exact by order statistics.

Of n independent values, sorted, the k-th smallest to the k-th largest cover the median of what they are drawn from
with a probability of 1 − 2·P(B ≤ k − 1), B binomial of n and ½: each value is as likely below the median as above it.
This holds for any distribution, and is the least probability where values may be equal (W. J. Conover, Practical
Nonparametric Statistics, 3.2; scipy.stats.quantile_test gives the same bounds, not their level). Few values have a
low level, which is always reported: see docs/verdicts.md.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from testbed.judge.status import Status

LEVEL = 0.95
"""Smallest level of an interval; fewer than six values can't reach it."""
OF_TWO = 1 - (1 - LEVEL) / 2
"""Smallest level of each of two medians, so that both together have :data:`LEVEL`."""
LEAST_N = 3
"""Fewest values with an interval: the median of fewer is reported without one."""


class Interval(NamedTuple):
    """An interval from ``low`` to ``high``, both included; covers the true value with a probability of at least
    ``level``."""

    low: float
    high: float
    level: float

    def against(self, low: float, high: float | None) -> Status:
        """``pass`` inside the limits, ``fail`` outside, ``inconclusive`` partly inside; ``high`` None: no limit."""
        if self.low >= low and (high is None or self.high <= high):
            return Status.PASS
        if self.high < low or (high is not None and self.low > high):
            return Status.FAIL
        return Status.INCONCLUSIVE

    def over(self, divisor: float) -> Interval:
        """The interval in parts of a positive number."""
        return Interval(self.low / divisor, self.high / divisor, self.level)

    def less(self, number: float) -> Interval:
        """The interval of the value less a number."""
        return Interval(self.low - number, self.high - number, self.level)


def level_of(n: int, k: int) -> float:
    """The probability that the k-th smallest to the k-th largest of ``n`` values cover the median."""
    return 1 - sum(math.comb(n, i) for i in range(k)) / float(2 ** (n - 1))


def order_of(n: int, least: float) -> int:
    """The largest k whose interval has the level ``least``; else 1."""
    return 1 + bisect(range(2, n // 2 + 1), -least, key=lambda k: -level_of(n, k))  # the larger, the lower the level


def of_median(values: Sequence[float], least: float = LEVEL) -> Interval | None:
    """The interval of the median; None with fewer than :data:`LEAST_N` values.

    The narrowest that has the level ``least``; where even the range of all values has it not, the range.
    """
    n = len(values)
    if n < LEAST_N:
        return None
    ordered, k = sorted(values), order_of(n, least)
    return Interval(float(ordered[k - 1]), float(ordered[n - k]), level_of(n, k))


def of_two(one: Interval, other: Interval, of: Callable[[float, float], float]) -> Interval:
    """The interval of the ratio, or difference, ``of`` two values: the widest that the ends of their intervals give.

    It covers wherever both do, so its level is at least 1 − (α₁ + α₂) (Bonferroni), whatever the distributions and
    however one group's runs depend on the other's: columns of a table share their seeds. The Mann-Whitney
    (Hodges-Lehmann) interval would be narrower, but only holds where both groups differ by a shift alone; losses
    make one policy's figures scatter more than another's.
    """
    ends = [of(a, b) for a in (one.low, one.high) for b in (other.low, other.high)]
    return Interval(min(ends), max(ends), max(0.0, one.level + other.level - 1))


def against(value: float, interval: Interval | None, low: float, high: float | None) -> Status:
    """The status by the interval beside its limits; without an interval, by the value alone."""
    return (interval or Interval(value, value, 1.0)).against(low, high)


def levels_in_words(levels: Iterable[float]) -> str:
    """``75%``, or ``75 to 97%`` of several: in whole percent, never rounded up to :data:`LEVEL` or to certainty."""
    percents = sorted({_percent(level) for level in levels})
    return f"{percents[0]}%" if len(percents) == 1 else f"{percents[0]} to {percents[-1]}%"


def _percent(level: float) -> int:
    most = 100 if level == 1 else 99 if level >= LEVEL else math.ceil(100 * LEVEL) - 1
    return min(round(100 * level), most)
