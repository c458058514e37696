"""Ends a run's parts together: each drains its telemetry at its end, and one after the other they would take long."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Protocol

LIMIT_S = 6.0
"""The time that parts may take to end by themselves: an agent gives InfluxDB 4 s for its last points, the relay 5 s.
Their spools are files, so one that is killed then loses no sample."""
LOOK_S = 0.02

log = logging.getLogger(__name__)


class Ending(Protocol):
    """A part that runs by itself and ends on request."""

    def ask_to_end(self) -> None:
        """Tell it to end (SIGTERM), without waiting."""

    def has_ended(self) -> bool:
        """Whether it has ended."""

    def kill(self) -> None:
        """End it at once (SIGKILL)."""


def end_together(parts: Iterable[Ending], *, limit_s: float = LIMIT_S) -> None:
    """Ask all to end, wait until they have, and kill those that take longer than ``limit_s``.

    An error of one is logged: the others, and the parts that are torn down after them, still have to end.
    """
    waiting = list(parts)
    for part in waiting:
        _tried(part.ask_to_end)
    deadline = time.monotonic() + limit_s
    while waiting := [part for part in waiting if not _tried(part.has_ended, otherwise=True)]:
        if time.monotonic() > deadline:
            for part in waiting:
                log.warning("tear-down: %s did not end within %g s and is killed", part, limit_s)
                _tried(part.kill)
            return
        time.sleep(LOOK_S)


def _tried(step: Callable[[], bool | None], *, otherwise: bool | None = None) -> bool | None:
    try:
        return step()
    except Exception as error:  # the others must end as well
        log.warning("tear-down: %s", error)
        return otherwise
