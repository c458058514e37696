"""Statistics of repeated measurements."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of ``n`` repeats."""

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Raises :class:`ValueError` without any value."""
        return cls(statistics.median(values), min(values), max(values), len(values))

    def __format__(self, spec: str) -> str:
        """``0.031 (0.028–0.040)`` by ``.3f``."""
        return f"{self.median:{spec}} ({self.low:{spec}}–{self.high:{spec}})"


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that the share of all does not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def binomial_interval(trials: int, chance: float, confidence: float = 0.99) -> tuple[int, int]:
    """Fewest and most successes of ``trials`` that are not to be wondered at: each tail beyond has at most
    half of ``1 - confidence``. Exact."""
    from scipy import stats  # a bench of one host's links needs none of it

    tail = (1 - confidence) / 2
    low, high = stats.binom.ppf([tail, 1 - tail], trials, chance)
    return int(low), int(high)
