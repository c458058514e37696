"""What became of a run that claims need, and the judgement of a claim by its result folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import confine
from testbed.judge import expected_failures
from testbed.judge.checks.registry import FACTS
from testbed.judge.checks.result import CheckResult, Verdict
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.status import BEST_FIRST, Status
from testbed.judge.verify import read_verdict
from testbed.plan.engines import engine_of
from testbed.results.report import words
from testbed.study.checks.each_run import EachRunCheck
from testbed.study.checks.judged import Judged
from testbed.study.checks.table import TableCheck, cells_of, judge_one
from testbed.study.kinds import table_file
from testbed.study.kinds.claims_file import Claim
from testbed.study.kinds.table_result import read_table, results_of, summaries_of
from testbed.study.result import CellResult


@dataclass(frozen=True)
class Made:
    """What became of a run. ``folder`` is its result folder inside that of all runs, "" without one.

    ``state`` is its verdict, else ``error``, ``unsupported`` by this machine, or ``skipped``: what the engine carries
    on no machine, and what a quick form leaves out."""

    name: str
    command: str
    state: Status
    why: str = ""
    folder: str = ""
    exit_code: int = 0
    seconds: float = 0.0
    disk_mb: float = 0.0
    shorter: bool = False
    """Whether it is the quick form."""

    @property
    def judged(self) -> bool:
        """Whether it has a verdict."""
        return bool(self.folder)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Made:
        """Reads its entry in ``claims.json``."""
        return cls(**{**document, "state": Status(document["state"])})

    @classmethod
    def never(cls, name: str) -> Made:
        """One that was requested and is not there."""
        return cls(name, "", Status.ERROR, "It was never made.")


def expected_of(name: str, claim: Claim, made: Made, engine: str) -> ExpectedFailure | None:
    """What is expected of a claim that is known not to hold; None of any other. Where it is not listed, nothing that it
    may measure is as expected."""
    if claim.xfail is None:
        return None
    form = "quick" if made.shorter else "full"
    listed = expected_failures.read().of_claim(name, engine, form, claim.check)
    return listed or ExpectedFailure(claim=name, cause=claim.xfail.cause, strict=claim.xfail.strict)


def judge(name: str, claim: Claim, made: Made, folder: Path, expected: ExpectedFailure | None = None) -> Judged:
    """``folder`` is that of all runs; what its files leave open is open, and says why. ``expected`` is what the claim
    is known to fail with.

    A claim stands on its whole run: what the deciding check says counts only where no run behind it broke down, is
    missing or untrusted, or failed in a fact (:data:`FACTS`) such as its payload.
    """
    if not made.judged:
        return _judged(name, claim, made, made.state, made.why)
    if made.shorter and claim.full_only:
        reason = f"Left open by a quick run: {claim.full_only}"
        return _judged(name, claim, made, Status.SKIPPED, reason)
    run = confine.inside(folder, made.folder)
    verdict = read_verdict(run)
    if verdict.broken:
        return _judged(name, claim, made, Status.ERROR, verdict.broken)
    table = read_table(run) if (run / "table.json").is_file() else None
    result, stands = _of_run(claim, verdict) if table is None else _of_table(name, claim, verdict, run, table, expected)
    if result is None:
        return _judged(name, claim, made, Status.ERROR, f"{made.folder} has no check {claim.check!r}")
    if result.xfail is None and result.judge not in FACTS:
        result = result.expected_to_fail(expected)
    status, reason = (result.status, result.reason) if stands is None else stands
    if status == Status.MISSING or (status == Status.FAIL and stands is not None):
        status = Status.ERROR  # the run failed, which says nothing of the claim
    on_no_machine = status == Status.UNSUPPORTED and table is not None and engine_of(table).virtual_time
    if on_no_machine or result.status == Status.SKIPPED:
        status = Status.SKIPPED
    return _judged(name, claim, made, status, reason, result, table)


Apart = tuple[Status, str]
"""That a run behind a claim does not stand, whatever the deciding check says: what it is worth, and why."""


def _of_run(claim: Claim, verdict: Verdict) -> tuple[CheckResult | None, Apart | None]:
    """The deciding check of a single run or a sweep."""
    result = next((check for check in verdict.checks if check.name == claim.check), None)
    if not verdict.trust.trusted:
        return result, (Status.UNTRUSTED, "; ".join(verdict.trust.reasons))
    checks = {check.name: (check.judge, check.status) for check in verdict.checks if check is not result}
    if failed := _failed_fact(checks):
        return result, (Status.FAIL, f"“{failed}” does not hold, so the run behind it can't be relied on.")
    return result, None


def _of_table(
    name: str, claim: Claim, verdict: Verdict, run: Path, table: Mapping[str, Any], expected: ExpectedFailure | None
) -> tuple[CheckResult | None, Apart | None]:
    """The deciding check of a table, or of a repeated scenario, and the worst of the cells that it is about."""
    cells = results_of(table)
    asked = claim.table_check(name)
    if asked is None:
        checks = table_file.load(str(run / table_file.KEPT_AS)).table.checks
        asked = next((check for check in checks if check.name == claim.check), None)
        result = next((check for check in verdict.checks if check.name == claim.check), None)
    else:
        summaries = summaries_of(table)
        result = judge_one(asked, summaries, table["columns"], cells, table["engine"], expected)
    if asked is None or result is None or result.status == Status.SKIPPED:
        return result, None
    apart = [
        (standing, f"Row {cell.at['row']} {cell.at['column']} #{cell.at['repetition']}: {why}")
        for cell in cells_of(asked, cells)
        for standing, why in [_apart(asked, cell)]
        if standing != Status.PASS
    ]
    return result, max(apart, key=lambda found: BEST_FIRST.index(found[0])) if apart else None


def _apart(check: TableCheck, cell: CellResult) -> Apart:
    """What a cell is worth to a claim. One of a repeated scenario may fail in numbers that other claims are about."""
    if not isinstance(check, EachRunCheck) or cell.standing not in (Status.PASS, Status.FAIL):
        return cell.standing, cell.record.reason
    others = {
        name: (str(of.get("judge", "")), of["status"]) for name, of in cell.record.checks.items() if name != check.check
    }
    failed = _failed_fact(others)
    return (Status.FAIL, f"“{failed}” does not hold.") if failed else (Status.PASS, "")


def _failed_fact(checks: Mapping[str, tuple[str, Status]]) -> str:
    """The first check about a fact that does not hold; "" where all do."""
    holds = (Status.PASS, Status.SKIPPED)
    return next((name for name, (judge, status) in checks.items() if judge in FACTS and status not in holds), "")


def _places(result: CheckResult, table: Mapping[str, Any]) -> list[str]:
    """The names of the figures that decided: ``row column``, or a column."""
    columns: Sequence[str] = table["columns"]
    return [key for key in result.figures if key in columns or key.partition(" ")[2] in columns]


def _n(result: CheckResult, table: Mapping[str, Any]) -> int | None:
    """The least number of runs behind any figure that decided; of a line, behind any cell."""
    if result.judge == "each_run":
        return int(result.figures["n"])
    places = _places(result, table)
    counts = []
    for row in summaries_of(table):
        for column in table["columns"]:
            n = max(spreads[column].n for spreads in row.cells.values())
            if n and (not places or f"{row.name} {column}" in places or column in places):
                counts.append(n)
    return min(counts, default=None)


def _figures(
    result: CheckResult | None, table: Mapping[str, Any] | None
) -> tuple[dict[str, float], dict[str, tuple[float, ...]]]:
    """What decided, by place, with its intervals; a check of one run, or of a line, has one: its measured value."""
    if result is None:
        return {}, {}
    places = [] if table is None else _places(result, table)
    if not places:
        if not isinstance(result.measured, (int, float)):
            return {}, {}
        interval = result.figures.get("interval")
        return {"measured": float(result.measured)}, {"measured": tuple(interval)} if interval else {}
    known = "medians" in result.figures  # its own figures are errors
    figures = result.figures["medians"] if known else result.figures
    intervals = result.figures.get("median_intervals" if known else "intervals", {})
    return (
        {place: float(figures[place]) for place in places},
        {place: tuple(float(end) for end in found) for place, found in intervals.items()},
    )


def _measured(figures: Mapping[str, float], intervals: Mapping[str, tuple[float, ...]], unit: str) -> str:
    """In a few words: the figure with its interval, or from the least to the largest of several; and what it is."""
    if not figures:
        return ""  # a count of cells, or words: the reason has them
    if len(figures) == 1:
        (place, value) = next(iter(figures.items()))
        text = words.figure(value)
        if place in intervals:
            text += f" [{words.figure(intervals[place][0])}, {words.figure(intervals[place][1])}]"
        return f"{text} {unit}".strip()
    text = f"{words.figure(min(figures.values()))} to {words.figure(max(figures.values()))}"
    return f"{text} {unit}".strip() + f", {len(figures)} cells"


def _judged(
    name: str,
    claim: Claim,
    made: Made,
    status: Status,
    reason: str,
    result: CheckResult | None = None,
    table: Mapping[str, Any] | None = None,
) -> Judged:
    n = _n(result, table) if result is not None and table is not None else None
    figures, intervals = _figures(result, table)
    return Judged(
        id=name,
        source=claim.source,
        kind=claim.kind,
        text=claim.text.strip(),
        verdict=status,
        reason=reason,
        run=claim.run,
        command=made.command,
        check=claim.check or (result.judge if result else "judge"),
        published=claim.published,
        expected=claim.expected,
        tolerance=claim.tolerance,
        why=claim.why.strip(),
        reproduces=claim.xfail is None,
        by_chance=claim.xfail is not None and not claim.xfail.strict,
        outcome=result.outcome if result is not None and status in (Status.PASS, Status.FAIL) else None,
        xfail=result.xfail.model_dump(mode="json") if result is not None and result.xfail else None,
        cause=(claim.xfail.cause if claim.xfail else claim.cause).strip(),
        value=claim.value,
        measured=_measured(figures, intervals, claim.unit),
        n=n if n is not None else 1 if result is not None and status in (Status.PASS, Status.FAIL) else None,
        observations=result.figures.get("observations") if result is not None else None,
        figures=figures,
        intervals=intervals,
        result=made.folder,
        report=f"{made.folder}/report.html" if made.folder else "",
    )
