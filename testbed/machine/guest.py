"""Probes of the kernels that a guest may have."""

from __future__ import annotations

import os

from testbed.machine import guest_kernel as kernel
from testbed.machine.finding import Probed


def any_kernel() -> Probed:
    """Whether there is a kernel for a guest, or what it takes to build one."""
    lacking = kernel.why_not_buildable()
    if kernel.built() or kernel.stock() or not lacking:
        return Probed(True, "there, or can be built")
    return Probed(False, f"none, and none can be built. {lacking}", by_hand=os.uname().machine != "x86_64")


def for_tests() -> Probed:
    """Whether tests have the kernel with virtual time, or could have no more than this machine's distribution has."""
    if kernel.built():
        return Probed(True, "built")
    lacking = kernel.why_not_buildable()
    if lacking and not kernel.source_is_packaged():
        return Probed(True, "not to be had here, tests that need it are skipped")
    return Probed(not lacking, lacking or "can be built")


def virtual_time() -> Probed:
    """The kernel with virtual time: built, ready to be built, or what stands in for it."""
    if program := kernel.built():
        return Probed(True, f"built: {program}")
    if not (lacking := kernel.why_not_buildable()):
        return Probed(False, "not built yet: --engine vkernel or doctor --build does it, once, in some minutes")
    instead = "Debian's user-mode-linux in real time instead" if kernel.stock() else "and no user-mode-linux"
    return Probed(False, f"can't be built, {instead}. {lacking}")
