"""What the runs behind a check say beside its value: the level of their intervals, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed.judge import intervals
from testbed.judge.intervals import Interval
from testbed.message import Message
from testbed.study.tables.outcome import Spread

Behind = tuple[Interval | None, Sequence[Spread]]
"""The interval that decides at a place, and the spreads that its value is made of."""


def how_sure(places: Mapping[str, Behind]) -> list[Message]:
    """In sentences, each of which names its places where there are others; none without places."""
    by_interval = [interval for interval, _ in places.values() if interval]
    one = [name for name, (interval, spreads) in places.items() if not interval and all(s.is_one for s in spreads)]
    few = [name for name, (interval, _) in places.items() if not interval and name not in one]
    said = []
    if by_interval:
        two = any(len(spreads) > 1 for interval, spreads in places.values() if interval)
        levels = intervals.told(interval.level for interval in by_interval)
        said.append(
            Message("sure.of-two", "Decided by intervals of at least {levels}.", levels=levels)
            if two
            else Message("sure.by-intervals", "Decided by {levels} intervals.", levels=levels)
        )
    if one:
        n = max(spread.n for name in one for spread in places[name][1])
        said.append(
            Message(
                "sure.one-observation",
                "{runs} runs, one observation{which}: nothing is left to chance, its value decides.",
                runs=n,
                which=_which(one, places),
            )
        )
    if few:
        said.append(
            Message(
                "sure.too-few",
                "Judged by the median alone, of fewer than {least} runs, which say nothing of the spread{which}.",
                least=intervals.LEAST_N,
                which=_which(few, places),
            )
        )
    return said


def observations(places: Mapping[str, Behind]) -> int:
    """The least number of observations behind any place; of two spreads the larger, as one without chance adds none."""
    return min((max(len(spread.values) for spread in spreads) for _, spreads in places.values()), default=0)


def _which(names: Sequence[str], places: Mapping[str, Behind]) -> str:
    return f" ({', '.join(names)})" if len(names) < len(places) else ""
