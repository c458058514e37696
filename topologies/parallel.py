"""N parallel links between two hosts, one per connection.

Also for Mininet's own command line::

    sudo mn --custom topologies/parallel.py --topo parallel,2,rate=8mbit,delay=50ms
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
from topologies.shapes.parallel import parallel  # noqa: E402


class Parallel(Topo):
    """``h1`` and ``h2`` with N parallel emulated links, which carry the addresses."""

    def build(self, links: int = 2, **every_link: Any) -> None:
        """Called by Mininet's constructor; ``every_link`` has options of the emulated links (``rate``, ``delay``,
        ``loss``, ``queue``)."""
        layout = parallel([f"link{number}" for number in range(1, links + 1)])
        add_layout(self, layout, {edge.name: every_link for edge in layout.edges})


topos = {"parallel": Parallel}
