"""Builds the guest kernel with virtual time from Debian's source, once per recipe, as any user."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

from testbed.errors import RunFailed
from testbed.machine import guest_kernel as kernel
from testbed.machine.guest_kernel import Kernel
from testbed.runtime.progress import Progress

COMPILED = re.compile(r"^(\d+) of (\d+)$")


def ready_kernel(progress: Progress) -> Kernel:
    """The kernel to use. The one with virtual time is built if it can be and is not; with ``--no-setup`` nothing
    is. Raises :class:`CannotRun` where there is none."""
    may_build = os.environ.get("NCP_TESTBED_NO_SETUP") != "1" and not kernel.why_not_buildable()
    if kernel.built() is None and may_build:
        build(progress)
    return kernel.chosen()


def build(progress: Progress) -> Path:
    """Build it into the cache; raises :class:`RunFailed` with the log's place."""
    target = kernel.target()
    target.parent.mkdir(parents=True, exist_ok=True)
    log = target.with_suffix(".log")
    progress.say("Building the guest kernel with virtual time (once; a few minutes of two cores)")
    with progress.step("guest kernel") as step:
        process = subprocess.Popen(
            ["nice", "-n", "10", str(kernel.RECIPE / "build.sh"), str(kernel.SOURCE), str(target)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        estimate = _Estimate()
        for line in process.stdout:
            progress.update(step, estimate.told(line.strip()))
        said = process.stderr.read().strip()
        if process.wait():
            raise RunFailed(
                "vkernel.build-failed",
                "the guest kernel does not build: {said}",
                "Its log: {log}",
                said=said[-300:],
                log=log,
            )
        step.note = f"{target} ({target.stat().st_size / 2**20:.1f} MiB)"
    return target


def main() -> None:
    """``python -m testbed.engines.vkernel.build``: for tests, where it can be built; they are skipped elsewhere."""
    if kernel.built() is None and (lacking := kernel.why_not_buildable()):
        print(f"not built: tests that need it are skipped. {lacking}")
        return
    ready_kernel(Progress())


class _Estimate:
    """What the build is at, with the time that is left once it compiles."""

    def __init__(self) -> None:
        self._since_s = 0.0

    def told(self, line: str) -> str:
        match = COMPILED.match(line)
        if not match:
            self._since_s = time.monotonic()
            return line
        done, every = int(match[1]), int(match[2])
        left_s = (time.monotonic() - self._since_s) * (every - done) / max(done, 1)
        return f"{done} of {every} files compiled, about {left_s / 60:.1f} min left"


if __name__ == "__main__":
    main()
