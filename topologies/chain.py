"""Hosts in a row, each linked with the next: for agents that pass packets on themselves.

Also for Mininet's own command line::

    sudo mn --custom topologies/chain.py --topo chain,3,rate=30mbit,delay=1ms
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
from topologies.shapes.chain import chain  # noqa: E402


class Chain(Topo):
    """``h1`` to ``hN`` in a row; none of them routes, so only neighbours reach each other."""

    def build(self, hosts: int = 3, **every_link: Any) -> None:
        """Called by Mininet's constructor; ``every_link`` has options of the emulated links (``rate``, ``delay``,
        ``loss``, ``queue``)."""
        layout = chain([f"hop{number}" for number in range(1, hosts)])
        add_layout(self, layout, {edge.name: every_link for edge in layout.edges})


topos = {"chain": Chain}
