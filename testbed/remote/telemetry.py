"""Telemetry that is sampled on another machine, fetched as it grows and put on this machine's clock."""

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from testbed.errors import RunFailed
from testbed.message import Message
from testbed.remote.machine import Machine
from testbed.runtime.parts import Background

EVERY_S = 0.5
GIVEN_UP_S = 10.0
"""A machine that has not answered for so long will not."""


class FetchedTelemetry(Background):
    """Appends the new whole lines of files in the run's folder of a machine to files here (``files``: remote name →
    local path). Lines that were fetched are kept, whatever becomes of the machine."""

    def __init__(self, machine: Machine, files: Mapping[str, Path]) -> None:
        super().__init__(f"telemetry of {machine.name}")
        self.machine, self._files = machine, files
        self._read = dict.fromkeys(files, 0)
        self._answered_s = time.monotonic()

    def run(self) -> None:
        """Follow until stopped."""
        while not self._stopped.wait(EVERY_S):
            self._look()

    def stop(self) -> None:
        """Fetch the rest, and end; raises :class:`RunFailed` where that fails."""
        super().stop()
        while self._error is None and not self._look():
            time.sleep(EVERY_S)
        if self._error:
            raise RunFailed.of(self._error)

    def stop_quietly(self) -> None:
        """Fetch the rest as far as it comes, and end."""
        if self.is_alive():
            with suppress(RunFailed):  # lines that were fetched are kept
                self.stop()

    def _look(self) -> bool:
        """Fetch new lines; whether the machine answered."""
        try:
            for name, local in self._files.items():
                self._fetch(name, local)
        except OSError as error:
            for_s, name = time.monotonic() - self._answered_s, self.machine.name
            if for_s > GIVEN_UP_S or self.machine.failure():
                self._error = Message("host.silent", f"{name} has not answered for {for_s:.0f} s: {error}")
            return False
        except RunFailed as error:
            self._error = error.said
            return False
        self._answered_s = time.monotonic()
        return True

    def _fetch(self, name: str, local: Path) -> None:
        while True:
            more = self.machine.read(name, self._read[name])
            whole = more[: more.rfind(b"\n") + 1]
            if not whole:
                return
            with local.open("ab") as file:
                file.write(shifted(whole, -self.machine.ahead_ns))
            self._read[name] += len(whole)


def shifted(lines: bytes, by_ns: int) -> bytes:
    """Lines of InfluxDB's protocol with later timestamps."""
    if not by_ns:
        return lines
    moved = []
    for line in lines.splitlines():
        point, _, stamp = line.rpartition(b" ")
        moved.append(b"%s %d\n" % (point, int(stamp) + by_ns) if stamp.isdigit() else line + b"\n")
    return b"".join(moved)
