"""Puts results of all claims on other engines beside those of one: verdicts, figures, and what they differ by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed import confine
from testbed.documents import write_json
from testbed.errors import BadInput
from testbed.plan.engines import ENGINES
from testbed.results.report import words
from testbed.study.checks.judged import Judged, read_claims, write_csv

TITLES: Mapping[str, str] = {name: facts.title for name, facts in ENGINES.items()}
"""The engines, as tables and pages call them."""
MODELS: Mapping[str, str] = {name: facts.model for name, facts in ENGINES.items()}


@dataclass(frozen=True)
class Result:
    """One result of all claims."""

    folder: Path
    document: dict[str, Any]
    claims: dict[str, Judged]

    @classmethod
    def read(cls, folder: Path) -> Result:
        """From a result folder, or a reference; BadInput where it is none."""
        if not (folder / "claims.json").is_file():
            raise BadInput(
                "claims.no-result",
                "{folder} has no claims.json",
                "Give a result folder of all claims, or a reference.",
                folder=folder,
            )
        confine.refuse_links(folder)
        document = read_claims(folder)
        return cls(folder, document, {e["id"]: Judged.from_json(e) for e in document["claims"]})

    @property
    def engine(self) -> str:
        """What the runs were made on."""
        return str(self.document["engine"])


def check(engine: str, others: Sequence[Result]) -> None:
    """Raises :class:`BadInput` where two results are of one engine."""
    engines = [engine, *(other.engine for other in others)]
    for name in engines:
        if engines.count(name) > 1:
            raise BadInput(
                "claims.engine-twice",
                "two of these results are of --engine {engine}",
                "Results of different engines go side by side.",
                engine=name,
            )


def put(folder: Path, others: Sequence[Result]) -> list[Judged]:
    """Into ``claims.json`` and ``claims.csv``; the claims as they are then."""
    ours = Result.read(folder)
    check(ours.engine, others)
    claims = [replace(claim, beside=_beside(claim, others)) for claim in ours.claims.values()]
    besides = [{key: other.document[key] for key in ("engine", "run", "quick")} for other in others]
    write_json(
        folder / "claims.json", {**ours.document, "beside": besides, "claims": [claim.as_json() for claim in claims]}
    )
    write_csv(claims, folder / "claims.csv")
    return claims


def _beside(claim: Judged, others: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """By engine, what became of the claim there."""
    found = {}
    for other in others:
        if theirs := other.claims.get(claim.id):
            found[other.engine] = {
                "verdict": theirs.verdict,
                "reason": theirs.reason,
                "measured": theirs.measured,
                "n": theirs.n,
                "n_told": theirs.n_told,
                "figures": theirs.figures,
                "intervals": theirs.intervals,
                "difference": difference(claim.figures, theirs.figures),
            }
    return found


def difference(ours: Mapping[str, float], theirs: Mapping[str, float]) -> str:
    """How far our figures are off theirs: of one figure in its unit and in percent of theirs, of several the largest
    in percent; "" where none is in both."""
    shared = [place for place in ours if place in theirs]
    if not shared:
        return ""
    if all(ours[place] == theirs[place] for place in shared):
        return "same"
    if len(shared) == 1:
        off = ours[shared[0]] - theirs[shared[0]]
        return f"{'+' if off > 0 else ''}{words.figure(off)} ({_percent(ours[shared[0]], theirs[shared[0]])})"
    place = max(shared, key=lambda name: abs(_relative(ours[name], theirs[name])))
    return f"at most {_percent(ours[place], theirs[place])} ({place})"


def _relative(ours: float, theirs: float) -> float:
    if ours == theirs:
        return 0.0
    return (ours - theirs) / abs(theirs) if theirs else float("inf")


def _percent(ours: float, theirs: float) -> str:
    return f"{100 * _relative(ours, theirs):+.1f}%" if theirs else "from 0"
