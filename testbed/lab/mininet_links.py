"""Makes links by Mininet's API and tells how long that took."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet

from testbed.lab.ends import LinkRequest, namespace
from testbed.lab.ours import plan_of
from topologies.fabric import Fabric, namespace_of
from topologies.middle import RelayMiddle
from topologies.planned import planned_network
from topologies.within import within

RATE_MBIT = 10
DELAY_MS = 10.0


def alone(make: Callable[[], float]) -> float:
    """Make links in a namespace of their own: TCLink makes its interfaces where it runs, before it moves them."""
    setLogLevel("critical")
    with namespace() as outer:
        return within(namespace_of(outer), make)


def ours(fabric_name: str, binary: Path, count: int) -> float:
    """Seconds until that many of our links forward, their middle included."""
    begun = time.monotonic()
    fabric = Fabric(fabric_name)
    middle = RelayMiddle(fabric, binary)
    links = [plan_of(i, LinkRequest(delay_ms=DELAY_MS, rate_bps=RATE_MBIT * 1e6)) for i in range(1, count + 1)]
    with ExitStack() as made:
        made.callback(fabric.delete)
        fabric.create()
        made.callback(middle.stop)
        middle.prepare(links)
        net = planned_network({"h1": {}, "h2": {}}, links, fabric)
        made.callback(net.stop)
        middle.start(links)
        return time.monotonic() - begun


def tclink(count: int) -> float:
    """Seconds until that many TCLinks are there. They have a bandwidth only: a kernel without netem has no more."""
    begun = time.monotonic()
    net = Mininet(controller=None, build=False)
    try:
        ends = [net.addHost(name, ip=None) for name in ("h1", "h2")]
        for _ in range(count):
            net.addLink(*ends, cls=TCLink, bw=RATE_MBIT)
        net.build()
        return time.monotonic() - begun
    finally:
        net.stop()
