"""Where a verb that makes one text puts it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.errors import BadInput

OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write it there; without it, to the standard output."),
]


def write_output(text: str, file: Path | None) -> None:
    """To the file, whose name is then printed, or to the standard output; raises BadInput."""
    if file is None:
        print(text, end="")
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"{file}: can't be written: {error.strerror}", "Give a file in a folder that is there."
        ) from error
    print(file)
