"""A source's set-up as data, and what of a run's plan differs from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import Field

from testbed import paths
from testbed.documents import read_csv
from testbed.plan.model import Plan
from testbed.scenario.section import Name, Section


class Difference(Section):
    """What is other than in the source's set-up: "``ours`` in place of ``theirs``"."""

    ours: str
    theirs: str
    keys: list[str] = Field(default_factory=list)
    """The set-up's keys that it is about; none where a plan does not show it."""

    def in_words(self) -> str:
        """As it stands in tables and reports."""
        return f"{self.ours} in place of {self.theirs}"


class FromColumn(Section):
    """A value that a column of published figures gives."""

    column: str
    times: float = 1.0
    """What it is multiplied with, to be in the plan's unit."""
    map: dict[str, Any] = Field(default_factory=dict)
    """Or what its words mean."""
    part: int | None = None
    """Of a list of links, ``pps@one_way_ms:loss`` each: which of the three."""
    each: bool = False
    """Whether the plan has a list there, of this one value."""

    def of(self, row: Mapping[str, str]) -> Any:
        """In the plan's unit."""
        text = row[self.column]
        if self.part is not None:
            links = [link.replace("@", ":").split(":") for link in text.split()]
            return [float(link[self.part]) for link in links]
        value = self.map[text] if self.map else float(text) * self.times
        return [value] if self.each else value


class OfRows(Section):
    """What differs from row to row, in a file of published figures; its rows are found as the table's ``known`` of
    the same file finds them."""

    file: str
    by: list[str] = Field(min_length=1)
    given: dict[str, FromColumn]


class Setup(Section):
    """A source's set-up. Keys are paths into a run's plan (docs/contracts.md); ``*`` is every entry of a list."""

    source: Name
    text: str
    given: dict[str, Any] = Field(default_factory=dict)
    """What the source tells."""
    chosen: dict[str, Any] = Field(default_factory=dict)
    """What it does not tell, and was chosen for all claims that are decided in it."""
    columns: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """What it tells for a column of a table."""
    rows: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """What it tells for a row of a table, by the row's name there, or by its published one."""
    of_rows: OfRows | None = None
    differs: list[Difference] = Field(default_factory=list)
    """What is other in every run here, as it can't be had."""

    def in_words(self) -> str:
        """The set-up, and what is other in every run here."""
        others = [difference.in_words() for difference in self.differs]
        return " ".join([self.text.strip(), *(f"Here: {words}." for words in ["; ".join(others)] if words)])

    def says_of(self) -> set[str]:
        """All that it says something of."""
        sides = [self.given, self.chosen, *self.columns.values(), *self.rows.values()]
        return {key for side in sides for key in side} | set(self.of_rows.given if self.of_rows else ())

    def asked(self, row: str, published_row: str, column: str) -> dict[str, Any]:
        """Every key with the source's value for a cell; ``NOT_THERE`` where the source has no such row."""
        values = self.chosen | self.given | self.columns.get(column, {})
        if self.of_rows is not None:
            theirs = _published(self.of_rows.file, tuple(self.of_rows.by)).get(published_row)
            values |= {
                key: NOT_THERE if theirs is None else given.of(theirs) for key, given in self.of_rows.given.items()
            }
        return values | self.rows.get(published_row, {}) | self.rows.get(row, {})


NOT_THERE = object()
"""No value equals it."""


def differing(setup: Setup, plan: Plan, row: str = "", published_row: str = "", column: str = "") -> dict[str, str]:
    """The keys whose value in the plan is not the source's, with both in words."""
    found = {}
    for key, theirs in setup.asked(row, published_row, column).items():
        ours = value_at(plan, key)
        if not _same(ours, theirs):
            shown = "nothing" if theirs is NOT_THERE else repr(theirs)
            found[key] = f"{ours!r}, the source has {shown}"
    return found


def value_at(plan: Any, path: str) -> Any:
    """What stands at a path; of ``*`` a list; None where nothing does. Keys may have dots of their own."""
    if not path:
        return plan
    if isinstance(plan, Mapping):
        for key in sorted(plan, key=len, reverse=True):
            if path == key or path.startswith(f"{key}."):
                return value_at(plan[key], path[len(key) + 1 :])
        return None
    if isinstance(plan, Sequence) and not isinstance(plan, str):
        head, _, rest = path.partition(".")
        if head == "*":
            return [value_at(entry, rest) for entry in plan]
        return value_at(plan[int(head)], rest) if int(head) < len(plan) else None
    return None


def _same(ours: Any, theirs: Any) -> bool:
    """A list and one value are the same where all its entries are."""
    if isinstance(ours, list) and not isinstance(theirs, list):
        return bool(ours) and all(_same(entry, theirs) for entry in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)) and not isinstance(ours, bool):
        return math.isclose(ours, theirs, rel_tol=1e-5)
    return bool(ours == theirs)


@cache
def _published(file: str, by: tuple[str, ...]) -> dict[str, dict[str, str]]:
    return {"/".join(row[name] for name in by): row for row in read_csv(paths.CHECKOUT / file)}


def unnamed(named: Sequence[Difference], cells: Iterator[tuple[str, dict[str, str]]]) -> list[str]:
    """What differs in a cell and no difference names, and what is named and differs in none; in words."""
    keys = {key for difference in named for key in difference.keys}
    told, wrong = set(), []
    for cell, found in cells:
        told |= keys & set(found)
        wrong += [f"{cell}: {key} is {text}" for key, text in found.items() if key not in keys]
    return wrong + [f"{key} is said to differ, and does not" for key in sorted(keys - told)]
