"""Two of three paths share a link: an ordinary Mininet topology, for scenarios/shared-edge.yaml.

Also for Mininet's own command line, from the checkout::

    sudo env PYTHONPATH=$PWD mn --custom scenarios/shared_edge.py --topo sharededge,rate=8mbit,delay=10ms
"""

from typing import Any

from mininet.topo import Topo

from topologies.custom import route
from topologies.emulated_link import EmulatedLink


class SharedEdge(Topo):
    """``h1`` and ``h2``, the relay ``r1`` between them, and ``r2`` – ``r3`` with two links at either side."""

    def build(self, **every_link: Any) -> None:
        """Called by Mininet's constructor. A scenario says itself what each link does; ``every_link`` has options
        of the emulated links for ``mn``."""
        for node in ("h1", "h2", "r1", "r2", "r3"):
            self.addHost(node)
        # Mininet's own name of a link is its key; the scenario's links have the same names.
        for key, a, b in (
            ("alone-1", "h1", "r1"),
            ("alone-2", "r1", "h2"),
            ("left-1", "h1", "r2"),
            ("left-2", "h1", "r2"),
            ("shared", "r2", "r3"),
            ("right-1", "r3", "h2"),
            ("right-2", "r3", "h2"),
        ):
            self.addLink(a, b, key=key, cls=EmulatedLink, **every_link)
        # For mn, so that pings find their way; a scenario has its own paths.
        route(
            self,
            ("h1", "alone-1", "alone-2"),
            ("h1", "left-1", "shared", "right-1"),
            ("h1", "left-2", "shared", "right-2"),
        )


topos = {"sharededge": SharedEdge}
