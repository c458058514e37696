"""Destinations of a verb's text."""

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
    """Print the losses of a conversion, a line each, to the standard error."""
    for line in lost:
        print(f"not carried: {line}", file=sys.stderr)


def write_output(text: str, file: Path | None) -> None:
    """Write to the file, and print its name, or to the standard output; raises BadInput."""
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
