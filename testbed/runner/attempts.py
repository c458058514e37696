"""Once more, for what could not be trusted: a busy machine, links that were off."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from testbed.vkernel import kernel

MOST = 3
"""How often a run is made before it stays untrusted."""

Found = TypeVar("Found")


def attempts_of(engine: str) -> int:
    """How often a run is worth making: what is the same every time is made once."""
    return 1 if kernel.is_exact(engine) else MOST


def until_trusted(attempt: Callable[[], Found], untrusted: Callable[[Found], bool], most: int) -> Found:
    """What the first attempt found that is not untrusted, else the last one; there is at least one."""
    found = attempt()
    for _ in range(most - 1):
        if not untrusted(found):
            break
        found = attempt()
    return found
