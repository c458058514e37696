"""Where things are: the checkout, what is built, results and the machine's own state."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
SCENARIOS = CHECKOUT / "scenarios"
BINARIES = CHECKOUT / ".build" / "bin"


def results() -> Path:
    """The folder of result folders; ``NCP_TESTBED_RESULTS`` moves it."""
    return Path(os.environ.get("NCP_TESTBED_RESULTS") or CHECKOUT / "results")


def live_runs() -> Path:
    """Lock, records of live runs and control sockets (lost at reboot, as the runs are)."""
    return Path(os.environ.get("NCP_TESTBED_RUN") or "/run/ncp-testbed")
