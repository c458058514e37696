"""The parts of a run: threads that accompany it, watched to the transfer's end, and ended together."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from typing_extensions import Self

from testbed.errors import RunFailed, Untrusted
from testbed.message import Message
from testbed.runtime.progress import Step

LIMIT_S = 6.0
"""The time that parts may take to end by themselves: an agent gives InfluxDB 4 s for its last points, the relay 5 s.
Their spools are files, so one that is killed then loses no sample."""
LOOK_S = 0.02
AHEAD_REMOTE_S = 0.5
"""The lead with which something is requested that may be on another machine, several round trips away, and that keeps
its time itself."""
Failure = Callable[[], Message | None]
"""Gives the failure of a part that the transfer depends on (link emulator, gateway), or None."""

log = logging.getLogger(__name__)


class Background(threading.Thread):
    """A thread that works until it is stopped, and reports its failure."""

    longest_stop_s: float | None = None
    """The time that :meth:`stop` waits; None: until the thread has ended."""

    def __init__(self, name: str, started_unix_ns: Callable[[], int | None] = lambda: None) -> None:
        """``started_unix_ns`` gives the transfer's start, once it has begun."""
        super().__init__(name=name, daemon=True)
        self._started_unix_ns = started_unix_ns
        self._stopped = threading.Event()
        self._error: Message | None = None

    def failure(self) -> Message | None:
        """The reason that it failed, or None."""
        return self._error

    def stop(self) -> None:
        """End, and wait for that."""
        self._stopped.set()
        if self.is_alive():
            self.join(self.longest_stop_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _await_start(self) -> int | None:
        """Wait for the transfer's start; None where it was stopped before."""
        while not self._stopped.wait(LOOK_S):
            if (start_ns := self._started_unix_ns()) is not None:
                return start_ns
        return None


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


def needed(*failures: Failure) -> Failure:
    """The failure of parts that give evidence, which raises :class:`Untrusted`."""

    def failure() -> None:
        for said in filter(None, (each() for each in failures)):
            raise Untrusted.of(said, "What it would have told is missing, so nothing is proven. Run again.")

    return failure


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
