"""Underlay paths between machines: measured before a run, and all through it, by the machine at one end."""

import subprocess
from pathlib import Path
from typing import Any

from testbed.errors import CannotRun
from testbed.judge.trust import underlay
from testbed.judge.trust.underlay import LEAST_SAMPLES, Sample
from testbed.message import Message
from testbed.plan.place import HERE, Way
from testbed.remote.machine import ECHO_PORT, VXLAN_PORT, Machine
from testbed.runtime.processes import Supervised
from topologies.commands import dies_with_us

BEFORE_PACKETS, BEFORE_INTERVAL_MS = 200, 10
DURING_INTERVAL_MS = 50
VXLAN_BYTES = 50
"""The bytes that a link's frame gains on the underlay: Ethernet, IPv4, UDP and VXLAN headers."""


class UnderlayPath:
    """One path to ``machine``, measured by ``origin``, or by this machine where that is None."""

    def __init__(self, origin: Machine | None, machine: Machine, program: Path, key: int, folder: Path) -> None:
        """``folder``: where the samples of the run go, or are brought."""
        self.origin, self.machine, self.program, self.key = origin, machine, program, key
        self.samples_file = folder / f"underlay-{'-'.join(filter(None, self.ends))}.jsonl"
        self._process: Supervised | None = None

    @property
    def ends(self) -> Way:
        """The machines at both ends."""
        return (self.origin.name if self.origin else HERE, self.machine.name)

    @property
    def file(self) -> str:
        """The file of samples that another machine writes, in the run's folder there."""
        return f"underlay-{self.machine.name}.jsonl"

    def before(self) -> list[Sample]:
        """Measure it for 2 s; raises :class:`CannotRun` where packets don't come back."""
        samples, said = self._packets(BEFORE_PACKETS, BEFORE_INTERVAL_MS)
        came = sum(not one.lost for one in samples)
        if came < LEAST_SAMPLES:
            raise CannotRun(
                "host.packets-lost",
                f"{self.machine.name}: {came} of {len(samples)} UDP "
                f"packets{f' from {self.origin.name}' if self.origin else ''} to {self.machine.address} came "
                f"back{f': {said}' if said else ''}",
                f"The UDP ports {VXLAN_PORT} and {ECHO_PORT} must be open between the machines.",
            )
        return samples

    def carries(self, mtu: int) -> bool:
        """Whether packets of so many bytes get there and back in one piece."""
        samples, _ = self._packets(5, 20, mtu)
        return any(not one.lost for one in samples)

    def _packets(self, number: int, interval_ms: int, mtu: int = 0) -> tuple[list[Sample], str]:
        """The samples, and the errors of the measuring program."""
        if self.origin:
            answer = self.origin.ask("POST", "/measure", {**self._request(interval_ms), "packets": number, "mtu": mtu})
            at = (self.machine.name, "before", self.origin.name, self.origin.ahead_ns)
            return [underlay.sample_of(one, *at) for one in answer], ""
        options = ("--packets", str(number), "--interval", f"{interval_ms}ms", "--mtu", str(mtu))
        done = subprocess.run(self._command(*options), capture_output=True, text=True, timeout=60, check=False)
        return underlay.samples_of(done.stdout, self.machine.name, "before"), done.stderr.strip()

    def _request(self, interval_ms: int) -> dict[str, Any]:
        return {"to": f"{self.machine.address}:{ECHO_PORT}", "key": self.key, "interval_ms": interval_ms}

    def _command(self, *options: str) -> list[str]:
        to = f"{self.machine.address}:{ECHO_PORT}"
        return dies_with_us([str(self.program), "measure", "--to", to, "--key", str(self.key), *options])

    def watch(self) -> None:
        """Measure it from now on."""
        if self.origin:  # which ends its measurements with all of its processes
            self.origin.ask("POST", "/watch", {**self._request(DURING_INTERVAL_MS), "file": self.file})
        else:
            command = self._command("--interval", f"{DURING_INTERVAL_MS}ms")
            self._process = Supervised(f"underlay to {self.machine.name}", command, self.samples_file)

    def failure(self) -> Message | None:
        """The end of the measurement that nobody ended, or None."""
        return self._process.failure() if self._process else None

    def stop(self) -> None:
        """End the measurement, if this machine measures."""
        if self._process:
            self._process.stop_if_it_runs()
        self._process = None

    def samples(self) -> list[Sample]:
        """All samples so far."""
        if not self.samples_file.exists():
            return []
        more = (self.origin.name, self.origin.ahead_ns) if self.origin else ()
        return underlay.samples_of(self.samples_file.read_text(), self.machine.name, "during", *more)
