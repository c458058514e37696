"""Threads that accompany a run."""

from __future__ import annotations

import threading
from collections.abc import Callable

from testbed.message import Message


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

    def _await_start(self) -> int | None:
        """Wait for the transfer's start; None where it was stopped before."""
        while not self._stopped.wait(0.02):
            if (start_ns := self._started_unix_ns()) is not None:
                return start_ns
        return None
