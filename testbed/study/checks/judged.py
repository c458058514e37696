"""Judged claims, their summary, and results of other engines beside them."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from testbed import confine
from testbed.documents import read_json, write_json
from testbed.errors import BadInput
from testbed.judge import status
from testbed.judge.expected_failures import Outcome, counts
from testbed.judge.intervals import levels_in_words
from testbed.judge.status import Status, current
from testbed.results.report import words

SCHEMA: Literal[2] = 2
"""Schema of ``claims.json``; 2 has the statuses of :class:`Status`."""


@dataclass(frozen=True, config={"extra": "ignore"})
class Judged:
    """A claim with its verdict, as in ``claims.json``. ``figures`` and ``intervals`` (of the median: low, high, level)
    are by place."""

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
    """Least number behind a figure: fewer than ``n`` if runs in virtual time are alike."""
    intervals: dict[str, tuple[float, ...]] = field(default_factory=dict)
    result: str = ""
    """The run's result folder, inside that of all runs."""
    report: str = ""
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Results by other engine: verdict, reason, measured, n, figures, intervals, and the difference."""
    by_chance: bool = False
    """Whether an expected failure is not strict: the claim may hold."""
    outcome: Outcome | None = None
    """Outcome of an expected failure: ``xfail``, ``xpass``, or ``fail`` outside the expected range. Older results have
    none: in these, every failure is as expected."""
    xfail: dict[str, Any] | None = None
    """The expected failure at that time (:class:`ExpectedFailure`)."""

    @property
    def asked(self) -> bool:
        """Whether the claim counts: not if a quick run leaves it out by definition, or the engine supports it on no
        machine."""
        return self.verdict != Status.SKIPPED

    @property
    def as_known(self) -> bool | None:
        """Whether the result is as expected; None for an open claim, and for a measurement."""
        return False if self.outcome == "fail" else self.is_known_to(self.verdict)

    def is_known_to(self, verdict: str) -> bool | None:
        """Whether a verdict, on any engine, is as expected; None for one that decides nothing."""
        if verdict not in (Status.PASS, Status.FAIL) or self.kind == "measurement":
            return None
        return self.by_chance or (verdict == Status.PASS) == self.reproduces

    @property
    def is_measured(self) -> bool:
        """Whether it is a finished measurement, which can't fail."""
        return self.kind == "measurement" and self.verdict in (Status.PASS, Status.FAIL, Status.INCONCLUSIVE)

    @property
    def counted_as(self) -> Outcome | None:
        """Outcome for the count in the last line; None for an open claim, and for a measurement."""
        if self.as_known is None or self.outcome:
            return self.outcome
        if self.verdict == Status.FAIL:
            return "fail" if self.reproduces else "xfail"
        return "pass" if self.reproduces else "xpass"

    @property
    def level(self) -> float | None:
        """Least level of the intervals; None without intervals, or for older results without levels."""
        levels = [found[2] for found in self.intervals.values() if len(found) > 2]
        return min(levels) if levels and len(levels) == len(self.intervals) else None

    @property
    def is_one_observation(self) -> bool:
        """Whether several runs decide by one value, without chance."""
        return not self.intervals and self.observations == 1 and (self.n or 0) > 1

    @property
    def n_told(self) -> str:
        """Number of runs, and their level of confidence: ``3: 75%``, ``3: one``, ``2``."""
        n = "" if self.n is None else str(self.n)
        worth = "one" if self.is_one_observation else "" if self.level is None else levels_in_words([self.level])
        return f"{n}: {worth}" if n and worth else n

    @property
    def part(self) -> Status:
        """Status for the verdict of all claims: a claim passes if its result is as expected."""
        if self.is_measured:
            return Status.SKIPPED
        if self.as_known is None:
            return self.verdict
        return Status.PASS if self.as_known else Status.FAIL

    def as_json(self) -> dict[str, Any]:
        """The entry in ``claims.json``."""
        found = {k: v for k, v in asdict(self).items() if v is not None or k not in ("outcome", "xfail")}
        return {**found, "asked": self.asked, "as_known": self.as_known}


def read_claims(folder: Path) -> dict[str, Any]:
    """Reads ``claims.json`` of a result of all claims, or a reference; raises BadInput."""
    return current(read_json(folder / "claims.json"), SCHEMA)


def judged_in(document: Mapping[str, Any]) -> list[Judged]:
    """The claims of a ``claims.json``."""
    return [Judged(**entry) for entry in document["claims"]]


def verdict_of(claims: Sequence[Judged], *, quick: bool) -> Status:
    """Verdict of all claims: ``pass`` if all results are as expected; a quick run may leave some open."""
    return status.verdict_of((claim.part for claim in claims), may_stay_open=quick)


_NOT_DECIDED: Mapping[Status, str] = {
    Status.UNTRUSTED: "untrusted",
    Status.ERROR: "broke down",
    Status.INCONCLUSIVE: "inconclusive",
    Status.INSUFFICIENT_DATA: "with too little data",
    Status.UNSUPPORTED: "can't be run here",
    Status.SKIPPED: "skipped",
}


def decided_of(claims: Sequence[Judged]) -> str:
    """``19 of 71 claims decided; not decided: 45 skipped, 7 inconclusive``: what a PASS or FAIL speaks of."""
    text = f"{sum(claim.as_known is not None for claim in claims)} of {len(claims)} claims decided"
    if counted := counts(claim.counted_as for claim in claims if claim.counted_as):
        text += f" ({counted})"
    measured = sum(claim.is_measured for claim in claims)
    undecided = [claim.part for claim in claims if claim.as_known is None and not claim.is_measured]
    rest = [f"{measured} measured only"] if measured else []
    rest += [f"{undecided.count(part)} {word}" for part, word in _NOT_DECIDED.items() if part in undecided]
    return text + (f"; not decided: {', '.join(rest)}" if rest else "")


def summary_of(claims: Sequence[Judged]) -> str:
    """Summary in a sentence. Only a source's claim, in its own set-up, can fail to reproduce."""
    held = [claim for claim in claims if claim.verdict == Status.PASS]
    parts = [f"{len(held)} of {len(claims)} claims hold"]
    if changed := sum(claim.kind == "changed" for claim in held):
        parts[0] += f", {changed} of them with something changed"
    known = [claim.kind for claim in claims if claim.verdict == Status.FAIL and not claim.reproduces]
    if sources := known.count("claim"):
        parts.append(f"{sources} do not reproduce, as is known")
    if len(known) > sources:
        parts.append(f"{len(known) - sources} that go beyond the sources do not hold, as is known")
    if surprising := [claim.id for claim in claims if claim.as_known is False]:
        parts.append(f"otherwise than known: {', '.join(surprising)}")
    return "; ".join([*parts, decided_of(claims)]) + "."


@plain_dataclass(frozen=True)
class FalseAlarms:
    """False alarms among the decided claims by chance alone, if each true value lay exactly at its limit."""

    claims: int
    """Number of claims, with open ones."""
    levels: tuple[float, ...]
    """Least level of each claim that intervals decide."""
    expected: float
    """Largest expected number that fail by chance."""
    at_least_one: float
    """Largest probability that one does, if they are independent."""
    without_chance: int
    """Number decided by runs that are one observation."""
    unknown: int
    """Number decided without an interval: by one run or two, or by a line through several."""

    @classmethod
    def of(cls, claims: Sequence[Judged]) -> FalseAlarms:
        """Compute them. An interval that covers the true value with ``level`` lies beyond the limit, on the side where
        the claim fails, with (1 − level)/2; a claim of several places fails if any of them does."""
        decided = [claim for claim in claims if claim.as_known is not None]
        levels, chances = [], []
        for claim in decided:
            if claim.level is not None:
                levels.append(claim.level)
                chances.append(1 - math.prod((1 + level) / 2 for *_, level in claim.intervals.values()))
        return cls(
            claims=len(claims),
            levels=tuple(levels),
            expected=sum(chances),
            at_least_one=1 - math.prod(1 - chance for chance in chances),
            without_chance=(one := sum(claim.is_one_observation for claim in decided)),
            unknown=len(decided) - len(levels) - one,
        )

    @property
    def text(self) -> str:
        """The numbers in a sentence."""
        one = f"{self.at_least_one:.0%}" if self.at_least_one < 0.995 else "nearly 1"
        text = f"Of {self.claims} claims judged at once " + (
            f"{len(self.levels)} are decided by intervals of {levels_in_words(self.levels)}: if each true value "
            f"lay exactly at its limit, at most {self.expected:.1f} of them would be expected to fail by chance, "
            f"and one or more with a probability of at most {one}"
            if self.levels
            else "none is decided by an interval"
        )
        if self.without_chance:
            text += f"; {self.without_chance} by values that chance has no part in"
        if self.unknown:
            text += f"; {self.unknown} without an interval: how likely they fail by chance is not known"
        return text + "."


COLUMNS = (
    *("id", "source", "kind", "verdict", "reproduces", "as_known", "published", "value", "expected", "tolerance"),
    *("measured", "n", "observations", "low", "high", "level", "run", "check", "command", "result", "text", "reason"),
)
OF_OTHERS = ("verdict", "measured", "n", "difference")


def write_csv(claims: Sequence[Judged], path: Path) -> None:
    """Write ``claims.csv``: a row per claim; low and high are the interval of a single figure.

    Each engine beside has further columns, such as ``vkernel_measured``."""
    engines = list(dict.fromkeys(engine for claim in claims for engine in claim.beside))
    others = [(f"{engine}_{name}", engine, name) for engine in engines for name in OF_OTHERS]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*COLUMNS, *(column for column, *_ in others)], extrasaction="ignore")
        writer.writeheader()
        for claim in claims:
            low, high = next(iter(claim.intervals.values()), ("", ""))[:2] if len(claim.figures) == 1 else ("", "")
            there = {column: claim.beside.get(engine, {}).get(name) for column, engine, name in others}
            writer.writerow({**claim.as_json(), "low": low, "high": high, "level": claim.level, **there})


def read_beside(folders: Sequence[Path], engine: str) -> list[dict[str, Any]]:
    """Read ``claims.json`` of results of other engines than ``engine``; raises BadInput for a folder without it, and
    for two results of one engine."""
    documents = []
    for folder in folders:
        if not (folder / "claims.json").is_file():
            raise BadInput(
                "claims.no-result",
                f"{folder} has no claims.json",
                "Give a result folder of all claims, or a reference.",
            )
        confine.refuse_links(folder)
        documents.append(read_claims(folder))
    engines = [engine, *(document["engine"] for document in documents)]
    if twice := next((name for name in engines if engines.count(name) > 1), None):
        raise BadInput(
            "claims.engine-twice",
            f"two of these results are of --engine {twice}",
            "Results of different engines go side by side.",
        )
    return documents


def put_beside(folder: Path, others: Sequence[Path]) -> list[Judged]:
    """Add the results of ``others`` to ``claims.json`` and ``claims.csv``; returns the new claims."""
    ours = read_claims(folder)
    documents = read_beside(others, ours["engine"])
    there = {document["engine"]: {claim.id: claim for claim in judged_in(document)} for document in documents}
    claims = [
        replace(claim, beside={engine: _beside(claim, of[claim.id]) for engine, of in there.items() if claim.id in of})
        for claim in judged_in(ours)
    ]
    besides = [{key: document[key] for key in ("engine", "run", "quick")} for document in documents]
    write_json(folder / "claims.json", {**ours, "beside": besides, "claims": [claim.as_json() for claim in claims]})
    write_csv(claims, folder / "claims.csv")
    return claims


def _beside(ours: Judged, theirs: Judged) -> dict[str, Any]:
    keys = ("verdict", "reason", "measured", "n", "n_told", "figures", "intervals")
    return {key: getattr(theirs, key) for key in keys} | {"difference": difference(ours.figures, theirs.figures)}


def difference(ours: Mapping[str, float], theirs: Mapping[str, float]) -> str:
    """Describes the difference of figures: of a single one in its unit and in percent, of several the largest in
    percent; "" without common figures."""
    off = {place: ours[place] - theirs[place] for place in ours if place in theirs}
    if not any(off.values()):
        return "same" if off else ""
    relative = {place: by / abs(theirs[place]) if theirs[place] else math.inf for place, by in off.items() if by}
    place = max(relative, key=lambda name: abs(relative[name]))
    percent = f"{100 * relative[place]:+.1f}%" if theirs[place] else "from 0"
    if len(off) > 1:
        return f"at most {percent} ({place})"
    return f"{'+' if off[place] > 0 else ''}{words.figure(off[place])} ({percent})"
