"""The result of a benchmark: figures beside each other, and targets met or missed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


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

    def as_json(self) -> dict[str, Any]:
        """The section in ``bench.json``."""
        return asdict(self)


def all_met(sections: list[Section]) -> bool:
    """Whether no target was missed; unknown ones do not count."""
    return all(target.met is not False for section in sections for target in section.targets)
