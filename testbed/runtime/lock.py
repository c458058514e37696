"""The machine's lock: one run at a time."""

import fcntl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from testbed import paths
from testbed.errors import CannotRun

BUSY_CODES = ("run.machine-busy", "run.machine-still-busy")
"""The codes of the errors of a run that finds another one on."""
WAIT_FOR_OTHERS_S = 900.0


def take(lock: IO[str]) -> None:
    """Hold the lock till its file is closed; raises :class:`CannotRun` while another run holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CannotRun(
            "run.machine-busy",
            f"{_holder(lock)} is running; two runs at once would disturb each other's links",
            "Wait for it, or stop it with Ctrl-C.",
        ) from None


def _holder(lock: IO[str]) -> str:
    lock.seek(0)
    return lock.read().strip() or "another run"


def holder() -> str | None:
    """The run that is on, as a text; None while there is none."""
    with suppress(FileNotFoundError), (paths.live_runs() / "lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _holder(lock)
    return None


def wait_for_others(tell: Callable[[str], object]) -> None:
    """Wait until no run is on, and ``tell`` which one is; raises :class:`CannotRun` after a quarter of an hour."""
    since_s = time.monotonic()
    time.sleep(2)
    while (name := holder()) is not None:
        if time.monotonic() - since_s > WAIT_FOR_OTHERS_S:
            minutes = WAIT_FOR_OTHERS_S / 60
            raise CannotRun("run.machine-still-busy", f"{name} is still running after {minutes:.0f} minutes")
        tell(name)
        time.sleep(2)
