"""A line through points, by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Line(NamedTuple):
    """y = ``slope`` × x + ``intercept``."""

    slope: float
    intercept: float
    r2: float
    """The share of y's variance that it explains."""

    def at(self, x: float) -> float:
        """The line's value."""
        return self.slope * x + self.intercept

    @classmethod
    def through(cls, x: Sequence[float], y: Sequence[float]) -> Line:
        """The line through two points or more, with different x."""
        slope, intercept = np.polyfit(x, y, 1)
        left = float(np.sum((np.array(y) - slope * np.array(x) - intercept) ** 2))
        whole = float(np.sum((np.array(y) - np.mean(y)) ** 2))
        return cls(float(slope), float(intercept), 1 - left / whole if whole else 1.0)
