"""Runs functions in network namespaces."""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

CLONE_NEWNET = 0x40000000

Found = TypeVar("Found")


def within(path: str, function: Callable[[], Found]) -> Found:
    """Call a function in the network namespace at ``path``; returns or raises its result. Processes that it starts and
    sockets that it makes are there, too. Raises :class:`OSError` if the namespace can't be entered."""

    def enter_and_call() -> Found:
        _enter(path)
        return function()

    # A thread of its own enters, and ends with it.
    with ThreadPoolExecutor(1, thread_name_prefix=f"in {path}") as thread:
        return thread.submit(enter_and_call).result()


def _enter(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, f"enter network namespace: {os.strerror(number)}", path)
    finally:
        os.close(descriptor)
