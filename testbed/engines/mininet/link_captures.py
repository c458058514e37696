"""Captures links of a run at both ends, as its plan requests (``traces.pcap``)."""

from __future__ import annotations

import time
from collections.abc import Mapping

from testbed.runtime.packets import SETTLE_S, Capture
from testbed.runtime.site import Site


class LinkCaptures:
    """A file for each end of each link: ``traces/<link>-<host>.pcap``. In a host's own namespace a frame that it sends
    is seen as it leaves the queue there, and one that it gets as it arrives."""

    def __init__(self, site: Site, namespaces: Mapping[str, str]) -> None:
        """Start them all; raises :class:`RunFailed` where one does not start."""
        folder = site.folder / "traces"
        folder.mkdir(exist_ok=True)
        self._captures = {
            (name := f"{link['name']}-{end['host']}"): Capture(
                name,
                namespaces[end["host"]],
                folder / f"{name}.pcap",
                site.logs / f"capture-{name}.log",
                interface=end["interface"],
                expression="",
            )
            for link in site.plan["links"]
            if link["name"] in site.plan["traces"]["pcap"]
            for end in (link["a"], link["b"])
        }
        for capture in self._captures.values():
            capture.await_ready()

    def end(self) -> dict[str, int]:
        """Wait until the last frames are in the files, and end; returns the frames that each capture missed."""
        time.sleep(SETTLE_S)
        self.stop()
        return {name: capture.lost() for name, capture in self._captures.items()}

    def stop(self) -> None:
        """End them at once; safe to repeat."""
        for capture in self._captures.values():
            capture.stop()
