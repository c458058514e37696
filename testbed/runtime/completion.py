"""Watches a transfer of any kind to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from testbed.errors import RunFailed
from testbed.message import Message
from testbed.runtime.progress import Step

Failure = Callable[[], Message | None]
"""Gives the failure of a part that the transfer depends on (link emulator, gateway), or None."""


def watch_until(
    over: Callable[[], bool],
    step: Step,
    *,
    look: Callable[[], object],
    failures: Sequence[Failure],
    limit_s: float,
    too_long: Callable[[], Message],
    tell: Callable[[], object],
    every_s: float,
) -> None:
    """Look at intervals until the transfer is over.

    ``look`` does the due work and raises :class:`RunFailed` where an end has failed; ``tell`` reports progress. Raises
    :class:`RunFailed` for a part that failed, and with ``too_long()`` when the step has taken ``limit_s`` seconds.
    """
    while not over():
        look()
        for failure in failures:
            if said := failure():
                raise RunFailed.of(said)
        if step.elapsed_s > limit_s:
            raise RunFailed.of(too_long())
        tell()
        time.sleep(every_s)
