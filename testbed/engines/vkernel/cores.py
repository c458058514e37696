"""One guest per core: on one core its system calls cost half of what they do on two, and none disturbs another."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import psutil

LOOK_S = 0.2


@contextlib.contextmanager
def own_core(told: Callable[[str], None]) -> Iterator[int]:
    """A core that this process may use and that has no guest of this user, the idlest of them; waits for one, of
    which ``told`` is told."""
    waited = False
    while (found := _free_core()) is None:
        if not waited:
            told("  waiting for a core: each has a guest")
            waited = True
        time.sleep(LOOK_S)
    core, lock = found
    with lock:
        yield core


def _free_core() -> tuple[int, TextIO] | None:
    """The core, and what holds it until it is closed."""
    idle = psutil.cpu_times_percent(interval=LOOK_S, percpu=True)
    allowed = sorted(os.sched_getaffinity(0), key=lambda core: -idle[core].idle if core < len(idle) else 0.0)
    for core in allowed:
        lock = (Path(tempfile.gettempdir()) / f"ncp-guest-{os.getuid()}-core-{core}.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return core, lock
    return None
