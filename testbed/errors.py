"""Errors that end a command with one clear message and a defined exit code."""

import errno
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from testbed.exit_codes import Exit
from testbed.message import Message, unknown

Error = TypeVar("Error", bound="TestbedError")


CODE_FILE = "NCP_TESTBED_ERROR_CODE"
"""Environment variable of a program that starts a command: the file that is to get the code of the error, if one ends
the command. An exit code tells the kind of error alone."""


class TestbedError(Exception):
    """An error for the user: a message with its code, shown as it is, and a hint that says what to do next."""

    exit_code: int = Exit.FAIL
    __test__ = False  # not a test class, whatever pytest thinks of its name

    def __init__(self, code: str, text: str, hint: str = "", /, **details: Any) -> None:
        """``text`` and ``details`` are those of a :class:`Message`."""
        super().__init__(code)
        self.said = Message(code, text, **details)
        self.hint = hint

    @classmethod
    def of(cls: type[Error], said: Message, hint: str = "") -> Error:
        """The error that says a message which is there already."""
        error = cls(said.code, "", hint)
        error.said = said
        return error

    def at(self: Error, place: str, after: str = "", /) -> Error:
        """The same error with more about its place, as :meth:`Message.at`."""
        return type(self).of(self.said.at(place, after), self.hint)

    @property
    def code(self) -> str:
        """The code that programs and tests decide by; it stays the same when the wording changes."""
        return self.said.code

    @property
    def message(self) -> str:
        """The text."""
        return str(self.said)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # For processes and machines to hand on; without details, which may be of any type.
        return type(self).of, (Message(self.code, self.message), self.hint)


class BadInput(TestbedError):
    """Something the user wrote is wrong: names file, field, value and what would be right."""

    exit_code = Exit.BAD_INPUT


def refuse_unknown(code: str, kind: str, name: object, known: Collection[object], place: str = "", /) -> None:
    """Raise :class:`BadInput` where a ``name`` at a ``place`` (a file, an option) is none of those that are known; with
    the arguments of :func:`testbed.message.unknown`."""
    if name not in known:
        raise BadInput.of(unknown(code, kind, name, known).at(place))


class CannotRun(TestbedError):
    """This machine can't run it, or not now."""

    exit_code = Exit.CANNOT_RUN


class Unsupported(CannotRun):
    """The request needs something that this machine's kernel or programs lack; the message says what."""


class RunFailed(TestbedError):
    """A run broke down before it could be judged."""

    exit_code = Exit.FAIL


class Untrusted(RunFailed):
    """A run that ended early, as its links or its evidence are not good enough; it proves nothing."""

    exit_code = Exit.UNTRUSTED
    off: Sequence[Message] = ()

    @property
    def reasons(self) -> Sequence[Message]:
        """The reasons not to trust it, a line each."""
        return self.off or [self.said]


_NO_ROOM_FOR_TEMPORARY = "No usable temporary directory found"
"""Message of Python's ``tempfile`` on full disks, with the number of a file that does not exist."""
_OF_THE_MACHINE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)


def of_the_machine(error: BaseException) -> str:
    """The message of a full disk or a folder that can't be written; "" for errors that are the program's own."""
    if not isinstance(error, OSError):
        return ""
    if error.errno not in _OF_THE_MACHINE and not f"{error.strerror}".startswith(_NO_ROOM_FOR_TEMPORARY):
        return ""
    return f"{error.filename}: {error.strerror}" if error.filename else f"{error.strerror}"
