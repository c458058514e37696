"""Where a verb that makes one text puts it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from testbed.errors import BadInput

OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="The file to write; without it, the standard output."),
]


def say_lost(lost: Iterable[str]) -> None:
    """What a form of another tool's can't hold, a line each, on the standard error."""
    for line in lost:
        print(f"not carried: {line}", file=sys.stderr)


def write_output(text: str, file: Path | None) -> None:
    """To the file, whose name is then printed, or to the standard output; raises BadInput."""
    if file is None:
        print(text, end="")
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(
            "file.not-writable",
            "{file}: can't be written: {reason}",
            "Give a file in a folder that exists.",
            file=file,
            reason=error.strerror,
        ) from error
    print(file)
