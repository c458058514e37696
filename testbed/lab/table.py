"""Results of a benchmark: statistics of repeats, tables, and targets met or missed, for a terminal and as Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

WORDS = {True: "PASS", False: "FAIL", None: "–"}


@dataclass(frozen=True)
class Spread:
    """Median, smallest and largest of ``n`` repeats."""

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Raises :class:`ValueError` without any value."""
        return cls(statistics.median(values), min(values), max(values), len(values))

    def __format__(self, spec: str) -> str:
        """``0.031 (0.028–0.040)`` by ``.3f``."""
        return f"{self.median:{spec}} ({self.low:{spec}}–{self.high:{spec}})"


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that the share of all does not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


@dataclass(frozen=True)
class Target:
    """One thing that was to be reached; ``met`` is None where this machine could not tell."""

    name: str
    expected: str
    measured: str
    met: bool | None


@dataclass
class Section:
    """One part of a benchmark: a table, the targets it decides and notes on how it was measured."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    """Every single measurement, for ``bench.json``."""

    def row(self, *cells: str) -> None:
        """Add a row to the table."""
        self.rows.append(list(cells))

    def target(self, name: str, expected: str, measured: str, met: bool | None) -> None:
        """Add a target in words."""
        self.targets.append(Target(name, expected, measured, met))

    def at_most(self, name: str, measured: float, limit: float, form: str = ".2f", unit: str = "") -> None:
        """Add a target that a figure meets up to a limit."""
        self.target(name, f"≤ {limit:g}{unit}", f"{measured:{form}}{unit}", measured <= limit)

    def at_least(self, name: str, measured: float, limit: float, form: str = ".2f", unit: str = "") -> None:
        """Add a target that a figure meets from a limit on."""
        self.target(name, f"≥ {limit:g}{unit}", f"{measured:{form}}{unit}", measured >= limit)


def all_met(sections: Sequence[Section]) -> bool:
    """Whether no target was missed; unknown ones do not count."""
    return all(target.met is not False for section in sections for target in section.targets)


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned: the first to the left, the others to the right."""
    lines = [columns, *rows]
    first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
    aligned = ([cells[0].ljust(first), *map(str.rjust, cells[1:], others)] for cells in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in aligned)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as GitHub renders it."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_text(section: Section) -> str:
    """A section for a terminal."""
    parts = [section.title, indent(text_table(section.columns, section.rows), "  ")]
    parts += [f"  {WORDS[t.met]:<4}  {t.name}: {t.measured} (expected: {t.expected})" for t in section.targets]
    parts += [f"  note: {note}" for note in section.notes]
    return "\n".join(parts)


def as_markdown(headline: str, sections: Sequence[Section]) -> str:
    """The whole benchmark."""
    parts = [headline]
    for section in sections:
        parts.append(f"### {section.title}\n\n{markdown_table(section.columns, section.rows)}")
        parts += ["\n".join(f"- {note}" for note in section.notes)] if section.notes else []
    rows = [[t.name, t.expected, t.measured, WORDS[t.met]] for section in sections for t in section.targets]
    parts.append("### Targets\n\n" + markdown_table(["target", "expected", "measured", ""], rows))
    return "\n\n".join(parts) + "\n"
