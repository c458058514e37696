"""Capabilities of a terminal: its width and colours."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: object) -> str:
    """The text with control characters, which could move a terminal's cursor or overwrite a verdict, as Python writes
    them."""
    return CONTROL.sub(lambda found: repr(found[0])[1:-1], str(text))


def fitted(text: str) -> str:
    """Lines as they are, but on a terminal wrapped between words, under what stands behind a line's label."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns - 1
    return "\n".join(one for line in text.splitlines() for one in _folded(line, width))


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    label = re.match(r" +\S+( \S+)? {2,}", line)
    indent = " " * (len(label[0]) if label else len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )


def console(file: TextIO | None = None) -> Console:
    """A console on stdout or ``file``, as wide as its terminal; without one nothing is wrapped. Rich itself keeps to
    NO_COLOR and to TERM=dumb."""
    from rich.console import Console

    to = file or sys.stdout
    return Console(file=to, width=None if to.isatty() else 1000, highlight=False, emoji=False, markup=False)
