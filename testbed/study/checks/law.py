"""Judges a sweep: whether the time until windows settle is the law's, by the slope of the line that is fitted to it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.message import Message
from testbed.series.line import Line
from testbed.study.checks.table import LEAST_POINTS
from testbed.study.kinds.sweep_file import LawLine

Row = dict[str, Any]


class Fit(NamedTuple):
    """Measurements over τ (seconds), and the lines of these and of the law."""

    tau_s: list[float]
    measured_s: list[float]
    measured: Line
    expected: Line


def fit_of(rows: Sequence[Row], requested: LawLine) -> Fit | None:
    """Over the policy's runs that settled; None with fewer than three different τ."""
    used = [row for row in of_the_law(rows, requested) if None not in (row.get("settled_s"), row.get("law_settled_s"))]
    tau_s, measured_s, law_s = ([float(row[key]) for row in used] for key in ("tau_s", "settled_s", "law_settled_s"))
    if len(set(tau_s)) < LEAST_POINTS:
        return None
    return Fit(tau_s, measured_s, Line.through(tau_s, measured_s), Line.through(tau_s, law_s))


def of_the_law(rows: Sequence[Row], requested: LawLine) -> list[Row]:
    """The policy's runs that the law is about."""
    return [
        row
        for row in rows
        if row["policy"] == requested.policy
        and float(row.get("tau_s") or 0) >= requested.min_round_trips * float(row.get("rtt_ms") or 0) / 1000
    ]


def judge_law(rows: Sequence[Row], requested: LawLine) -> CheckResult:
    """Whether the slope that is fitted to a sweep's runs is the law's."""
    found, runs = fit_of(rows, requested), len(of_the_law(rows, requested))
    if found is None:
        said = Message(
            "slope.too-few-settled", "Not decided: too few runs settled within their transfer to fit a line."
        )
        return CheckResult.of(requested.check, "law_slope", Status.INSUFFICIENT_DATA, said)
    line, law = found.measured, found.expected.slope
    off = line.slope / law - 1
    return CheckResult.of(
        requested.check,
        "law_slope",
        Status.PASS if abs(off) <= requested.tolerance else Status.FAIL,
        Message(
            "slope.of-the-law",
            f"{len(found.tau_s)} of {runs} runs that the law is about settled; the fitted line is "
            f"{line.intercept:.2f} s + {line.slope:.3f}·τ (R² {line.r2:.4f}), the law's slope is "
            f"{law:.3f}: {off:+.1%}, expected within ±{requested.tolerance:.0%}.",
        ),
        measured=rounded(line.slope),
        expected=rounded(law),
        tolerance=requested.tolerance,
        figures={"intercept_s": rounded(line.intercept), "r_squared": rounded(line.r2)},
    )
