"""What became of a claim: its words, its figures with their intervals, and where to look."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

Word = Literal["holds", "fails", "undecided", "untrusted", "unsupported", "not-covered", "broken"]
WORDS: tuple[Word, ...] = get_args(Word)
WORD_OF_STATUS: Mapping[str, Word] = {
    "pass": "holds", "fail": "fails", "undecided": "undecided", "not-covered": "not-covered",
    "not-asked": "not-covered", "error": "broken",
}  # fmt: skip
"""By the status of the check that decides."""


@dataclass(frozen=True)
class Judged:
    """One claim with its verdict. ``figures`` and ``intervals`` (95%, of the median) are by the name of the place."""

    id: str
    source: str
    kind: str
    text: str
    verdict: Word
    reason: str
    run: str
    command: str
    check: str
    published: str
    expected: str
    tolerance: str
    why: str
    reproduces: bool
    cause: str = ""
    value: float | None = None
    measured: str = ""
    n: int | None = None
    figures: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    result: str = ""
    """The run's result folder, inside that of all."""
    report: str = ""
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By engine: verdict, reason, measured, n, figures, intervals there, and what ours differ by."""

    @property
    def as_known(self) -> bool | None:
        """Whether it came out as it is known to; None while it is open."""
        return (self.verdict == "holds") == self.reproduces if self.verdict in ("holds", "fails") else None

    def as_json(self) -> dict[str, Any]:
        """Its entry in ``claims.json``."""
        return {**asdict(self), "as_known": self.as_known}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Judged:
        """Reads it."""
        known = {key: value for key, value in document.items() if key != "as_known"}
        known["intervals"] = {name: (low, high) for name, (low, high) in document["intervals"].items()}
        return cls(**known)


def verdict_of(claims: Sequence[Judged]) -> str:
    """``pass`` when something was decided and all that was came out as it is known to; open ones don't fail it.

    ``fail`` when one did not, or its run broke down; else ``untrusted`` when a run was."""
    if any(claim.as_known is False or claim.verdict == "broken" for claim in claims):
        return "fail"
    if any(claim.verdict == "untrusted" for claim in claims):
        return "untrusted"
    return "pass" if any(claim.as_known for claim in claims) else "fail"


def summary_of(claims: Sequence[Judged]) -> str:
    """How many of which, in a sentence."""
    count = {word: sum(claim.verdict == word for claim in claims) for word in WORDS}
    parts = [f"{count['holds']} of {len(claims)} claims hold"]
    known = sum(claim.verdict == "fails" and not claim.reproduces for claim in claims)
    if known:
        parts.append(f"{known} do not reproduce, as is known")
    surprising = [claim.id for claim in claims if claim.as_known is False]
    if surprising:
        parts.append(f"otherwise than known: {', '.join(surprising)}")
    for word, told in (
        ("undecided", "undecided"), ("not-covered", "not covered by this run"), ("untrusted", "untrusted"),
        ("unsupported", "can't be run here"), ("broken", "broke down"),
    ):  # fmt: skip
        if count[word]:  # type: ignore[index]
            parts.append(f"{count[word]} {told}")  # type: ignore[index]
    return "; ".join(parts) + "."


COLUMNS = (
    "id", "source", "kind", "verdict", "reproduces", "as_known", "published", "value", "expected", "tolerance",
    "measured", "n", "low", "high", "run", "check", "command", "result", "text", "reason",
)  # fmt: skip
OF_OTHERS = ("verdict", "measured", "n", "difference")


def write_csv(claims: Sequence[Judged], path: Path) -> None:
    """``claims.csv``: a row per claim; low and high are those of the interval where one figure decides.

    For each engine beside it there are further columns, such as ``vkernel_measured``."""
    engines = list(dict.fromkeys(engine for claim in claims for engine in claim.beside))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, *(f"{engine}_{name}" for engine in engines for name in OF_OTHERS)])
        for claim in claims:
            low, high = (
                next(iter(claim.intervals.values()), ("", "")) if len(claim.figures) == 1 else ("", "")
            )
            row = {**claim.as_json(), "low": low, "high": high}
            found = [row[name] for name in COLUMNS]
            found += [claim.beside.get(engine, {}).get(name) for engine in engines for name in OF_OTHERS]
            writer.writerow(["" if value is None else value for value in found])
