"""What became of a claim: its words, its figures with their intervals, and where to look."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from testbed.documents import read_json
from testbed.judge import status
from testbed.judge.expected_failures import Outcome, counts
from testbed.judge.intervals import told
from testbed.judge.status import Status, current

SCHEMA: Literal[2] = 2
"""Of ``claims.json``: since 2 its statuses are those of :class:`Status`."""


def read_claims(folder: Path) -> dict[str, Any]:
    """A result's ``claims.json``; BadInput where it can't be read."""
    return current(read_json(folder / "claims.json"), SCHEMA)


@dataclass(frozen=True)
class Judged:
    """One claim with its verdict. ``figures`` and ``intervals`` (of the median: low, high, level) are by the name of
    the place."""

    id: str
    source: str
    kind: str
    text: str
    verdict: Status
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
    observations: int | None = None
    """Behind any figure at least: fewer than ``n`` where runs in virtual time are alike."""
    intervals: dict[str, tuple[float, ...]] = field(default_factory=dict)
    result: str = ""
    """The run's result folder, inside that of all."""
    report: str = ""
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By engine: verdict, reason, measured, n, figures, intervals there, and what ours differ by."""
    by_chance: bool = False
    """Whether one that is known not to hold may hold."""
    outcome: Outcome | None = None
    """Of one that is known not to hold: ``xfail``, ``xpass``, or ``fail`` where it fails otherwise than is known.
    Older results have none: in these, every failure is as known."""
    xfail: dict[str, Any] | None = None
    """What was expected of it then (:class:`ExpectedFailure`)."""

    @property
    def asked(self) -> bool:
        """Whether it counts here: what a quick run leaves out by its definition, or an engine does not carry on any
        machine, does not."""
        return self.verdict != Status.SKIPPED

    @property
    def as_known(self) -> bool | None:
        """Whether it came out as it is known to; None while it is open, and of a measurement."""
        if self.outcome == "fail":
            return False
        return is_as_known(self, self.verdict)

    @property
    def is_measured(self) -> bool:
        """Whether it is a measurement that was made: nothing is asked of it."""
        return self.kind == "measurement" and self.verdict in (Status.PASS, Status.FAIL, Status.INCONCLUSIVE)

    @property
    def counted_as(self) -> Outcome | None:
        """What came of it, for the count of a last line; None while it is open, and of a measurement."""
        if self.as_known is None or self.outcome:
            return self.outcome
        if self.verdict == Status.FAIL:
            return "fail" if self.reproduces else "xfail"
        return "pass" if self.reproduces else "xpass"

    @property
    def level(self) -> float | None:
        """The least of its intervals; None without one, or where an earlier testbed did not tell it."""
        levels = [found[2] for found in self.intervals.values() if len(found) > 2]
        return min(levels) if levels and len(levels) == len(self.intervals) else None

    @property
    def is_one_observation(self) -> bool:
        """Whether several runs decide by one value, which is not by chance."""
        return not self.intervals and self.observations == 1 and (self.n or 0) > 1

    @property
    def n_told(self) -> str:
        """How many runs, and what so many are worth: ``3: 75%``, ``3: one``, ``2``."""
        if self.n is None:
            return ""
        worth = "one" if self.is_one_observation else "" if self.level is None else told([self.level])
        return f"{self.n}: {worth}" if worth else str(self.n)

    @property
    def part(self) -> Status:
        """What it is to the whole: a claim passes by coming out as it is known to."""
        if self.is_measured:
            return Status.SKIPPED
        if self.as_known is None:
            return self.verdict
        return Status.PASS if self.as_known else Status.FAIL

    def as_json(self) -> dict[str, Any]:
        """Its entry in ``claims.json``."""
        found = asdict(self)
        found = {key: value for key, value in found.items() if value is not None or key not in ("outcome", "xfail")}
        return {**found, "asked": self.asked, "as_known": self.as_known}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Judged:
        """Reads it."""
        known = {key: value for key, value in document.items() if key not in ("asked", "as_known")}
        known["intervals"] = {name: tuple(found) for name, found in document["intervals"].items()}
        return cls(**{**known, "verdict": Status(known["verdict"])})


def verdict_of(claims: Sequence[Judged], *, quick: bool) -> Status:
    """``pass`` when all that was asked came out as it is known to; a quick one may leave some open."""
    return status.verdict_of((claim.part for claim in claims), may_stay_open=quick)


def decided_of(claims: Sequence[Judged]) -> str:
    """``19 of 71 claims decided; not decided: 45 skipped, 7 inconclusive``: what a PASS or FAIL speaks of."""
    decided = sum(claim.as_known is not None for claim in claims)
    text = f"{decided} of {len(claims)} claims decided"
    if counted := counts(claim.counted_as for claim in claims if claim.counted_as):
        text += f" ({counted})"
    measured = sum(claim.is_measured for claim in claims)
    parts = [claim.part for claim in claims if claim.as_known is None and not claim.is_measured]
    rest = [f"{measured} measured only"] if measured else []
    rest += [f"{parts.count(part)} {words}" for part, words in _NOT_DECIDED.items() if part in parts]
    return text + (f"; not decided: {', '.join(rest)}" if rest else "")


_NOT_DECIDED: Mapping[Status, str] = {
    Status.UNTRUSTED: "untrusted",
    Status.ERROR: "broke down",
    Status.INCONCLUSIVE: "inconclusive",
    Status.INSUFFICIENT_DATA: "with too little data",
    Status.UNSUPPORTED: "can't be run here",
    Status.SKIPPED: "skipped",
}


def is_as_known(claim: Judged, verdict: str) -> bool | None:
    """Whether a verdict on the claim, on whichever engine, is what it is known to be; None for one that decides
    nothing."""
    if verdict not in (Status.PASS, Status.FAIL) or claim.kind == "measurement":
        return None
    return claim.by_chance or (verdict == Status.PASS) == claim.reproduces


def summary_of(claims: Sequence[Judged]) -> str:
    """How many of which, in a sentence. Only what a source claims, in its own set-up, can fail to reproduce."""
    held = [claim for claim in claims if claim.verdict == Status.PASS]
    parts = [f"{len(held)} of {len(claims)} claims hold"]
    if changed := sum(claim.kind == "changed" for claim in held):
        parts[0] += f", {changed} of them with something changed"
    known = [claim for claim in claims if claim.verdict == Status.FAIL and not claim.reproduces]
    sources = sum(claim.kind == "claim" for claim in known)
    if sources:
        parts.append(f"{sources} do not reproduce, as is known")
    if len(known) > sources:
        parts.append(f"{len(known) - sources} that go beyond the sources do not hold, as is known")
    surprising = [claim.id for claim in claims if claim.as_known is False]
    if surprising:
        parts.append(f"otherwise than known: {', '.join(surprising)}")
    return "; ".join([*parts, decided_of(claims)]) + "."


COLUMNS = (
    "id",
    "source",
    "kind",
    "verdict",
    "reproduces",
    "as_known",
    "published",
    "value",
    "expected",
    "tolerance",
    "measured",
    "n",
    "observations",
    "low",
    "high",
    "level",
    "run",
    "check",
    "command",
    "result",
    "text",
    "reason",
)
OF_OTHERS = ("verdict", "measured", "n", "difference")


def write_csv(claims: Sequence[Judged], path: Path) -> None:
    """``claims.csv``: a row per claim; low and high are those of the interval where one figure decides.

    For each engine beside it there are further columns, such as ``vkernel_measured``."""
    engines = list(dict.fromkeys(engine for claim in claims for engine in claim.beside))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, *(f"{engine}_{name}" for engine in engines for name in OF_OTHERS)])
        for claim in claims:
            low, high = next(iter(claim.intervals.values()), ("", ""))[:2] if len(claim.figures) == 1 else ("", "")
            row = {**claim.as_json(), "low": low, "high": high, "level": claim.level}
            found = [row[name] for name in COLUMNS]
            found += [claim.beside.get(engine, {}).get(name) for engine in engines for name in OF_OTHERS]
            writer.writerow(["" if value is None else value for value in found])
