"""Judges a claim by the result folder of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.checks.result import CheckResult, Verdict
from testbed.checks.verify import read_json, read_verdict
from testbed.claims.execute import Made
from testbed.claims.judged import WORD_OF_STATUS, Judged, Word
from testbed.claims.model import Claim
from testbed.matrix import report as table_report
from testbed.matrix.judging import judge_one
from testbed.report import words

_WORD_OF_STATE: Mapping[str, Word] = {
    "unsupported": "unsupported", "not carried": "not-covered", "left out": "not-covered", "broken": "broken",
}  # fmt: skip


def judge(name: str, claim: Claim, made: Made, folder: Path) -> Judged:
    """``folder`` is that of all runs; what its files leave open is open, and says why."""
    if made.state != "judged":
        return _judged(name, claim, made, _WORD_OF_STATE[made.state], made.why)
    if made.shorter and claim.full_only:
        return _judged(name, claim, made, "not-covered", f"Left open by a quick run: {claim.full_only}")
    run = folder / made.folder
    verdict = read_verdict(run)
    if verdict.broken:
        return _judged(name, claim, made, "broken", verdict.broken)
    table = read_json(run / "table.json") if (run / "table.json").is_file() else None
    result = _result(name, claim, verdict, table)
    if result is None:
        return _judged(name, claim, made, "broken", f"{made.folder} has no check {claim.check!r}")
    word, reason = WORD_OF_STATUS[result.status], result.reason
    if table is None and not verdict.trust.trusted:
        word, reason = "untrusted", "; ".join(verdict.trust.reasons)
    elif table is not None and result.status == "not-covered":
        word, reason = _why_open(table, reason)
    return _judged(name, claim, made, word, reason, result, table)


def _result(name: str, claim: Claim, verdict: Verdict, table: Mapping[str, Any] | None) -> CheckResult | None:
    asked = claim.table_check(name)
    if asked is not None and table is not None:
        return judge_one(asked, table_report.summaries_of(table), table["columns"], engine=table["engine"])
    return next((check for check in verdict.checks if check.name == claim.check), None)


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
    for row in table_report.summaries_of(table):
        for column in table["columns"]:
            n = max(spreads[column].n for spreads in row.cells.values())
            if n and (not places or f"{row.name} {column}" in places or column in places):
                counts.append(n)
    return min(counts, default=None)


def _figures(
    result: CheckResult | None, table: Mapping[str, Any] | None
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """What decided, by place, with its intervals; a check of one run, or of a line, has one: its measured value."""
    if result is None:
        return {}, {}
    places = [] if table is None else _places(result, table)
    if not places:
        if not isinstance(result.measured, (int, float)) or isinstance(result.measured, bool):
            return {}, {}
        low, high = result.figures.get("interval", (None, None))
        return {"measured": float(result.measured)}, {} if low is None else {"measured": (low, high)}
    known = "medians" in result.figures  # its own figures are errors
    figures = result.figures["medians"] if known else result.figures
    intervals = result.figures.get("median_intervals" if known else "intervals", {})
    return (
        {place: float(figures[place]) for place in places},
        {place: (float(low), float(high)) for place, (low, high) in intervals.items()},
    )


def _measured(
    result: CheckResult | None,
    figures: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    unit: str,
) -> str:
    """In a few words: the figure with its interval, or from the least to the largest of several; and what it is."""
    if result is None:
        return ""
    cells = ""
    if not figures:
        return ""  # a count of cells, or words: the reason has them
    if len(figures) == 1:
        (place, value) = next(iter(figures.items()))
        text = words.figure(value)
        if place in intervals:
            text += f" [{words.figure(intervals[place][0])}, {words.figure(intervals[place][1])}]"
    else:
        text = f"{words.figure(min(figures.values()))} to {words.figure(max(figures.values()))}"
        cells = f", {len(figures)} cells"
    return f"{text} {unit}".strip() + cells if text else ""


def _why_open(table: Mapping[str, Any], reason: str) -> tuple[Word, str]:
    """A check of which no cell counts is untrusted or unsupported where its cells are; what the engine does not carry
    is not covered."""
    outcomes: Sequence[Mapping[str, Any]] = table["outcomes"]
    if untrusted := [outcome for outcome in outcomes if outcome["verdict"] == "untrusted"]:
        return "untrusted", untrusted[0]["why"]
    if outcomes and all(outcome["verdict"] == "unsupported" for outcome in outcomes):
        return "unsupported" if table["engine"] == "mininet" else "not-covered", outcomes[0]["why"]
    return "not-covered", reason


def _judged(
    name: str, claim: Claim, made: Made, word: Word, reason: str, result: CheckResult | None = None,
    table: Mapping[str, Any] | None = None,
) -> Judged:  # fmt: skip
    n = _n(result, table) if result is not None and table is not None else None
    figures, intervals = _figures(result, table)
    return Judged(
        id=name, source=claim.source, kind=claim.kind, text=claim.text.strip(), verdict=word, reason=reason,
        run=claim.run, command=made.command, check=claim.check or (result.judge if result else "judge"),
        published=claim.published, expected=claim.expected, tolerance=claim.tolerance, why=claim.why.strip(),
        reproduces=claim.reproduces, cause=claim.cause.strip(), value=claim.value,
        measured=_measured(result, figures, intervals, claim.unit),
        n=n if n is not None else 1 if result is not None and word in ("holds", "fails") else None,
        figures=figures, intervals=intervals, result=made.folder,
        report=f"{made.folder}/report.html" if made.folder else "",
    )  # fmt: skip
