"""Captures at a host while a transfer is on, by tcpdump in the host's network namespace."""

import re
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from testbed.errors import Untrusted
from testbed.message import Message
from testbed.runtime.processes import Supervised
from testbed.runtime.site import Site

START_S = 10.0
SETTLE_S = 0.2
"""The time that the last frames may take to be written."""
BUFFER_KIB = 16384
FRAME_BYTES = 2048
"""Each frame takes that much of the buffer, however short: more than any has, as segmentation offload is off."""

_COUNTS = re.compile(r"^(\d+) packets? (captured|received by filter|dropped by kernel)$", re.MULTILINE)


class Capture(Supervised):
    """tcpdump on all of a host's interfaces, or one. The host's own namespace shows the frames that it really sends and
    receives, whichever link emulator it has; the process is root's, so that the peers can't touch it.

    ``frame_bytes`` of each frame are kept, of those that match ``expression``; with ``at_once`` each is in the file
    when it has passed. On all interfaces frames are "cooked" (LINUX_SLL2), on one they are the interface's own.
    """

    def __init__(
        self,
        parts: ExitStack,
        name: str,
        namespace: str,
        file: Path,
        log: Path,
        *,
        interface: str | None = None,
        frame_bytes: int = FRAME_BYTES,
        expression: str = "tcp",
        at_once: bool = False,
    ) -> None:
        """Start it; it ends with ``parts`` at the latest."""
        self.file = file
        where = ["-i", interface] if interface else ["-i", "any", "-y", "LINUX_SLL2"]
        command = ["tcpdump", *where, "-n", "--immediate-mode", *(["--packet-buffered"] if at_once else [])]
        command += ["-s", str(frame_bytes), "-B", str(BUFFER_KIB), "-Z", "root", "-w", str(file), expression]
        super().__init__(f"capture {name}", command, log, namespace=namespace)
        parts.callback(self.stop_if_it_runs)

    def await_frames(self) -> None:
        """Wait until frames are captured; raises :class:`RunFailed`."""
        self.await_ready(lambda: "listening on" in self.log.read_text(errors="replace"), START_S)

    def lost(self) -> int:
        """Frames that the kernel dropped before tcpdump, once it has ended; raises :class:`Untrusted` where it did
        not say."""
        return dropped(self.log.read_text(errors="replace"))


def dropped(said: str) -> int:
    """The frames that tcpdump never saw, by its output at its end."""
    counts = {name: int(number) for number, name in _COUNTS.findall(said)}
    if "dropped by kernel" not in counts:
        text = said.strip()[-300:]
        raise Untrusted("tcpdump.no-count", f"tcpdump did not say how many frames it missed: {text}")
    return counts["dropped by kernel"]


class Captures:
    """Several captures by their names, with the log of each."""

    def __init__(self, captures: Mapping[str, Capture]) -> None:
        """Wait until all are on; raises :class:`RunFailed` where one does not start."""
        self._captures = captures
        for capture in self._captures.values():
            capture.await_frames()

    def failure(self) -> Message | None:
        """The end of a capture that nobody ended, or None."""
        return next((said for capture in self._captures.values() if (said := capture.failure())), None)

    def end(self) -> dict[str, int]:
        """Wait until the last frames are in the files, and end; returns the frames that each capture missed."""
        if self._captures:
            time.sleep(SETTLE_S)
        for capture in self._captures.values():
            capture.stop_if_it_runs()
        return {name: capture.lost() for name, capture in self._captures.items()}


def captured_links(parts: ExitStack, site: Site, namespaces: Mapping[str, str]) -> Captures:
    """Capture links at both ends, as the plan requests (``traces.pcap``), until ``parts`` end at the latest:
    ``traces/<link>-<host>.pcap``. In a host's own namespace a frame that it sends is seen as it leaves the queue there,
    and one that it gets as it arrives."""
    folder = site.folder / "traces"
    folder.mkdir(exist_ok=True)
    return Captures(
        {
            (name := f"{link['name']}-{end['host']}"): Capture(
                parts,
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
    )
