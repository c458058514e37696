"""Hosts around one router.

Also for Mininet's own command line::

    sudo mn --custom topologies/star.py --topo star,3,rate=8mbit,delay=10ms
"""

from __future__ import annotations

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
from topologies.shapes.star import star  # noqa: E402


class Star(Topo):
    """``h1`` to ``hN``, each with a link to ``r1``; a full queue drops."""

    def build(self, hosts: int = 3, **every_link: Any) -> None:
        """Called by Mininet's constructor; ``every_link`` has options of the emulated links (``rate``, ``delay``,
        ``loss``, ``queue``)."""
        names = [f"h{number}" for number in range(1, hosts + 1)]
        layout = star([f"spoke{number}" for number in range(1, hosts + 1)], list(combinations(names, 2)))
        add_layout(self, layout, {edge.name: {"queue_mode": "droptail", **every_link} for edge in layout.edges})


topos = {"star": Star}
