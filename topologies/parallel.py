"""N parallel links between two hosts, one per connection.

Also for Mininet's own command line (build the relay first: ``./run.sh doctor`` does)::

    mn --custom topologies/parallel.py --topo parallel,2 --link emulated,rate=8mbit,delay=50ms
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

from topologies.emulated_link import EmulatedLink  # noqa: E402


class Parallel(Topo):
    """``h1`` and ``h2`` with ``links`` parallel links.

    ``links`` is a number (``mn --topo parallel,2``) or a list of link options, one per link, as
    :class:`~topologies.emulated_link.EmulatedLink` takes them; ``hosts`` adds options per host.
    """

    def build(
        self, links: int | list[dict[str, Any]] = 2, hosts: dict[str, dict[str, Any]] | None = None, **_: Any
    ) -> None:
        """Called by Mininet's constructor."""
        options = [{} for _ in range(links)] if isinstance(links, int) else links
        for name in ("h1", "h2"):
            # The links carry the addresses; a host has none of its own.
            self.addHost(name, ip=None, **(hosts or {}).get(name, {}))
        for number, option in enumerate(options, start=1):
            self.addLink("h1", "h2", port1=number, port2=number, **option)


topos = {"parallel": Parallel}
links = {"emulated": EmulatedLink}
