"""Text for terminals: without characters that would move a cursor, whoever wrote it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """The text with control characters, which could move a terminal's cursor or overwrite a verdict, as JSON writes
    them: JSON that has them says the same."""
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def in_one_line(text: object) -> str:
    """The text as :func:`printable` has it, and without a line of its own that could look like another verdict."""
    return printable(str(text).replace("\n", "\\n"))


class _Printable:
    """A stream that writes what is printable, to the ``rich_proxied_file``, as Rich calls what it writes to itself."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # by this Click finds out which stream takes bytes
            raise TypeError
        self.rich_proxied_file.write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def only_printable() -> Iterator[None]:
    """While it lasts, what is printed is :func:`printable`, also where it was read from a file. Only consoles, and
    :func:`as_it_is`, write colours and move the cursor."""
    with (
        redirect_stdout(cast("TextIO", _Printable(sys.stdout))),
        redirect_stderr(cast("TextIO", _Printable(sys.stderr))),
    ):
        yield


def as_it_is(stream: TextIO) -> TextIO:
    """The stream that takes control characters."""
    return cast("TextIO", getattr(stream, "rich_proxied_file", stream))


def console(file: TextIO | None = None, width: int = 1000) -> Console:
    """A console on stdout or ``file``, as wide as its terminal; without one as ``width``, which wraps nothing. Its
    texts are :func:`printable`. Rich itself keeps to NO_COLOR and to TERM=dumb."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class _Console(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for part in super().render(renderable, options):
                yield part if part.control else part._replace(text=printable(part.text))

    to = file or sys.stdout
    return _Console(file=to, width=None if to.isatty() else width, highlight=False, emoji=False, markup=False)
