"""Verifies a study: whatever it is, its documents are written anew from the runs in its result folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from testbed.message import Message


class VerifyRequest(NamedTuple):
    """A study's result folder to verify."""

    folder: Path
    into: Path
    """A folder that isn't there yet, which its documents and page may be written into."""
    rerun: bool
    """Whether figures whose data are not kept are made again by runs."""
    same_code: bool
    """Whether this checkout made it, so that its words are the same, too."""


class Verification(NamedTuple):
    """``differences`` are from what the folder holds; ``unchecked`` is what can't be written anew."""

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
    """Whether its page can be drawn anew."""
