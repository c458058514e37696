"""The emulated link as a Mininet ``Link``: shaped at both hosts, delayed in the middle.

From a scenario, the runner passes the resolved link and the run's fabric. From ``mn --custom`` the
parameters are written as text and a fabric is made on the way::

    sudo mn --custom topologies/parallel.py --topo parallel,2,rate=8mbit,delay=50ms
"""

import atexit
import itertools
import os
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link
from mininet.log import info

from topologies.fabric import Fabric
from topologies.link import Link as LinkPlan
from topologies.link import QueueMode, resolve_link
from topologies.middle import NetemMiddle, RelayMiddle, has_netem
from topologies.units import parse_delay_ms, parse_queue, parse_rate, parse_share

RELAY = Path(__file__).resolve().parent.parent / ".build" / "bin" / "ncp-link"


class EmulatedLink(Link):
    """Two veth pairs that meet in the fabric; see docs/contracts.md for names and addresses.

    ``plan`` and ``fabric`` come from the runner, which connects all links at once and starts their middle. Without them
    ``rate`` (default ``1024pps``), ``delay`` (``50ms``), ``loss``, ``queue`` and ``queue_mode`` are read as in a
    scenario, and the link starts a middle of its own: netem where the kernel has it, else the relay. ``index``
    tells the link's addresses and interfaces (docs/contracts.md); without it links are numbered as they are made.
    """

    def __init__(
        self,
        node1: Any,
        node2: Any,
        *,
        plan: LinkPlan | None = None,
        fabric: Fabric | None = None,
        rate: str = "1024pps",
        delay: str = "50ms",
        loss: str | float = 0.0,
        queue: str = "1x bdp",
        queue_mode: QueueMode = "backpressure",
        index: int | None = None,
        name: str | None = None,
        port1: int | None = None,
        port2: int | None = None,
        **_mininet: Any,
    ) -> None:
        self._interactive = _interactive() if plan is None else None
        if self._interactive is not None:
            number = next(self._interactive.indices) if index is None else index
            plan = resolve_link(
                number,
                name or f"link{number}",
                node1.name,
                node2.name,
                parse_rate(rate),
                delay_ms=parse_delay_ms(delay),
                loss=parse_share(loss),
                queue=parse_queue(queue),
                queue_mode=queue_mode,
            )
            fabric = self._interactive.fabric
        assert plan is not None
        assert fabric is not None
        self.plan, self.fabric = plan, fabric
        fabric.add(plan, node1.pid, node2.pid)
        if self._interactive is not None:
            fabric.connect()
        super().__init__(
            node1,
            node2,
            port1=plan["index"] if port1 is None else port1,
            port2=plan["index"] if port2 is None else port2,
            intfName1=plan["a"]["interface"],
            intfName2=plan["b"]["interface"],
            intf=Intf,
            fast=True,
            up=None,  # by the fabric
        )
        if self._interactive is not None:
            self._interactive.start_middle(plan)

    def makeIntfPair(self, *_names: Any, **_nodes: Any) -> None:  # noqa: N802
        """Mininet's hook for making the interfaces, which the fabric makes, a run's all at once."""

    def delete(self) -> None:
        """The namespaces take the interfaces with them."""
        if self._interactive is not None:
            self._interactive.close()


class _Interactive:
    """The fabric of one ``mn`` session, made with its first link and deleted when Mininet stops."""

    def __init__(self) -> None:
        self.fabric = Fabric(f"ncp-mn{os.getpid()}")
        self.fabric.create()
        self.parts = ExitStack()
        self.parts.callback(self.fabric.delete)
        self.indices = itertools.count(1)
        if not has_netem():
            info("(no netem in this kernel: delay by ncp-link relay) ")
        atexit.register(self.close)

    def start_middle(self, link: LinkPlan) -> None:
        middle = NetemMiddle(self.fabric) if has_netem() else RelayMiddle(self.fabric, RELAY)
        self.parts.callback(middle.stop)
        middle.start([link])

    def close(self) -> None:
        self.parts.close()
        _interactive.cache_clear()


_interactive = cache(_Interactive)
"""The session's one, until it is closed."""
