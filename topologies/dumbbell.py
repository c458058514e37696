"""Senders and receivers on either side of one shared bottleneck.

Also for Mininet's own command line::

    sudo mn --custom topologies/dumbbell.py --topo dumbbell,2,rate=8mbit,delay=50ms
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from mininet.topo import Topo

# `mn --custom` executes this file without a __file__ and outside its package.
_CHECKOUT = Path(inspect.getfile(inspect.currentframe())).resolve().parent.parent  # type: ignore[arg-type]
if str(_CHECKOUT) not in sys.path:
    sys.path.insert(0, str(_CHECKOUT))

from topologies.planned import add_layout  # noqa: E402
from topologies.shapes.dumbbell import dumbbell  # noqa: E402


class Dumbbell(Topo):
    """``a1`` to ``aN`` by ``r1`` and ``r2`` to ``b1`` to ``bN``; a full queue between the routers drops."""

    def build(
        self, pairs: int = 2, *, access_rate: str = "100mbit", access_delay: str = "1ms", **bottleneck: Any
    ) -> None:
        """Called by Mininet's constructor; ``bottleneck`` has options of that emulated link (``rate``, ``delay``,
        ``loss``, ``queue``)."""
        layout = dumbbell("bottleneck", pairs)
        access = {"rate": access_rate, "delay": access_delay}
        options: dict[str, dict[str, Any]] = {edge.name: access for edge in layout.edges}
        options["bottleneck"] = {"queue_mode": "droptail", **bottleneck}
        add_layout(self, layout, options)


topos = {"dumbbell": Dumbbell}
