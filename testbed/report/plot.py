"""What a plot is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plot:
    """One plot: file name without suffix, what it shows in a sentence, and the SVG text."""

    name: str
    description: str
    svg: str
