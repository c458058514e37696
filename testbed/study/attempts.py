"""Once more, for what could not be trusted, and later, where another run has the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from testbed.engines import Engine
from testbed.errors import CannotRun
from testbed.runtime import lock

MOST = 3
"""How often a run is made before it stays untrusted."""

Found = TypeVar("Found")


def attempts_of(engine: Engine) -> int:
    """How often a run is worth making: what is the same every time is made once."""
    return 1 if engine.exact() else MOST


def until_trusted(attempt: Callable[[], Found], untrusted: Callable[[Found], bool], most: int) -> Found:
    """What the first attempt found that is not untrusted, else the last one; there is at least one."""
    found = attempt()
    for _ in range(most - 1):
        if not untrusted(found):
            break
        found = attempt()
    return found


def when_free(attempt: Callable[[], Found], told: Callable[[str], object]) -> Found:
    """What an attempt found once no other run had the machine; ``told`` gets the name of the one that is waited for."""
    while True:
        try:
            return attempt()
        except CannotRun as error:
            if error.code not in lock.BUSY_CODES:
                raise
        lock.wait_for_others(told)
