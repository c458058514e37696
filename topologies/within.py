"""Runs functions in network namespaces."""

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TypeVar

CLONE_NEWNET = 0x40000000

Found = TypeVar("Found")


def within(path: str, function: Callable[[], Found]) -> Found:
    """Call a function in the network namespace at ``path``; returns or raises its result. Processes that it starts and
    sockets that it makes are there, too. Raises :class:`OSError` if the namespace can't be entered."""
    found: list[Found] = []
    failed: list[BaseException] = []

    def enter_and_call() -> None:
        try:
            _enter(path)
            found.append(function())
        except BaseException as error:  # raised by the caller's thread
            failed.append(error)

    # A thread of its own enters, and ends with it.
    thread = threading.Thread(target=enter_and_call, name=f"in {path}")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def _enter(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, f"enter network namespace: {os.strerror(number)}", path)
    finally:
        os.close(descriptor)
