"""Makes links by Mininet's API and tells how long that took; a program of its own, for ``setup_time``.

``python -m testbed.lab.mininet_links KIND COUNT FABRIC BINARY``, with KIND ``ours`` or ``tclink``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo

from testbed.lab.ends import LinkRequest
from testbed.lab.ours import plan_of
from topologies.fabric import Fabric
from topologies.middle import RelayMiddle
from topologies.planned import planned_network

RATE_MBIT = 10
DELAY_MS = 10.0


class TCLinks(Topo):
    """Two hosts with parallel links by Mininet's own means. Bandwidth only: a kernel without netem has no more."""

    def build(self, links: int = 2) -> None:
        """Called by Mininet's constructor."""
        for name in ("h1", "h2"):
            self.addHost(name, ip=None)
        for _ in range(links):
            self.addLink("h1", "h2", cls=TCLink, bw=RATE_MBIT)


def ours(count: int, fabric_name: str, binary: Path) -> float:
    """Seconds until so many of our links forward, their middle included."""
    begun = time.monotonic()
    fabric = Fabric(fabric_name)
    middle = RelayMiddle(fabric, binary)
    links = [plan_of(i, LinkRequest(delay_ms=DELAY_MS, rate_bps=RATE_MBIT * 1e6)) for i in range(1, count + 1)]
    net: Any = None
    try:
        fabric.create()
        middle.prepare(links)
        net = planned_network({"h1": {}, "h2": {}}, links, fabric)
        middle.start(links)
        return time.monotonic() - begun
    finally:
        middle.stop()
        if net is not None:
            net.stop()
        fabric.delete()


def tclink(count: int) -> float:
    """Seconds until so many TCLinks are there."""
    begun = time.monotonic()
    net = Mininet(topo=TCLinks(count), controller=None, build=False)
    try:
        net.build()
        return time.monotonic() - begun
    finally:
        net.stop()


if __name__ == "__main__":
    setLogLevel("critical")
    kind, number = sys.argv[1], int(sys.argv[2])
    took_s = ours(number, sys.argv[3], Path(sys.argv[4])) if kind == "ours" else tclink(number)
    print(json.dumps({"seconds": took_s}))
