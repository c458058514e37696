"""The packages that only clusters need, on the machine that submits."""

from __future__ import annotations

import importlib
import os

from testbed.doctor.machine import pinned
from testbed.doctor.provisioning import Progress, setup
from testbed.errors import CannotRun

LOCK = "requirements-cluster.lock"


def make_ready(progress: Progress) -> None:
    """Install what requirements-cluster.lock pins, if it isn't; raises :class:`CannotRun` where it may not."""
    probed = pinned(LOCK)()
    if probed.ok:
        return
    if os.environ.get("NCP_TESTBED_NO_SETUP") == "1":
        raise CannotRun(
            f"clusters need the packages of {LOCK}: {probed.detail}", "Without --no-setup they are installed."
        )
    setup(progress, ["cluster"])
    importlib.invalidate_caches()
