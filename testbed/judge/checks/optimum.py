"""The fastest possible transfer: by a sender that knows the links' rates, losses and breaks beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.plan.intervals import link_intervals
from testbed.plan.model import Action
from topologies.link import Link, rate_pps


@dataclass(frozen=True)
class Capacity:
    """A link's capacity, bits/s of payload, from each time on (s), and its delay."""

    steps: Sequence[tuple[float, float]]
    """Rates in the order of time, the first at 0."""
    delay_s: float

    @classmethod
    def of(cls, link: Link, timeline: Sequence[Action], bits_per_packet: float, delay_s: float) -> Capacity:
        """The supply of a link that loses packets, is down or changes its rate, by the timeline, from its sender's
        end."""
        steps = [
            (each.from_s, each.up * rate_pps(each.link) * (1 - each.link["loss"]) * bits_per_packet)
            for each in link_intervals(link, timeline, "ab")
        ]
        return cls(steps, delay_s)

    def arrived_bits(self, by_s: float) -> float:
        """Bits that have arrived by a time over a link that was never idle."""
        until = by_s - self.delay_s
        ends = [*(at_s for at_s, _ in self.steps[1:]), float("inf")]
        return sum(
            bps * max(0.0, min(end_s, until) - from_s) for (from_s, bps), end_s in zip(self.steps, ends, strict=True)
        )


def optimum_s(capacities: Sequence[Capacity], transfer_bytes: float) -> float:
    """The least seconds in which so many bytes of payload can arrive: every link busy from the start, and nothing on
    one of them that arrives after the last byte of the others."""
    low, high = 0.0, 1.0
    while sum(capacity.arrived_bits(high) for capacity in capacities) < transfer_bytes * 8:
        low, high = high, 2 * high
        if high > 1e6:
            raise ValueError("the links never carry it")
    for _ in range(60):
        middle = (low + high) / 2
        enough = sum(capacity.arrived_bits(middle) for capacity in capacities) >= transfer_bytes * 8
        low, high = (low, middle) if enough else (middle, high)
    return high
