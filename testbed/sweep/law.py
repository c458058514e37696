"""The convergence law over a sweep: time until the ratio holds, over τ = W / Σ rate, as a fitted line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from testbed.checks.result import CheckResult, rounded
from testbed.line import Line
from testbed.sweep.model import LawLine
from testbed.sweep.table import Row


class Fit(NamedTuple):
    """What was measured and what the law says, over the same τ (seconds); of each its line."""

    tau_s: list[float]
    measured_s: list[float]
    expected_s: list[float]
    measured: Line
    expected: Line


def fit(rows: Sequence[Row], asked: LawLine) -> Fit | None:
    """Over the policy's runs that settled; None with fewer than three different τ."""
    used = [
        row
        for row in of_the_law(rows, asked)
        if row.get("settled_s") is not None and row.get("law_settled_s") is not None
    ]
    tau_s = [float(row["tau_s"]) for row in used]
    if len(set(tau_s)) < 3:
        return None
    measured_s, expected_s = ([float(row[key]) for row in used] for key in ("settled_s", "law_settled_s"))
    return Fit(tau_s, measured_s, expected_s, Line.through(tau_s, measured_s), Line.through(tau_s, expected_s))


def of_the_law(rows: Sequence[Row], asked: LawLine) -> list[Row]:
    """The policy's runs that the law is about."""
    return [
        row
        for row in rows
        if row["policy"] == asked.policy
        and float(row.get("tau_s") or 0) >= asked.min_round_trips * float(row.get("rtt_ms") or 0) / 1000
    ]


def check(found: Fit | None, asked: LawLine, runs: int) -> CheckResult:
    """Whether the fitted slope is the law's; ``runs`` is how many the law is about."""
    if found is None:
        reason = "Not decided: too few runs settled within their transfer to fit a line."
        return CheckResult(name=asked.check, judge="law_slope", status="not-covered", reason=reason)
    slope, law = found.measured.slope, found.expected.slope
    off = slope / law - 1
    return CheckResult(
        name=asked.check,
        judge="law_slope",
        status="pass" if abs(off) <= asked.tolerance else "fail",
        measured=rounded(slope),
        expected=rounded(law),
        tolerance=asked.tolerance,
        reason=(
            f"{len(found.tau_s)} of {runs} runs that the law is about settled; the fitted line is "
            f"{found.measured.intercept:.2f} s + {slope:.3f}·τ (R² {found.measured.r2:.4f}), the law's slope is "
            f"{law:.3f}: {off:+.1%}, asked within ±{asked.tolerance:.0%}."
        ),
        figures={"intercept_s": rounded(found.measured.intercept), "r_squared": rounded(found.measured.r2)},
    )
