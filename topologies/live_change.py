"""What a change of a live link is, whichever the middle: when it took effect, and the plug of a link."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from topologies.commands import batch
from topologies.fabric import Fabric
from topologies.link import Link
from topologies.within import within

FIRST_GROUP = 1000
"""Interface groups of links' ends, apart from group 0, which all others are in."""
SPIN_S = 0.002


@dataclass(frozen=True)
class Applied:
    """Unix nanoseconds between which a change took effect for the frames of the link.

    The relay tells frames apart by their arrival, so its two are equal; netem's lie around a call of ``tc``.
    """

    from_unix_ns: int
    to_unix_ns: int

    @property
    def uncertainty_ms(self) -> float:
        """How far apart they are."""
        return (self.to_unix_ns - self.from_unix_ns) / 1e6


def wait_until(at_unix_ns: int) -> None:
    """Sleep, and the last of it not: a sleep may end that much late. At once if the time has passed."""
    time.sleep(max(0.0, (at_unix_ns - time.time_ns()) / 1e9 - SPIN_S))
    while time.time_ns() < at_unix_ns:
        pass


def pair_ends(fabric: Fabric, links: Sequence[Link]) -> None:
    """Put each link's two ends in a group of their own, so that one request pulls both."""
    lines = [
        f"link set {end['middle_interface']} group {FIRST_GROUP + link['index']}"
        for link in links
        for end in (link["a"], link["b"])
    ]
    within(fabric.path, lambda: batch("ip", *lines))


def set_carrier(fabric: Fabric, link: Link, *, up: bool) -> Applied:
    """Pull a link's plug at both ends, as the hosts see it, or put it back."""
    begun_ns = time.time_ns()
    fabric.run(["ip", "link", "set", "group", str(FIRST_GROUP + link["index"]), "up" if up else "down"])
    return Applied(begun_ns, time.time_ns())
