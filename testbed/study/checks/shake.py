"""A claim over the neighbourhood of its set-up: in how many points it holds, where the nearest failure is, and on which
factor it depends most. A design that varies nothing proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.judge.status import Status

LEVEL = 0.95
"""Level of the interval of the part of the set-ups in which a claim holds."""
LEAST_OF_INDICES = 64
"""Fewest points with indices of sensitivity; fewer have rank correlations alone."""
HARMONICS = 6
"""Harmonics of a factor; what varies faster counts as noise."""
DUMMY = "dummy"
"""A coordinate that sets nothing: its sensitivity is the noise of all others'."""
BY_CHANCE = ("seed", "start", DUMMY)
"""Factors that are nowhere nearer to the source's set-up."""
Values = NDArray[np.float64]
DECIDED = (Status.PASS, Status.FAIL)


@dataclass(frozen=True)
class At:
    """A claim at a point; the first one is the source's own."""

    point: str
    place: Mapping[str, float]
    """Coordinates by factor, from −1 to 1, where 0 is the source's."""
    changes: Mapping[str, float]
    """Values in the plans over those of the source's set-up, by factor; of ``seed`` and ``start`` the values."""
    status: Status
    """``skipped``: excluded, for ``reason``."""
    reason: str = ""
    value: float | None = None

    @property
    def moved(self) -> list[str]:
        """Factors with a distance, the farthest first."""
        return sorted([n for n in self.changes if n not in BY_CHANCE], key=lambda name: -abs(self.place.get(name, 0.0)))

    @property
    def distance(self) -> float:
        """Distance from the source's set-up in parts of the ranges: the farthest factor's."""
        return abs(self.place[self.moved[0]]) if self.moved else 0.0

    def in_words(self) -> str:
        """``queue −8%, delay +3%``."""
        return ", ".join(change_in_words(name, self.changes[name]) for name in self.moved)


def change_in_words(name: str, change: float) -> str:
    """``queue −8%``."""
    return f"{name} {100 * (change - 1):+.0f}%".replace("-", "−")


class Edge(NamedTuple):
    """The end of a claim along one factor alone: the last change that holds, and the first that fails."""

    factor: str
    holds: float
    fails: float


@dataclass(frozen=True)
class Shaken:
    """The result of a claim. ``status`` is ``pass`` where the shake can be relied on, whatever it found."""

    status: Status
    reason: str
    source: Status
    """Status at the source's own point, which does not count."""
    points: int
    decided: int
    holds: int
    interval: tuple[float, float] | None
    excluded: dict[str, int]
    """Number of points by rule."""
    nearest: str
    """Changes at the failing point that is nearest to the source's."""
    sensitivity: dict[str, dict[str, float]]
    """Indices by factor: ``rank``, the correlation with the value; of many points ``first_order``, the part of the
    value's variance that it explains; ``fails``, the distance of the failing points from the others (Kolmogorov and
    Smirnov)."""
    most: str
    """The factor with the largest index; "" where none is above the dummy's."""
    edge: Edge | None = None

    def in_words(self) -> str:
        """``holds in 251 of 256 (95%: 95.5% to 99.4%); nearest failure: queue −8% alone; most sensitive to: queue``."""
        said = [f"holds in {self.holds} of {self.decided}"]
        if self.interval:
            said[0] += f" ({LEVEL:.0%}: {self.interval[0]:.1%} to {self.interval[1]:.1%})"
        said += [f"{sum(self.excluded.values())} of {self.points} excluded"] if self.excluded else []
        if self.edge:
            said.append(f"nearest failure: {change_in_words(self.edge.factor, self.edge.fails)} alone")
        elif self.nearest:
            said.append(f"nearest failure: {self.nearest}")
        said.append(f"most sensitive to: {self.most}" if self.most else "no factor stands out of the dummy's noise")
        return "; ".join(said)


def nearest_failure(found: Sequence[At]) -> At | None:
    """The failing point that is nearest to the source's; None without any."""
    return min((one for one in found[1:] if one.status == Status.FAIL), key=lambda one: one.distance, default=None)


def judge(found: Sequence[At]) -> Shaken:
    """Judge a claim by its points."""
    own, *others = found
    decided = [one for one in others if one.status in DECIDED]
    holds, failure = sum(one.status == Status.PASS for one in decided), nearest_failure(found)
    status, reason = _reliable(own, others)
    sensitivity = sensitivity_of(decided)
    return Shaken(
        status=status,
        reason=reason,
        source=own.status,
        points=len(others),
        decided=len(decided),
        holds=holds,
        interval=interval_of(holds, len(decided)) if decided else None,
        excluded=dict(Counter(one.reason for one in others if one.status == Status.SKIPPED)),
        nearest=failure.in_words() if failure else "",
        sensitivity=sensitivity,
        most=most_sensitive(sensitivity),
    )


def _reliable(own: At, others: Sequence[At]) -> tuple[Status, str]:
    """Whether the design proves anything; else the reason."""
    made = [one for one in others if one.status != Status.SKIPPED]
    if undecided := [one for one in (own, *made) if one.status not in DECIDED]:
        first = undecided[0]
        return Status.ERROR, f"{len(undecided)} points are not decided. Point {first.point}: {first.reason}"
    if 2 * len(made) < len(others):
        return Status.INSUFFICIENT_DATA, f"{len(others) - len(made)} of {len(others)} points are excluded."
    same = [name for name in own.changes if name != DUMMY and len({one.changes[name] for one in made}) < 2]
    if same or not own.moved:
        return Status.UNTRUSTED, f"The design varies nothing: {', '.join(same) or 'the set-up'} is the same everywhere."
    if twice := len(made) - len({tuple(one.changes[name] for name in sorted(one.moved)) for one in made}):
        return Status.UNTRUSTED, f"{twice} points repeat the set-up of others, which is no evidence of its own."
    return Status.PASS, ""


def interval_of(holds: int, n: int) -> tuple[float, float]:
    """The interval of a part, exact (Clopper and Pearson)."""
    from scipy.stats import binomtest

    low, high = binomtest(holds, n).proportion_ci(LEVEL, "exact")
    return round(float(low), 4), round(float(high), 4)


def sensitivity_of(points: Sequence[At]) -> dict[str, dict[str, float]]:
    """Indices of each factor over the points with a value; none where the value is the same everywhere."""
    from scipy.stats import ks_2samp, spearmanr

    valued = [one for one in points if one.value is not None]
    y = np.array([one.value for one in valued], dtype=np.float64)
    if y.size < 8 or np.ptp(y) == 0:
        return {}
    names = list(valued[0].changes)
    x = np.array([[one.place[name] for name in names] for one in valued])
    found = {name: {"rank": float(spearmanr(x[:, n], y).statistic)} for n, name in enumerate(names)}
    if y.size >= LEAST_OF_INDICES:
        for n, name in enumerate(names):
            found[name]["first_order"] = first_order(x[:, n], y)
    fails = np.array([one.status == Status.FAIL for one in valued])
    if 0 < fails.sum() < fails.size:
        for n, name in enumerate(names):
            found[name]["fails"] = float(ks_2samp(x[fails, n], x[~fails, n]).statistic)
    return {name: {index: round(value, 4) for index, value in of.items()} for name, of in found.items()}


def first_order(x: Values, y: Values) -> float:
    """The part of the variance of ``y`` that ``x`` alone explains, by the harmonics of ``y`` along ``x`` there and back
    (random balance designs: Tarantola et al. 2006; without the bias of few points: Tissot and Prieur 2012)."""
    order = np.argsort(x)
    spectrum = np.abs(np.fft.fft(y[np.concatenate((order[::2], order[1::2][::-1]))])) ** 2
    explained, bias = 2 * spectrum[1 : HARMONICS + 1].sum() / spectrum[1:].sum(), 2 * HARMONICS / y.size
    return float(explained - bias / (1 - bias) * (1 - explained))


def most_sensitive(sensitivity: Mapping[str, Mapping[str, float]]) -> str:
    """The factor with the largest index, if that is above the dummy's."""
    if not sensitivity:
        return ""
    index = next(index for index in ("first_order", "rank") if index in sensitivity[DUMMY])
    size = {name: abs(of[index]) for name, of in sensitivity.items() if name not in BY_CHANCE}
    most = max(size, key=lambda name: size[name])
    return most if size[most] > abs(sensitivity[DUMMY][index]) else ""
