"""Programs of this machine that run at a host of another one: their files go there with the helper."""

import contextlib
import re
import shutil
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path

from testbed.errors import CannotRun, RunFailed
from testbed.remote.machine import Machine

LOOK_S = 0.5
"""The interval of requests for new output."""
_LIBRARY = re.compile(r"(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)


def files_of(name: str) -> dict[str, bytes]:
    """A program and the libraries that it is linked with, by their paths below the root."""
    path = shutil.which(name)
    if path is None:
        raise CannotRun("program.not-installed", f"{name} is not installed here, from where it goes to the machines")
    said = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    return {file.lstrip("/"): Path(file).read_bytes() for file in (path, *_LIBRARY.findall(said))}


class RemoteProgram:
    """A program that was started at a time (Unix nanoseconds of this machine), or at once if that has passed."""

    def __init__(
        self, machine: Machine, host: str, name: str, command: Sequence[str], at_unix_ns: int, log: Path
    ) -> None:
        """``log`` gets its stderr, at its end."""
        self._machine, self._name, self._log = machine, name, log
        self._over = threading.Event()
        path = shutil.which(command[0]) or command[0]
        where = {"name": name, "host": host, "at_unix_ns": at_unix_ns + machine.ahead_ns}
        try:
            machine.ask("POST", f"/program?{urllib.parse.urlencode(where)}", [path, *command[1:]])
        except OSError as error:
            raise RunFailed(
                "program.does-not-answer", f"{name} on {machine.name}: it does not answer: {error}"
            ) from error

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that it prints, to its end, each with its time on this machine's clock."""
        start, rest, last = 0, b"", False
        while True:
            more = self._read(start)
            start += len(more)
            *whole, rest = (rest + more).split(b"\n")
            for line in whole:
                stamp, blank, text = line.decode(errors="replace").partition(" ")
                if blank and stamp.isdigit():  # a full disk cuts off
                    yield int(stamp) - self._machine.ahead_ns, text + "\n"
            if more:
                continue
            if last or self._over.is_set():
                with contextlib.suppress(OSError, RunFailed), self._log.open("ab") as log:
                    log.write(self._machine.read_all(f"programs/{self._name}.err"))
                return
            last = self.has_ended()  # then there is no more than a last look finds
            if not last:
                self._over.wait(LOOK_S)

    def _read(self, start: int) -> bytes:
        try:
            return self._machine.read(f"programs/{self._name}.out", start)
        except (OSError, RunFailed):
            return b""  # the run ends where its machine is gone

    def has_ended(self) -> bool:
        """Whether it runs no longer; False where nobody knows."""
        try:
            return bool(self._ask("GET", "/program")["ended"])
        except OSError:
            return False
        except RunFailed:  # there is none of that name
            return True

    def end(self) -> None:
        """End it, if its machine can be reached; the machine's tear-down ends it otherwise."""
        try:
            if not self.has_ended():
                self._ask("POST", "/program/end")
        except (OSError, RunFailed):
            self._over.set()

    def keep(self, file: Path) -> None:
        """Leave its output in a file of this machine."""
        with file.open("w") as kept:
            kept.writelines(line for _, line in self.lines())

    def _ask(self, method: str, path: str) -> dict[str, object]:
        answer: dict[str, object] = self._machine.ask(method, f"{path}?{urllib.parse.urlencode({'name': self._name})}")
        return answer
