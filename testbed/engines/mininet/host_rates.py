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
        self._indices: dict[str, int] = {}
        for link in filter(shaped_at_hosts, links):
            for end in (link["a"], link["b"]):
                if handle := self._handles.get(end["host"]):
                    self._indices[end["interface"]] = handle.link_lookup(ifname=end["interface"])[0]
                    # The first request of its kind takes tens of milliseconds, so it is made before the transfer.
                    self.set(link, end, link["rate_bps"])

    def set(self, link: Link, end: LinkEnd, rate_bps: float) -> None:
        """Change the rate of one end's shaper in place, keeping its queue and its tokens; nothing for an end at another
        host."""
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
            **{name: int(options[name]) for name in ("burst", "cburst", "quantum")},
        )

    def close(self) -> None:
        """Close the handles."""
        for handle in self._handles.values():
            handle.close()
        self._handles.clear()
