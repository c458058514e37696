"""Changes the rate at a host's egress within a millisecond, by netlink: a ``tc`` process takes several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyroute2 import NetNS

from topologies import shaper
from topologies.link import Link, LinkEnd, burst_bytes_at, shaped_at_hosts


class HostRates:
    """Open handles on the hosts' namespaces (path by host name), for the length of a run; ends of links at other hosts
    are left alone."""

    def __init__(self, namespaces: Mapping[str, str], links: Sequence[Link]) -> None:
        self._handles = {host: NetNS(path) for host, path in namespaces.items()}
        shaped = [
            (link, end)
            for link in links
            if shaped_at_hosts(link)
            for end in (link["a"], link["b"])
            if end["host"] in namespaces
        ]
        self._indices = {
            end["interface"]: self._handles[end["host"]].link_lookup(ifname=end["interface"])[0] for _, end in shaped
        }
        # The first request of its kind takes tens of milliseconds, so it is made before the transfer.
        for link, end in shaped:
            self.set(link, end, link["rate_bps"])

    def set(self, link: Link, end: LinkEnd, rate_bps: float) -> None:
        """Change the rate of one end's shaper in place, keeping what is queued and what it has left to send; nothing
        where it is at another host."""
        if end["host"] not in self._handles:
            return
        options = shaper.rate_class(rate_bps, burst_bytes_at(link, rate_bps), link["frame_bytes"])
        self._handles[end["host"]].tc(
            "change-class",
            "htb",
            index=self._indices[end["interface"]],
            handle=shaper.CLASS_HANDLE,
            parent=shaper.ROOT_HANDLE,
            rate=options["rate"],
            ceil=options["ceil"],
            burst=int(options["burst"]),
            cburst=int(options["cburst"]),
            quantum=int(options["quantum"]),
        )

    def close(self) -> None:
        """Give the handles back."""
        for handle in self._handles.values():
            handle.close()
        self._handles.clear()
