"""Errors that end a command with one clear message and a defined exit code."""

from __future__ import annotations

import errno
import os
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command line."""

    PASS = 0
    FAIL = 1
    BAD_INPUT = 2
    UNTRUSTED = 3
    CANNOT_RUN = 4


class TestbedError(Exception):
    """An error for the user: ``message`` is shown as it is, ``hint`` says what to do next."""

    code = Exit.FAIL
    __test__ = False  # not a test class, whatever pytest thinks of its name

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(TestbedError):
    """Something the user wrote is wrong: names file, field, value and what would be right."""

    code = Exit.BAD_INPUT


class CannotRun(TestbedError):
    """This machine can't run it, or not now."""

    code = Exit.CANNOT_RUN


class Unsupported(CannotRun):
    """What is asked needs something that this machine's kernel or programs lack; the message says what."""


class RunFailed(TestbedError):
    """A run broke down before it could be judged."""

    code = Exit.FAIL


_NO_ROOM_FOR_TEMPORARY = "No usable temporary directory found"
"""As Python's ``tempfile`` says of disks that are full, with the number of a file that does not exist."""
_OF_THE_MACHINE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)


def of_the_machine(error: BaseException) -> str:
    """What a full disk or a folder that can't be written says; "" for errors that are the program's own."""
    if not isinstance(error, OSError):
        return ""
    if error.errno not in _OF_THE_MACHINE and not f"{error.strerror}".startswith(_NO_ROOM_FOR_TEMPORARY):
        return ""
    return f"{error.filename}: {error.strerror}" if error.filename else f"{error.strerror}"


def says_of_the_machine(text: str) -> bool:
    """Whether a program says in the system's words that its disk is full, or a folder can't be written."""
    return any(os.strerror(number).lower() in text.lower() for number in _OF_THE_MACHINE)
