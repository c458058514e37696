"""Lines that fit a terminal."""

import re
import shutil
import sys
import textwrap


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
