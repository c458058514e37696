"""The properties of a link, one way, from each change of a timeline to the next."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from testbed.plan.model import DIRECTIONS, Action, Direction
from topologies.impairments.loss import with_change
from topologies.link import Link


class LinkInterval(NamedTuple):
    """Seconds since the transfer's start in which a link has the same properties."""

    from_s: float
    to_s: float
    link: Link
    up: bool


def link_intervals(link: Link, timeline: Sequence[Action], direction: Direction) -> Iterator[LinkInterval]:
    """Intervals in order, the first from 0; with changes at the same time some last no time."""
    from_s, up = 0.0, True
    for action in sorted(timeline, key=lambda action: action["at_s"]):
        if action["kind"] == "pause_read" or action["link"] != link["name"]:
            continue
        if action["kind"] == "set" and action["direction"] not in (direction, "both"):
            continue
        yield LinkInterval(from_s, float(action["at_s"]), link, up)
        from_s = float(action["at_s"])
        if action["kind"] == "carrier":
            up = action["up"]
            continue
        link = cast(Link, with_change(link, action["properties"]))
    yield LinkInterval(from_s, math.inf, link, up)


def both_ways(link: Link, timeline: Sequence[Action]) -> list[LinkInterval]:
    """Intervals of one direction, and after them those of the other."""
    return [each for direction in DIRECTIONS for each in link_intervals(link, timeline, direction)]


def ever_has(link: Link, timeline: Sequence[Action], keys: Sequence[str]) -> bool:
    """Whether one of the properties is ever set, either way."""
    return any(each.link.get(key) for each in both_ways(link, timeline) for key in keys)


def at(those: Sequence[LinkInterval], at_s: float) -> LinkInterval:
    """The one that a time is in; at the time of a change, what holds after it."""
    return those[bisect_right(those, at_s, key=lambda each: each.to_s)]
