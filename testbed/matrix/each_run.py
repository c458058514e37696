"""A check that the runs of a table make themselves, over all of them: the verdict of a scenario that is repeated."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from testbed import intervals
from testbed.checks.result import CheckResult, Status, rounded
from testbed.intervals import Found, Interval
from testbed.matrix.model import EachRunCheck
from testbed.matrix.outcome import Outcome
from testbed.report import words

_STATUS: dict[Found, Status] = {"inside": "pass", "outside": "fail", "straddles": "undecided"}


def judge_each_run(check: EachRunCheck, outcomes: Sequence[Outcome]) -> CheckResult:
    """Over the trusted runs.

    Where three or more have a figure that is to be within a tolerance of an expected one, the interval of its median
    decides. Else it holds where it holds in every run, fails where it fails in every run, and is undecided between.
    """
    results = [
        o.checks[check.check] for o in outcomes if o.verdict in ("pass", "fail") and check.check in o.checks
    ]
    statuses = [result["status"] for result in results]
    counted = [result for result in results if result["status"] in ("pass", "fail")]
    values = [float(r["measured"]) for r in counted if _is_number(r["measured"])]
    interval = intervals.of_median(values) if len(values) == len(counted) else None
    if statuses and set(statuses) == {"not-asked"}:
        return _result(check, "not-asked", "Not asked of this policy.", results, values, None)
    if not counted:
        status: Status = "error" if "error" in statuses else "not-covered"
        return _result(check, status, "No run that counts decides it.", results, values, None)
    held = sum(result["status"] == "pass" for result in counted)
    reason = f"Holds in {held} of {len(counted)} runs."
    if values:
        reason += f" Median {words.figure(statistics.median(values))}"
        reason += f" [{words.figure(interval.low)}, {words.figure(interval.high)}]." if interval else "."
    limits = {_limits(result) for result in counted}
    low, high = limits.pop() if len(limits) == 1 else (None, None)  # each run may ask for something else
    if interval is not None and low is not None:
        status = _STATUS[interval.against(low, high)]
    else:
        status = "pass" if held == len(counted) else "undecided" if held else "fail"
    if len(counted) < intervals.LEAST_N:
        reason += f" Fewer than {intervals.LEAST_N} runs say nothing of the spread."
    return _result(check, status, reason, counted, values, interval)


def _limits(result: dict[str, Any]) -> tuple[float | None, float | None]:
    """From which to which value it is to be, where the check says so in numbers."""
    expected, tolerance = result["expected"], result["tolerance"]
    if not _is_number(expected) or not _is_number(tolerance):
        return None, None
    return expected - tolerance, expected + tolerance


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _result(
    check: EachRunCheck, status: Status, reason: str, results: Sequence[dict[str, Any]], values: Sequence[float],
    interval: Interval | None,
) -> CheckResult:  # fmt: skip
    figures: dict[str, Any] = {"n": len(results)}
    if values:
        figures["values"] = [rounded(value) for value in values]
    if interval is not None:
        figures["interval"] = [rounded(end) for end in interval]
    return CheckResult(
        name=check.name, judge=check.judge, status=status,
        measured=rounded(statistics.median(values)) if values else None,
        expected=results[0]["expected"] if results else None,
        tolerance=results[0]["tolerance"] if results else None,
        reason=reason, figures=figures,
    )  # fmt: skip
