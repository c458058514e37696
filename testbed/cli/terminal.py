"""Capabilities of a terminal: its width, colours, and whether its locale has more than ASCII."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

ASCII = {
    **dict.fromkeys("─━╌╴╶–—−", "-"),
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+"),
    **dict.fromkeys("▏▎▍▌▋▊▉", "#"),
    **dict(zip("▁▂▃▄▅▆▇█", "._-=+*%#", strict=True)),
    **dict(zip("“”‘’·░→←×…●▸✓", "\"\"''-.><x.*>v", strict=True)),
} | {"∞": "oo", "τ": "tau", "Σ": "sum", "≥": ">=", "≤": "<=", "±": "+/-"}
"""Replacements of characters, where there is ASCII only; others lose their accents or become a question mark."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
AS_ASCII = "ncp-testbed"
"""The name of that way to encode what is not ASCII."""


def speaks_unicode(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the locale's characters are those of Unicode."""
    locale = next((value for key in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(key))), "C")
    return "utf-8" in locale.lower() or "utf8" in locale.lower()


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    wrong = error.object[error.start : error.end]
    reported = (
        ASCII.get(char) or unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode() for char in wrong
    )
    return "".join(text or "?" for text in reported), error.end


codecs.register_error(AS_ASCII, _replace)


def prepare() -> None:
    """Have all that is printed to a terminal be what its locale shows. What goes to a file stays UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty() and not speaks_unicode() and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="ascii", errors=AS_ASCII)


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
