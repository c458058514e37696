"""Judged claims: each by the result folder of its run, their summary, and results of other engines beside them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic.dataclasses import dataclass

from testbed import confine, documents, paths
from testbed.documents import read_json, write_json
from testbed.errors import BadInput
from testbed.judge import expected_failures, power, sign_test, status
from testbed.judge.checks.registry import FACTS
from testbed.judge.checks.result import NOT_SELECTED, CheckResult, Verdict
from testbed.judge.expected_failures import MEASURED, ExpectedFailure, Outcome, counts
from testbed.judge.history import provenance_of
from testbed.judge.intervals import LEAST_N, LEVEL, levels_in_words
from testbed.judge.status import BEST_FIRST, OPEN, Status, current
from testbed.judge.verify import read_verdict
from testbed.plan.engines import engine_of, is_exact
from testbed.results.report import words
from testbed.study.checks.each_run import EachRunCheck
from testbed.study.checks.table import OfColumns, TableCheck, cells_of, judge_one
from testbed.study.kinds import table_file
from testbed.study.kinds.table_result import Place, read_table, results_of, summaries_of
from testbed.study.record import CellResult, by_setting, observations

if TYPE_CHECKING:
    from testbed.study.kinds.claims_file import Claim

REFERENCES = paths.CHECKOUT / "data" / "reference"
"""Small files of results, for pages, plots and expected failures."""
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
    evidence: float | None = None
    """Evidence for the side that was decided, or is ahead, if chance has a part in it (:mod:`testbed.judge.sign_test`);
    earlier results have none."""
    sees: str = ""
    """Smallest distance from a limit, or of one real run from its reference, that would have been shown with 80% power,
    in words."""
    result: str = ""
    """The run's result folder, inside that of all runs."""
    report: str = ""
    undecidable: str = ""
    """The reason why an inconclusive claim can't be decided on this engine, if its entry names it: it then stays open
    and does not count."""
    least_seen: dict[str, float] = field(default_factory=dict)
    """The distance as a number, with what it follows from (:func:`testbed.judge.power.seen`)."""
    as_reference: bool | None = None
    """Whether the figures of one run on real packets lie where the reference expects another run; None without
    intervals."""
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
    def as_known(self) -> bool | None:
        """Whether the result is as expected; None for an open claim, and for a measurement."""
        return False if self.outcome == "fail" else self.is_known_to(self.verdict)

    def is_known_to(self, verdict: str) -> bool | None:
        """Whether a verdict, on any engine, is as expected; None for one that decides nothing."""
        if verdict not in (Status.PASS, Status.FAIL) or self.kind == "measurement":
            return None
        return self.by_chance or (verdict == Status.PASS) == self.reproduces

    @property
    def is_one_real_run(self) -> bool:
        """Whether a single run on real packets left it open."""
        return self.verdict == Status.INSUFFICIENT_DATA and self.n == 1

    @property
    def is_measured(self) -> bool:
        """Whether it is a finished measurement, which can't fail."""
        return self.kind == "measurement" and self.verdict in (Status.PASS, Status.FAIL, Status.INCONCLUSIVE)

    @property
    def is_undecidable(self) -> bool:
        """Whether it was left undecided where it can't be decided."""
        return bool(self.undecidable) and self.verdict == Status.INCONCLUSIVE

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
        if self.is_measured or self.is_undecidable:
            return Status.SKIPPED
        if self.as_reference is not None and self.is_one_real_run:
            return Status.PASS if self.as_reference else Status.FAIL
        if self.as_known is None:
            return self.verdict
        return Status.PASS if self.as_known else Status.FAIL

    def as_json(self) -> dict[str, Any]:
        """The entry in ``claims.json``."""
        found = {k: v for k, v in asdict(self).items() if v is not None or k not in ("outcome", "xfail")}
        # It counts, unless a quick run leaves it out by definition, or the engine supports it on no machine.
        return {**found, "asked": self.verdict != Status.SKIPPED, "as_known": self.as_known}


def read_claims(folder: Path) -> dict[str, Any]:
    """Reads ``claims.json`` of a result of all claims, or a reference; raises BadInput."""
    return current(read_json(folder / "claims.json"), SCHEMA)


def judged_in(document: Mapping[str, Any]) -> list[Judged]:
    """The claims of a ``claims.json``."""
    return [Judged(**entry) for entry in document["claims"]]


def verdict_of(claims: Sequence[Judged], *, quick: bool) -> Status:
    """Verdict of all claims: ``pass`` if all results are as expected; a quick run may leave some open."""
    return status.verdict_of((claim.part for claim in claims), may_stay_open=quick)


def decided_of(claims: Sequence[Judged]) -> str:
    """``19 of 71 claims decided; not decided: 45 skipped, 7 inconclusive``: what a PASS or FAIL speaks of."""
    text = f"{sum(claim.as_known is not None for claim in claims)} of {len(claims)} claims decided"
    if counted := counts(claim.counted_as for claim in claims if claim.counted_as):
        text += f" ({counted})"
    if compared := [claim for claim in claims if claim.as_reference is not None]:
        outside = [claim.id for claim in compared if not claim.as_reference]
        text += f"; {len(compared) - len(outside)} of {len(compared)} single runs lie where the reference expects"
        text += f", outside: {', '.join(outside)}" if outside else ""
    open_ = [c for c in claims if c.as_known is None and c.as_reference is None and not c.is_measured]
    left = Counter(claim.part for claim in open_ if not claim.is_undecidable)
    rest = [f"{measured} measured only"] if (measured := sum(claim.is_measured for claim in claims)) else []
    if undecidable := [claim.id for claim in open_ if claim.is_undecidable]:
        rest.append(f"{len(undecidable)} can't be decided here ({', '.join(undecidable)})")
    rest += [f"{left[part]} {part}" for part in (*reversed(BEST_FIRST), Status.SKIPPED) if left[part]]
    return text + (f"; not decided: {', '.join(rest)}" if rest else "")


def summary_of(claims: Sequence[Judged]) -> str:
    """Summary in a sentence. Only a source's claim, in its own set-up, can fail to reproduce."""
    held = [claim for claim in claims if claim.verdict == Status.PASS]
    parts = [f"{len(held)} of {len(claims)} claims hold"]
    if changed := sum(claim.kind == "changed" for claim in held):
        parts[0] += f", {changed} of them with something changed"
    if known := sum(c.kind == "claim" and c.verdict == Status.FAIL and not c.reproduces for c in claims):
        parts.append(f"{known} do not reproduce, as is known")
    if surprising := [claim.id for claim in claims if claim.as_known is False]:
        parts.append(f"otherwise than known: {', '.join(surprising)}")
    return "; ".join([*parts, decided_of(claims)]) + "."


def changes_since(before: Iterable[Judged], claims: Iterable[Judged]) -> tuple[list[str], list[str]]:
    """Names the claims that pass now and did not in ``before``, and those that passed there and do not now. A claim
    that only one of both has is not compared."""
    then = {claim.id: claim.part == Status.PASS for claim in before}
    now = {claim.id: claim.part == Status.PASS for claim in claims if claim.id in then}
    new, lost = ([name for name in now if now[name] == passes != then[name]] for passes in (True, False))
    return new, lost


def together_of(claims: Sequence[Judged]) -> str:
    """Says how many of the claims that chance has a part in are decided together, by e-BH."""
    evidence = {
        claim.id: claim.evidence for claim in claims if claim.evidence is not None and claim.kind != "measurement"
    }
    if not evidence:
        return "chance has no part in any claim"
    together = sign_test.together(evidence)
    left = [c.id for c in claims if c.id in evidence and c.as_known is not None and c.id not in together]
    text = f"of {len(evidence)} claims that chance has a part in, {len(together)} are decided together (e-BH): at most "
    text += f"{sign_test.ERROR:.0%} of these are expected to be decided wrong"
    return text + (f"; decided by themselves only: {', '.join(left)}" if left else "")


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
    rows = []
    for claim in claims:
        low, high = next(iter(claim.intervals.values()), ("", ""))[:2] if len(claim.figures) == 1 else ("", "")
        there = {column: claim.beside.get(engine, {}).get(name) for column, engine, name in others}
        rows.append({**claim.as_json(), "low": low, "high": high, "level": claim.level, **there})
    documents.write_csv(path, rows, [*COLUMNS, *(column for column, *_ in others)])


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


_OF_CLAIM = {"source", "kind", "text", "run", "published", "expected", "tolerance", "why", "value"}
"""Fields of a judged claim from the claims' file."""


@dataclass(frozen=True)
class Made:
    """A run's entry in ``claims.json``. ``folder`` is its result folder inside that of all runs, "" without one.

    ``state`` is its verdict, else ``error``, ``unsupported`` by this machine, or ``skipped``: not supported by the
    engine on any machine, or left out by a quick run."""

    name: str
    command: str
    state: Status
    why: str = ""
    folder: str = ""
    exit_code: int = 0
    seconds: float = 0.0
    disk_mb: float = 0.0
    shorter: bool = False
    """Whether it is the quick run."""


def expected_of(name: str, claim: Claim, made: Made, engine: str) -> ExpectedFailure | None:
    """Returns the expected failure of a claim that has one. One that is not listed accepts no measured value."""
    if claim.xfail is None:
        return None
    form = "quick" if made.shorter else "full"
    listed = expected_failures.read().of_claim(name, engine, form, claim.check)
    return listed or ExpectedFailure(claim=name, cause=claim.xfail.cause, strict=claim.xfail.strict)


def judge(
    name: str, claim: Claim, made: Made, folder: Path, expected: ExpectedFailure | None = None, undecidable: str = ""
) -> Judged:
    """Judge a claim by its run in ``folder``, that of all runs. ``expected`` is its expected failure,
    ``undecidable`` the reason why runs on their engine may leave it undecided.

    A claim rests on its whole run: the deciding check counts only if no run behind it broke down, is missing or
    untrusted, or failed a fact (:data:`FACTS`) such as its payload. Otherwise the claim stays open, with a reason.
    """
    status, reason, result, table = _decide(name, claim, made, folder, expected)
    undecidable = undecidable if status == Status.INCONCLUSIVE else ""
    reason += f" It can't be decided here: {undecidable}" if undecidable else ""
    decided = result is not None and status in (Status.PASS, Status.FAIL)
    numbers = _in_numbers(result, table, claim.unit) if result else {}
    has_figure = result and (result.status in (Status.PASS, Status.FAIL) or "evidence" in result.figures)
    if decided or (has_figure and status == Status.INSUFFICIENT_DATA):
        numbers["n"] = numbers["n"] or 1
    return Judged(
        id=name,
        sees=_sees(status, result),
        undecidable=undecidable,
        least_seen=result.figures.get("least_seen", {}) if result else {},
        **claim.model_dump(include=_OF_CLAIM),
        verdict=status,
        reason=reason,
        command=made.command,
        check=claim.check or (result.judge if result else "judge"),
        reproduces=claim.xfail is None,
        by_chance=claim.xfail is not None and not claim.xfail.strict,
        outcome=result.outcome if result and decided else None,
        xfail=result.xfail.model_dump(mode="json") if result and result.xfail else None,
        cause=claim.xfail.cause if claim.xfail else claim.cause,
        observations=result.figures.get("observations") if result else None,
        evidence=result.figures.get("evidence") if result and status in (*OPEN, Status.PASS, Status.FAIL) else None,
        result=made.folder,
        report=f"{made.folder}/report.html" if made.folder else "",
        **numbers,
    )


def _sees(status: Status, result: CheckResult | None) -> str:
    """Smallest distance from a limit that the runs would have shown, or ``exact`` without chance; "" of what neither
    holds nor fails by a number."""
    if result is None or status not in (*OPEN, Status.PASS, Status.FAIL):
        return ""
    if "evidence" not in result.figures:
        return "unknown, of one real run" if status == Status.INSUFFICIENT_DATA else "exact"
    if "relative" not in (seen := result.figures.get("least_seen", {})):
        return "unknown, of so few runs"
    told = "{relative:.2g} of the figure, of {n} runs, σ {sigma:.2g} of {runs}".format_map(seen)
    return told + ("; nearer to a limit it can't be decided here" if status == Status.INCONCLUSIVE else "")


def _decide(
    name: str, claim: Claim, made: Made, folder: Path, expected: ExpectedFailure | None
) -> tuple[Status, str, CheckResult | None, Mapping[str, Any] | None]:
    """The status of a claim and the reason for it, with the deciding check's result and the table that it is over, if
    there are any."""
    if not made.folder:
        return made.state, made.why, None, None
    if made.shorter and claim.full_only:
        return Status.SKIPPED, f"Left open by a quick run: {claim.full_only}", None, None
    run = confine.inside(folder, made.folder)
    verdict = read_verdict(run)
    if verdict.broken:
        return Status.ERROR, verdict.broken, None, None
    table = read_table(run) if (run / "table.json").is_file() else None
    result, apart = next((check for check in verdict.checks if check.name == claim.check), None), None
    if table is None:
        apart = _run_apart(verdict, result) or _by_chance(run, result)
    elif (check := deciding_check(name, claim, run)) and (result is None) == (claim.check is None):
        cells = results_of(table)
        if result is None or result.status != Status.SKIPPED:
            result = _judge_watched(check, table, cells, expected)
        if result.status != Status.SKIPPED:
            apart = _worst_cell(check, cells)
    if result is None:
        return Status.ERROR, f"{made.folder} has no check {claim.check!r}", None, None
    if result.xfail is None and result.judge not in FACTS:
        result = result.expected_to_fail(expected)
    status, reason = apart or (result.status, result.reason)
    if status == Status.MISSING or (status == Status.FAIL and apart):
        status = Status.ERROR  # the run failed, which says nothing of the claim
    on_no_machine = status == Status.UNSUPPORTED and table is not None and engine_of(table).virtual_time
    if on_no_machine or result.status == Status.SKIPPED:
        # The claim itself was requested: that its run is a selection without it leaves it open.
        status = Status.INSUFFICIENT_DATA if result.code == NOT_SELECTED else Status.SKIPPED
    return status, reason, result, table


def _judge_watched(
    check: TableCheck, table: Mapping[str, Any], cells: Sequence[CellResult], expected: ExpectedFailure | None
) -> CheckResult:
    """The result of a table's check by runs that end when the claim is decided."""
    if isinstance(check, OfColumns):  # of a selection, as its verdict takes it
        check = check.model_copy(update={"columns": [name for name in check.columns if name in table["columns"]]})
    return judge_one(check, summaries_of(table), cells, table["engine"], expected, watched=True)


def deciding_check(name: str, claim: Claim, run: Path) -> TableCheck | None:
    """The check of a table, in its result folder, that decides a claim; None where the table has no such check."""
    if check := claim.table_check(name):
        return check
    kept = table_file.load(str(run / table_file.KEPT_AS)).table.checks
    return next((check for check in kept if check.name == claim.check), None)


def further_cells(
    name: str, claim: Claim, made: Made, folder: Path, expected: ExpectedFailure | None, most: int
) -> list[str]:
    """The ids of the next repetitions of the cells that an undecided claim rests on, up to ``most`` of each; none of
    cells that chance has no part in. A measurement is finished with the fewest runs that have an interval."""
    found = judge(name, claim, made, folder, expected)
    goes_on = (Status.INSUFFICIENT_DATA, *([Status.INCONCLUSIVE] if claim.kind != "measurement" else []))
    run = folder / found.result
    if found.evidence is None or found.verdict not in goes_on or not (run / "table.json").is_file():
        return []
    check = deciding_check(name, claim, run)
    assert check is not None
    ids = []
    for (row, column), cells in by_setting(cells_of(check, results_of(read_table(run)))).items():
        last = max(Place.of(cell).repetition for cell in cells)
        if len(observations(cells)) > 1 or not cells[0].record.exact:
            upto = min(most, max(sign_test.LEAST_N, last + 1))
            ids += [Place(row, column, repetition).cell for repetition in range(last + 1, upto + 1)]
    return ids


def _by_chance(run: Path, result: CheckResult | None) -> tuple[Status, str] | None:
    """Returns the status and reason of a single run whose check may come out otherwise the next time: in real time,
    unless it is a fact, which chance has no part in."""
    if result is None or result.status not in (Status.PASS, Status.FAIL) or result.judge in FACTS:
        return None
    if not (run / "plan.json").is_file() or is_exact(provenance_of(run)):
        return None
    return Status.INSUFFICIENT_DATA, f"{result.reason} n = 1 decides no claim on real packets."


def against_reference(claims: Iterable[Judged], name: str, reference: Iterable[Judged]) -> list[Judged]:
    """Claims of which one run on real packets decides none, each with whether its figures lie where a reference of the
    same engine and form expects those of another run: Student's prediction interval of logs about the median. All of
    the intervals hold together with 95% (Bonferroni). Beside it is the least difference that one run would have shown;
    fewer than :data:`LEAST_N` runs of a reference say nothing of either."""
    every = {claim.id: claim for claim in reference}
    known = [claim for claim in every.values() if claim.least_seen.get("sigma") and (claim.n or 0) >= LEAST_N]
    found = []
    for claim in claims:
        of = every.get(claim.id)
        places = sorted(claim.figures.keys() & of.figures.keys()) if of and claim.is_one_real_run else []
        if of and places and of in known:
            sigma, freedom = of.least_seen["sigma"], int(of.least_seen["freedom"])
            level = 1 - (1 - LEVEL) / (len(known) * len(places))
            by, least = power.of_another(sigma, freedom, of.n or 1, level)
            ranges = {place: (of.figures[place] * math.exp(-by), of.figures[place] * math.exp(by)) for place in places}
            outside = ", ".join(
                f"{place} {words.figure(claim.figures[place])} outside {words.figure(low)} to {words.figure(high)}"
                for place, (low, high) in ranges.items()
                if not low <= claim.figures[place] <= high
            )
            reason = f"{claim.reason} By the reference {name}, {outside or 'it lies where another run is expected'}."
            seen = {"relative": round(math.expm1(min(least, power.MOST)), 6), "n": 1}
            sees = f"{seen['relative']:.2g} of the figure, of one run beside {of.n} of {name}, σ {sigma:.2g}"
            claim = replace(claim, as_reference=not outside, reason=reason, sees=sees, least_seen=seen)
        elif places and of and (of.n or 0) < LEAST_N:
            claim = replace(claim, sees=f"unknown, of one run beside {of.n} of {name}, which say nothing of the spread")
        found.append(claim)
    return found


def _run_apart(verdict: Verdict, result: CheckResult | None) -> tuple[Status, str] | None:
    """Returns the status and reason of a single run or a sweep that can't decide a claim, whatever its check says."""
    if not verdict.trust.trusted:
        return Status.UNTRUSTED, "; ".join(verdict.trust.reasons)
    failed = failed_fact((check.name, check.judge, check.status) for check in verdict.checks if check is not result)
    return (Status.FAIL, f"“{failed}” does not hold, so the run behind it can't be relied on.") if failed else None


def _worst_cell(check: TableCheck, cells: Sequence[CellResult]) -> tuple[Status, str] | None:
    """Returns the worst of the cells that a table's check is about. A run of a repeated scenario may fail in numbers of
    other claims."""
    apart = []
    for cell in cells_of(check, cells):
        at, status, why = cell.at, cell.standing, cell.record.reason
        if isinstance(check, EachRunCheck) and status in (Status.PASS, Status.FAIL):
            others = {name: of for name, of in cell.record.checks.items() if name != check.check}
            failed = failed_fact((name, of.get("judge", ""), of["status"]) for name, of in others.items())
            status, why = (Status.FAIL, f"“{failed}” does not hold.") if failed else (Status.PASS, "")
        if status != Status.PASS:
            apart.append((status, f"Row {at['row']} {at['column']} #{at['repetition']}: {why}"))
    return max(apart, key=lambda found: BEST_FIRST.index(found[0]), default=None)


def failed_fact(checks: Iterable[tuple[str, str, Status]]) -> str:
    """Name of the first check (name, judge, status) of a fact that does not hold; "" for none."""
    holds = (Status.PASS, Status.SKIPPED)
    return next((name for name, judge, status in checks if judge in FACTS and status not in holds), "")


def _in_numbers(result: CheckResult, table: Mapping[str, Any] | None, unit: str) -> dict[str, Any]:
    """The figures that decided, by ``row column`` or column, with their intervals, in words, and the least number of
    runs behind one. A check of one run, or of a line through any cells, has its measured value."""
    columns, of = table["columns"] if table else (), result.figures
    places = [key for key in of if key in columns or key.partition(" ")[2] in columns]
    figures = {place: float(of.get("medians", of)[place]) for place in places}  # a known check's own are errors
    intervals = of.get("median_intervals" if "medians" in of else "intervals", {}) if places else {}
    if not places and isinstance(result.measured, (int, float)):
        figures = {MEASURED: float(result.measured)}
        intervals = {MEASURED: of["interval"]} if of.get("interval") else {}
    counts = (
        max(spreads[column].n for spreads in row.cells.values())
        for row in (summaries_of(table) if table else ())
        for column in columns
        if not places or f"{row.name} {column}" in places or column in places
    )
    return {
        "n": int(of["n"]) if result.judge == "each_run" else min(filter(None, counts), default=None),
        "figures": figures,
        "intervals": {place: tuple(interval) for place, interval in intervals.items()},
        "measured": _measured(figures, intervals, unit),
    }


def _measured(figures: Mapping[str, float], intervals: Mapping[str, Sequence[float]], unit: str) -> str:
    """Formats a figure with its interval, or the range of several, with the unit; "" for a count of cells, or words,
    which are in the reason."""
    if not figures:
        return ""
    low, high = words.figure(min(figures.values())), words.figure(max(figures.values()))
    if len(figures) > 1:
        return f"{low} to {high} {unit}".strip() + f", {len(figures)} cells"
    ends = "".join(f" [{words.figure(low)}, {words.figure(high)}]" for low, high, *_ in intervals.values())
    return f"{low}{ends} {unit}".strip()
