"""Locks between processes: the machine's, of one run at a time, and those of what several checkouts share."""

import fcntl
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from testbed import paths
from testbed.errors import CannotRun

BUSY_CODES = ("run.machine-busy", "run.machine-still-busy")
"""The codes of the errors of a run that finds another one on."""
WAIT_FOR_OTHERS_S = 900.0
SAY_AFTER_S, SAY_AGAIN_S = 3.0, 30.0
"""Seconds of waiting until the user is informed, and between two such lines."""


@contextmanager
def held(path: Path, what: str, say: Callable[[str], object] | None = None) -> Iterator[None]:
    """Hold a file's lock. While another process has it, ``say`` now and then (by default on stderr) who makes ``what``
    is waited for."""
    with path.open("a") as lock:
        begun_s, next_s = time.monotonic(), SAY_AFTER_S
        while not try_take(lock):
            if (waited_s := time.monotonic() - begun_s) >= next_s:
                text = f"  waiting for {what}, {waited_s:.0f} s so far: {_process_of(lock)} has the lock {path}"
                (say or (lambda text: print(text, file=sys.stderr, flush=True)))(text)
                next_s = waited_s + SAY_AGAIN_S
            time.sleep(0.1)
        yield


def try_take(lock: IO[str]) -> bool:
    """Hold the lock till its file is closed, unless another process has it; whether it is held."""
    with suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _process_of(lock: IO[str]) -> str:
    """The process that holds a file's lock: its command, pid and start."""
    import psutil  # few wait

    inode = os.fstat(lock.fileno()).st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        _, kind, _, _, pid, file, *_ = line.split()  # of one that waits, the second is an arrow
        if kind == "FLOCK" and file.endswith(f":{inode}"):
            with suppress(psutil.Error):
                process = psutil.Process(int(pid))
                since = time.strftime("%H:%M:%S", time.localtime(process.create_time()))
                return f"{shlex.join(process.cmdline()):.200} (pid {pid}, since {since})"
    return "another process"


def take(lock: IO[str]) -> None:
    """Hold the lock till its file is closed; raises :class:`CannotRun` while another run holds it."""
    if not try_take(lock):
        raise CannotRun(
            "run.machine-busy",
            f"{_holder(lock)} is running; two runs at once would disturb each other's links",
            "Wait for it, or stop it with Ctrl-C.",
        )


def _holder(lock: IO[str]) -> str:
    lock.seek(0)
    return f"{lock.read().strip() or 'another run'}: {_process_of(lock)}"


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
            raise CannotRun(
                "run.machine-still-busy", f"{name} is still running after {WAIT_FOR_OTHERS_S / 60:.0f} minutes"
            )
        tell(name)
        time.sleep(2)
