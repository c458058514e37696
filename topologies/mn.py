"""The shapes of ``topologies/shapes/`` for Mininet's own command line::

sudo mn --custom topologies/mn.py --topo parallel,2,rate=8mbit,delay=50ms
"""

import inspect
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

from mininet.topo import Topo

# `mn --custom` executes this file without a __file__ and outside its package.
_CHECKOUT = Path(inspect.getfile(inspect.currentframe())).resolve().parent.parent  # type: ignore[arg-type]
if str(_CHECKOUT) not in sys.path:
    sys.path.insert(0, str(_CHECKOUT))

from topologies.planned import add_layout  # noqa: E402
from topologies.shapes.chain import chain  # noqa: E402
from topologies.shapes.dumbbell import dumbbell  # noqa: E402
from topologies.shapes.parallel import parallel  # noqa: E402
from topologies.shapes.relays import relays  # noqa: E402
from topologies.shapes.star import star  # noqa: E402
from topologies.units import parse_delay_ms  # noqa: E402


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}{number}" for number in range(1, count + 1)]


class Parallel(Topo):
    """``h1`` and ``h2`` with N parallel emulated links, which carry the addresses."""

    def build(self, links: int = 2, **every_link: Any) -> None:
        """Called by Mininet's constructor; ``every_link`` has options of the emulated links (``rate``, ``delay``,
        ``loss``, ``queue``)."""
        add_layout(self, parallel(_numbered("link", links)), every_link)


class Relays(Topo):
    """``h1`` and ``h2`` with N paths, path number i through ``r<i>``, as an overlay network makes them."""

    def build(self, paths: int = 2, *, delay: str = "50ms", loss: str | float = 0.0, **every_hop: Any) -> None:
        """``delay`` and ``loss`` are a whole path's, each way; ``every_hop`` has further options of the emulated links
        (``rate``, ``queue``)."""
        layout = relays(_numbered("path", paths))
        half = every_hop | {"delay": f"{parse_delay_ms(delay) / 2}ms"}
        add_layout(self, layout, half, {path.edges[0]: half | {"loss": loss} for path in layout.paths})


class Dumbbell(Topo):
    """``a1`` to ``aN`` by ``r1`` and ``r2`` to ``b1`` to ``bN``; a full queue between the routers drops."""

    def build(
        self, pairs: int = 2, *, access_rate: str = "100mbit", access_delay: str = "1ms", **bottleneck: Any
    ) -> None:
        """``bottleneck`` has options of that emulated link."""
        access = {"rate": access_rate, "delay": access_delay}
        between = {"bottleneck": {"queue_mode": "droptail", **bottleneck}}
        add_layout(self, dumbbell("bottleneck", pairs), access, between)


class Star(Topo):
    """``h1`` to ``hN``, each with a link to ``r1``; a full queue drops."""

    def build(self, hosts: int = 3, **every_link: Any) -> None:
        """``every_link`` has options of the emulated links."""
        layout = star(_numbered("spoke", hosts), list(combinations(_numbered("h", hosts), 2)))
        add_layout(self, layout, {"queue_mode": "droptail", **every_link})


class Chain(Topo):
    """``h1`` to ``hN`` in a row; none of them routes, so only neighbours reach each other."""

    def build(self, hosts: int = 3, **every_link: Any) -> None:
        """``every_link`` has options of the emulated links."""
        add_layout(self, chain(_numbered("hop", hosts - 1)), every_link)


topos = {"parallel": Parallel, "relays": Relays, "dumbbell": Dumbbell, "star": Star, "chain": Chain}
