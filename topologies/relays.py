"""N paths between two hosts, each through a node of its own, as an overlay network makes them.

Also for Mininet's own command line::

    sudo mn --custom topologies/relays.py --topo relays,2,rate=8mbit,delay=50ms
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
from topologies.shapes.relays import relays  # noqa: E402
from topologies.units import parse_delay_ms  # noqa: E402


class Relays(Topo):
    """``h1`` and ``h2`` with N paths, path number i through ``r<i>``."""

    def build(self, paths: int = 2, *, delay: str = "50ms", loss: str | float = 0.0, **every_hop: Any) -> None:
        """Called by Mininet's constructor.

        ``delay`` and ``loss`` are a whole path's, each way; ``every_hop`` has further options of the emulated
        links (``rate``, ``queue``).
        """
        layout = relays([f"path{number}" for number in range(1, paths + 1)])
        half = every_hop | {"delay": f"{parse_delay_ms(delay) / 2}ms"}
        options = {edge.name: half for edge in layout.edges}
        options |= {path.edges[0]: half | {"loss": loss} for path in layout.paths}
        add_layout(self, layout, options)


topos = {"relays": Relays}
