"""Turns Ctrl-C and other requests to end into an error while a run works, and ignores them while it is taken down."""

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from testbed.errors import TestbedError
from testbed.exit_codes import Exit

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(TestbedError):
    """The user stopped the run."""

    exit_code = Exit.INTERRUPTED


def interruptible() -> AbstractContextManager[None]:
    """The signals raise :class:`Interrupted` in the main thread."""
    return _handled_by(_raise)


def uninterruptible() -> AbstractContextManager[None]:
    """Tearing down is not interrupted: a second Ctrl-C would leave namespaces and containers behind."""
    return _handled_by(signal.SIG_IGN)


def left_to_children() -> AbstractContextManager[None]:
    """The signals do nothing here, and what they usually do in a program that is started meanwhile."""
    return _handled_by(lambda _number, _frame: None)


@contextmanager
def _handled_by(handler: Any) -> Iterator[None]:
    # What nohup had ignored stays so.
    numbers = [n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _raise(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(
        "run.stopped",
        f"stopped by {signal.Signals(number).name}",
        "What was measured so far is kept; ./run.sh report draws it.",
    )
