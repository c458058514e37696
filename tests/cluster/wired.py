"""A cluster of processes on this machine, each with an address, a cable and a disk of its own: cables can be taken out,
disks can be full.

Parts are in network namespaces at a switch, to which this machine, where studies are begun, has a cable, too. A disk is
a small file system in memory with all that a worker writes.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.cluster.loopback import Loopback
from tests.cluster.machines import do, free_network, join
from tests.ports import held_port

DISK_BYTES = 3 << 30
"""Of memory it takes what is written, and a run wants to see 2 GiB free."""
SUBMITTER = "here"
"""This machine's cable."""
SCHEDULER = "scheduler"


class Wired(Loopback):
    """Its workers may be given any names that are short enough for an interface's."""

    def __init__(self, place: Path, port: int) -> None:
        super().__init__(place, port)
        self.switch, self.network = f"ncpt-{secrets.token_hex(2)}", free_network()
        self.address = f"{self.network}.253"
        self.parts: list[str] = []
        self.disks = Path(tempfile.mkdtemp(prefix="ncp-", dir="/var/tmp"))
        """Short enough for the names of sockets below it, which a test's own folder need not be."""
        self.further: dict[str, str] = {}
        """What else is set for parts."""

    def disk(self, name: str) -> Path:
        """A worker's."""
        return self.disks / name

    def apart(self, name: str) -> tuple[list[str], dict[str, str]]:
        """A part that is started again is where it was."""
        if name not in self.parts:
            self._plug_in(name)
        disk = self.disk(name)
        folders = {key: str(disk / key) for key in ("TMPDIR", "NCP_TESTBED_STATE", "NCP_TESTBED_RUN")}
        for folder in folders.values():
            Path(folder).mkdir(exist_ok=True)
        return ["ip", "netns", "exec", f"{self.switch}-{name}"], {**folders, **self.further}

    def unplug(self, name: str, *, out: bool = True) -> None:
        """Take a part's cable out, or put it in again."""
        do("ip", "-n", self.switch, "link", "set", name, "down" if out else "up")

    def fill(self, name: str) -> None:
        """Leave no byte free on a worker's disk."""
        (self.disk(name) / "filling").write_text("x")  # a size of 0 is no limit
        disk = os.statvfs(self.disk(name))
        self._size(name, (disk.f_blocks - disk.f_bfree) * disk.f_frsize)

    def make_room(self, name: str) -> None:
        """As it was before."""
        self._size(name, DISK_BYTES)

    def begun(self, name: str) -> list[Path]:
        """Folders of runs on a worker's disk."""
        return list(self.disk(name).glob("NCP_TESTBED_STATE/cluster/scratch/*/*/run-*"))

    def processes(self, name: str) -> list[str]:
        """Command lines of all that goes on in a part."""
        found = []
        for pid in _said("ip", "netns", "pids", f"{self.switch}-{name}").split():
            with suppress(OSError):
                found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    def left(self) -> list[str]:
        """Of runs, anywhere: folders, files, and command lines of processes."""
        found = []
        for name in self.parts:
            files = [*self.begun(name), *self.disk(name).glob("TMPDIR/ncp-*")]
            found += [*map(str, files), *self.processes(name)]
        return found

    def stop_all(self) -> None:
        """As services would be; disks are as they left them."""
        super().end()

    def end(self) -> None:
        """All, and the parts themselves."""
        super().end()
        for name in self.parts:
            subprocess.run(["umount", "--lazy", str(self.disk(name))], capture_output=True, check=False)
            subprocess.run(["ip", "netns", "delete", f"{self.switch}-{name}"], capture_output=True, check=False)
        subprocess.run(["ip", "link", "delete", self.switch], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "delete", self.switch], capture_output=True, check=False)
        shutil.rmtree(self.disks, ignore_errors=True)

    def _plug_in(self, name: str) -> None:
        if not self.parts:
            join(self.switch, f"{self.network}.254")
        space, number = f"{self.switch}-{name}", 253 if name == SCHEDULER else 1 + len(self.parts)
        self.parts.append(name)
        do("ip", "netns", "add", space)
        do("ip", "link", "add", name, "netns", self.switch, "type", "veth", "peer", "name", "eth0", "netns", space)
        do("ip", "-n", self.switch, "link", "set", name, "master", "switch", "up")
        do("ip", "-n", space, "link", "set", "lo", "up")
        do("ip", "-n", space, "address", "add", f"{self.network}.{number}/24", "dev", "eth0")
        do("ip", "-n", space, "link", "set", "eth0", "up")
        self.disk(name).mkdir()
        do("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(self.disk(name)))

    def _size(self, name: str, size_bytes: int) -> None:
        do("mount", "-o", f"remount,size={size_bytes}", str(self.disk(name)))


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@contextmanager
def wired(place: Path) -> Iterator[Wired]:
    """A whole one, with no workers yet."""
    place.mkdir(parents=True, exist_ok=True)
    with held_port() as port:
        cluster = Wired(place, port)
        try:
            cluster.start_scheduler()
            yield cluster
        finally:
            cluster.end()
