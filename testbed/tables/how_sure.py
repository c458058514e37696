"""What the runs behind a check say beside its value: the level of their intervals, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed import intervals
from testbed.intervals import Interval
from testbed.tables.outcome import Spread

Behind = tuple[Interval | None, Sequence[Spread]]
"""The interval that decides at a place, and the spreads that its value is made of."""


def how_sure(places: Mapping[str, Behind]) -> str:
    """In sentences, each of which names its places where there are others; "" without places."""
    by_interval = [interval for interval, _ in places.values() if interval]
    one = [name for name, (interval, spreads) in places.items() if not interval and all(s.is_one for s in spreads)]
    few = [name for name, (interval, _) in places.items() if not interval and name not in one]
    said = []
    if by_interval:
        two = any(len(spreads) > 1 for interval, spreads in places.values() if interval)
        levels = intervals.told(interval.level for interval in by_interval)
        said.append(f"Decided by intervals of at least {levels}." if two else f"Decided by {levels} intervals.")
    if one:
        n = max(spread.n for name in one for spread in places[name][1])
        said.append(f"{n} runs, one observation{_which(one, places)}: nothing is left to chance, its value decides.")
    if few:
        said.append(
            f"Judged by the median alone, of fewer than {intervals.LEAST_N} runs, which say nothing of the spread"
            f"{_which(few, places)}."
        )
    return " ".join(said)


def observations(places: Mapping[str, Behind]) -> int:
    """The least number of observations behind any place; of two spreads the larger, as one without chance adds none."""
    return min((max(len(spread.values) for spread in spreads) for _, spreads in places.values()), default=0)


def _which(names: Sequence[str], places: Mapping[str, Behind]) -> str:
    return f" ({', '.join(names)})" if len(names) < len(places) else ""
