"""Builds the guest kernel with virtual time from Debian's source, once per recipe, as any user."""

import os
import subprocess

from testbed.errors import RunFailed
from testbed.machine import guest_kernel as kernel
from testbed.machine.guest_kernel import Kernel
from testbed.runtime import lock
from testbed.runtime.progress import Progress


def ready_kernel(progress: Progress) -> Kernel:
    """The kernel to use. The one with virtual time is built if it can be and is not, unless with ``--no-setup``.
    Raises :class:`CannotRun` where there is none."""
    may_build = os.environ.get("NCP_TESTBED_NO_SETUP") != "1" and not kernel.why_not_buildable()
    if kernel.built() is None and may_build:
        build(progress)
    return kernel.chosen()


def build(progress: Progress) -> None:
    """Build it into the cache; raises :class:`RunFailed` with the log's place."""
    target = kernel.target()
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        lock.held(target.with_suffix(".lock"), "the guest kernel", progress.say),
        progress.step("guest kernel") as step,
    ):
        if target.exists():  # another checkout has built it meanwhile
            return
        progress.say("Building the guest kernel with virtual time (once; a few minutes of two cores)")
        process = subprocess.Popen(
            ["nice", "-n", "10", str(kernel.RECIPE / "build.sh"), str(kernel.SOURCE), str(target)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:  # "123 of 1234" files while it compiles
            progress.update(step, line.strip())
        said = process.stderr.read().strip()[-300:]
        if process.wait():
            log = target.with_suffix(".log")
            raise RunFailed("vkernel.build-failed", f"the guest kernel does not build: {said}", f"Its log: {log}")
        step.note = f"{target} ({target.stat().st_size / 2**20:.1f} MiB)"
