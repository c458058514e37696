"""Captures links of a run at both ends, as its plan asks (``traces.pcap``)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from testbed.plan.model import Plan
from testbed.runtime.packets import SETTLE_S, Capture


class LinkCaptures:
    """One file for each end of each link: ``traces/<link>-<host>.pcap``. In a host's own namespace a frame that it
    sends is seen as it leaves the queue there, and one that it gets as it arrives."""

    def __init__(self, plan: Plan, namespaces: Mapping[str, str], folder: Path, logs: Path) -> None:
        self._plan, self._namespaces, self._folder, self._logs = plan, namespaces, folder / "traces", logs
        self._captures: dict[str, Capture] = {}

    def start(self) -> None:
        """Begin them all; raises :class:`RunFailed` where one does not begin."""
        self._folder.mkdir(exist_ok=True)
        wanted = self._plan["traces"]["pcap"]
        for link in self._plan["links"]:
            for end in (link["a"], link["b"]) if link["name"] in wanted else ():
                name = f"{link['name']}-{end['host']}"
                self._captures[name] = Capture(
                    name,
                    self._namespaces[end["host"]],
                    self._folder / f"{name}.pcap",
                    self._logs / f"capture-{name}.log",
                    interface=end["interface"],
                    expression="",
                )
        for capture in self._captures.values():
            capture.await_ready()

    def end(self) -> None:
        """What has come is in the files."""
        time.sleep(SETTLE_S)
        self.stop()

    def stop(self) -> None:
        """End them at once; safe to repeat."""
        for capture in self._captures.values():
            capture.stop()

    def lost(self) -> dict[str, int]:
        """Frames that each end missed, once they have ended."""
        return {name: capture.lost() for name, capture in self._captures.items()}
