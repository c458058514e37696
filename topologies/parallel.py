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

from topologies.emulated_link import EmulatedLink  # noqa: E402


class Parallel(Topo):
    """``h1`` and ``h2`` with N parallel emulated links, which carry the addresses."""

    def build(
        self,
        links: int = 2,
        *,
        link_options: list[dict[str, Any]] | None = None,
        host_options: dict[str, dict[str, Any]] | None = None,
        **every_link: Any,
    ) -> None:
        """Called by Mininet's constructor.

        ``every_link`` holds options of :class:`~topologies.emulated_link.EmulatedLink` that all links share
        (``rate``, ``delay``, ``loss``, ``queue``); ``link_options`` has further ones, a dict per link, and then
        tells their number; ``host_options`` has options of each host by its name.
        """
        per_link = link_options if link_options is not None else [{}] * links
        for name in ("h1", "h2"):
            self.addHost(name, ip=None, **(host_options or {}).get(name, {}))
        for number, options in enumerate(per_link, start=1):
            self.addLink("h1", "h2", number, number, cls=EmulatedLink, **every_link, **options)


topos = {"parallel": Parallel}
