"""Confidence intervals of medians, by the bootstrap: what repetitions of a run say, and what they leave open."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import bootstrap

LEVEL = 0.95
RESAMPLES = 9999
SEED = 20240
"""The resampling is seeded, so that the same values always have the same interval."""
LEAST_N = 3
"""Fewer values have no interval: their median is told as it is."""

Found = Literal["inside", "outside", "straddles"]


class Interval(NamedTuple):
    """From ``low`` to ``high``, both included."""

    low: float
    high: float

    def against(self, low: float, high: float | None) -> Found:
        """Where it lies beside what is asked; ``high`` None: no upper limit."""
        if self.low >= low and (high is None or self.high <= high):
            return "inside"
        if self.high < low or (high is not None and self.low > high):
            return "outside"
        return "straddles"


def of_median(values: Sequence[float]) -> Interval | None:
    """That of the median; None with fewer than :data:`LEAST_N` values.

    The percentile bootstrap, as BCa has no acceleration where values are few and alike. With up to five values it
    is their range: so few can't tell more.
    """
    if len(values) < LEAST_N:
        return None
    return _resampled([values], lambda sample, axis: np.median(sample, axis=axis), statistics.median(values))


def of_ratio(values: Sequence[float], over: Sequence[float]) -> Interval | None:
    """That of the ratio of two medians of independent runs; None where either has too few, or one below is 0."""
    if min(len(values), len(over)) < LEAST_N or min(over) <= 0 <= max(over):
        return None
    point = statistics.median(values) / statistics.median(over)
    return _resampled([values, over], _ratio, point)


def of_difference(values: Sequence[float], less: Sequence[float]) -> Interval | None:
    """That of the difference of two medians of independent runs; None where either has too few."""
    if min(len(values), len(less)) < LEAST_N:
        return None
    point = statistics.median(values) - statistics.median(less)
    return _resampled([values, less], _difference, point)


def _ratio(one: Any, other: Any, axis: int) -> Any:
    return np.median(one, axis=axis) / np.median(other, axis=axis)


def _difference(one: Any, other: Any, axis: int) -> Any:
    return np.median(one, axis=axis) - np.median(other, axis=axis)


def _resampled(samples: Sequence[Sequence[float]], statistic: Callable[..., Any], point: float) -> Interval:
    if all(len(set(sample)) == 1 for sample in samples):
        return Interval(float(point), float(point))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of resamples that are all alike, which is fine here
        found = bootstrap(
            [np.asarray(sample, dtype=float) for sample in samples], statistic, confidence_level=LEVEL,
            n_resamples=RESAMPLES, method="percentile", vectorized=True, rng=np.random.default_rng(SEED),
        ).confidence_interval  # fmt: skip
    return Interval(float(found.low), float(found.high))
