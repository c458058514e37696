"""A source's set-up as data: a test holds the plans of the runs that decide its claims against it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

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
