"""What comes of judging a study again from its result folder, whatever its judgement is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from testbed.message import Message


class Asked(NamedTuple):
    """What is judged again."""

    folder: Path
    place: Path
    """Where its page may be drawn again; it is not there yet."""
    rerun: bool
    """Whether what is in no file is made again by runs."""
    of_this_code: bool
    """Whether this checkout made it, so that its words are the same, too."""


class Again(NamedTuple):
    """``differences`` are from what the folder holds; ``unchecked`` is what could not be made again."""

    name: str
    verdict: str
    differences: Sequence[Message]
    unchecked: Sequence[Message]
    checks: Sequence[str] = ()
    """A line each, for people."""
    notes: Sequence[Message] = ()
    parts: Sequence[tuple[str, Path]] | None = None
    """Studies that it is made of, by name, and their folders; None where it is made of runs."""
    has_page: bool = True
    """Whether its page can be made again."""
