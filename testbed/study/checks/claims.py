"""Judges a claim by the result folder of its run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.dataclasses import dataclass

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
from testbed.study.kinds.table_result import read_table, results_of, summaries_of
from testbed.study.result import CellResult

if TYPE_CHECKING:
    from testbed.study.kinds.claims_file import Claim

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


def judge(name: str, claim: Claim, made: Made, folder: Path, expected: ExpectedFailure | None = None) -> Judged:
    """Judge a claim by its run in ``folder``, that of all runs. ``expected`` is its expected failure.

    A claim rests on its whole run: the deciding check counts only if no run behind it broke down, is missing or
    untrusted, or failed a fact (:data:`FACTS`) such as its payload. Otherwise the claim stays open, with a reason.
    """
    status, reason, result, table = _decide(name, claim, made, folder, expected)
    decided = result is not None and status in (Status.PASS, Status.FAIL)
    numbers = _in_numbers(result, table, claim.unit) if result else {}
    if decided:
        numbers["n"] = numbers["n"] or 1
    return Judged(
        id=name,
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
        result=made.folder,
        report=f"{made.folder}/report.html" if made.folder else "",
        **numbers,
    )


Decision = tuple[Status, str, CheckResult | None, Mapping[str, Any] | None]
"""Status and reason of a claim, with the deciding check's result and the table that it is over, where there are any."""


def _decide(name: str, claim: Claim, made: Made, folder: Path, expected: ExpectedFailure | None) -> Decision:
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
        apart = _run_apart(verdict, result)
    else:
        cells = results_of(table)
        check = claim.table_check(name)
        if check is not None:
            result = judge_one(check, summaries_of(table), cells, table["engine"], expected)
        else:
            kept = table_file.load(str(run / table_file.KEPT_AS)).table.checks
            check = next((check for check in kept if check.name == claim.check), None)
        if check is not None and result is not None and result.status != Status.SKIPPED:
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
        status = Status.SKIPPED
    return status, reason, result, table


Apart = tuple[Status, str]
"""Status and reason of a run that can't decide a claim, whatever the deciding check says."""


def _run_apart(verdict: Verdict, result: CheckResult | None) -> Apart | None:
    """The reason that keeps a single run or a sweep from deciding a claim."""
    if not verdict.trust.trusted:
        return Status.UNTRUSTED, "; ".join(verdict.trust.reasons)
    failed = _failed_fact((check.name, check.judge, check.status) for check in verdict.checks if check is not result)
    return (Status.FAIL, f"“{failed}” does not hold, so the run behind it can't be relied on.") if failed else None


def _worst_cell(check: TableCheck, cells: Sequence[CellResult]) -> Apart | None:
    """Returns the worst of the cells that a table's check is about. A run of a repeated scenario may fail in numbers of
    other claims."""
    apart = []
    for cell in cells_of(check, cells):
        at, status, why = cell.at, cell.standing, cell.record.reason
        if isinstance(check, EachRunCheck) and status in (Status.PASS, Status.FAIL):
            others = {name: of for name, of in cell.record.checks.items() if name != check.check}
            failed = _failed_fact((name, of.get("judge", ""), of["status"]) for name, of in others.items())
            status, why = (Status.FAIL, f"“{failed}” does not hold.") if failed else (Status.PASS, "")
        if status != Status.PASS:
            apart.append((status, f"Row {at['row']} {at['column']} #{at['repetition']}: {why}"))
    return max(apart, key=lambda found: BEST_FIRST.index(found[0]), default=None)


def _failed_fact(checks: Iterable[tuple[str, str, Status]]) -> str:
    """Name of the first check (name, judge, status) of a fact that does not hold; "" for none."""
    holds = (Status.PASS, Status.SKIPPED)
    return next((name for name, judge, status in checks if judge in FACTS and status not in holds), "")


def _in_numbers(result: CheckResult, table: Mapping[str, Any] | None, unit: str) -> dict[str, Any]:
    """The figures that decided, by ``row column`` or column, with their intervals, in words, and the least number of
    runs behind one. A check of one run, or of a line through any cells, has its measured value."""
    columns = table["columns"] if table else ()
    places = [key for key in result.figures if key in columns or key.partition(" ")[2] in columns]
    if places:
        known = "medians" in result.figures  # its own figures are errors
        medians = result.figures["medians"] if known else result.figures
        figures = {place: float(medians[place]) for place in places}
        intervals = result.figures.get("median_intervals" if known else "intervals", {})
    else:
        figures = {"measured": float(result.measured)} if isinstance(result.measured, (int, float)) else {}
        interval = result.figures.get("interval")
        intervals = {"measured": interval} if figures and interval else {}
    counts = (
        max(spreads[column].n for spreads in row.cells.values())
        for row in (summaries_of(table) if table else ())
        for column in columns
        if not places or f"{row.name} {column}" in places or column in places
    )
    return {
        "n": int(result.figures["n"]) if result.judge == "each_run" else min(filter(None, counts), default=None),
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
