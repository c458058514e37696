"""This testbed's links, made by the same parts as in a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from testbed.lab.ends import Between, End, LinkRequest, namespace
from topologies.fabric import Fabric, namespace_of
from topologies.link import Link, QueueMode, resolve_link
from topologies.middle import NetemMiddle, RelayMiddle
from topologies.units import QueueLength, Rate

UNSHAPED_BPS = 1e9
"""Rate of a plan's link, which always has one; it is not applied where none is configured."""
QUEUE_PACKETS = 2000


@dataclass
class Hosts:
    """Two hosts and the fabric between them."""

    pids: tuple[int, int]
    fabric: Fabric

    @property
    def paths(self) -> tuple[str, str]:
        """Paths of the hosts' network namespaces."""
        return namespace_of(self.pids[0]), namespace_of(self.pids[1])

    def connect(self, links: Sequence[Link], *, shaped: bool) -> None:
        """Make the links, with their rate at the hosts' egress if ``shaped``."""
        for link in links:
            self.fabric.add(link, *self.pids, shaped=shaped)
        self.fabric.connect()


@contextmanager
def hosts(fabric_name: str) -> Iterator[Hosts]:
    """Two hosts without links; all is gone at the end."""
    fabric = Fabric(fabric_name)
    with namespace() as a, namespace() as b:
        fabric.create()
        try:
            yield Hosts((a, b), fabric)
        finally:
            fabric.delete()


def plan_of(index: int, requested: LinkRequest, queue_mode: QueueMode = "backpressure") -> Link:
    """A link as a scenario would have it."""
    link = resolve_link(
        index,
        f"link{index}",
        "h1",
        "h2",
        Rate(bps=requested.rate_bps or UNSHAPED_BPS),
        delay_ms=requested.delay_ms,
        loss=requested.loss,
        queue=QueueLength(packets=QUEUE_PACKETS),
        queue_mode=queue_mode,
        seed=requested.seed,
    )
    if requested.whole_segments:
        link["whole_segments"] = True
    return link


class Ours:
    """One link, its middle by netem or the relay, its rate at the hosts or in the middle."""

    def __init__(
        self, fabric_name: str, binary: Path, middle: Literal["netem", "relay"], *, rate_in_the_middle: bool = False
    ) -> None:
        self.fabric_name, self.binary, self.middle = fabric_name, binary, middle
        self.rate_in_the_middle = rate_in_the_middle
        self.overhead_bytes = 14
        self.blocks = not rate_in_the_middle

    @contextmanager
    def link(self, requested: LinkRequest) -> Iterator[Between]:
        """The link exists within the context."""
        link = plan_of(1, requested, "droptail" if self.rate_in_the_middle and requested.rate_bps else "backpressure")
        with hosts(self.fabric_name) as two:
            two.connect([link], shaped=requested.rate_bps > 0 and not self.rate_in_the_middle)
            middle = NetemMiddle(two.fabric) if self.middle == "netem" else RelayMiddle(two.fabric, self.binary)
            try:
                middle.start([link])
                yield Between(End(two.paths[0], link["a"]["address"]), End(two.paths[1], link["b"]["address"]))
            finally:
                middle.stop()
