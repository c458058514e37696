"""The convergence law over a sweep: time until the ratio holds, over τ = W / Σ rate, as a fitted line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import Field

from testbed.judge.checks.result import CheckResult, Named, rounded
from testbed.judge.status import Status
from testbed.message import Message
from testbed.scenario.quantities import Fraction
from testbed.scenario.section import Name, Section
from testbed.series.line import Line

Row = Mapping[str, Any]
"""A run of a sweep with its figures."""


class LawLine(Section):
    """The convergence law over a sweep: the slope of the fitted line of ``policy``'s time until the windows are in the
    links' ratio, over τ = W / Σ rate, is the law's within ``tolerance`` (a part of it).

    The law is about windows that keep their links filled; runs whose τ is shorter than ``min_round_trips`` (of their
    own measured, queue included) are not asked.
    """

    policy: Name
    tolerance: Fraction
    min_round_trips: float = Field(0.0, ge=0)

    @property
    def check(self) -> str:
        """The name of its check."""
        return f"law τ = W/Σrate, {self.policy}"


class Fit(NamedTuple):
    """Measurement and law, over the same τ (seconds), and the line of each."""

    tau_s: list[float]
    measured_s: list[float]
    expected_s: list[float]
    measured: Line
    expected: Line


def fit(rows: Sequence[Row], requested: LawLine) -> Fit | None:
    """Over the policy's runs that settled; None with fewer than three different τ."""
    used = [
        row
        for row in of_the_law(rows, requested)
        if row.get("settled_s") is not None and row.get("law_settled_s") is not None
    ]
    tau_s = [float(row["tau_s"]) for row in used]
    if len(set(tau_s)) < 3:
        return None
    measured_s, expected_s = ([float(row[key]) for row in used] for key in ("settled_s", "law_settled_s"))
    return Fit(tau_s, measured_s, expected_s, Line.through(tau_s, measured_s), Line.through(tau_s, expected_s))


def of_the_law(rows: Sequence[Row], requested: LawLine) -> list[Row]:
    """The policy's runs that the law is about."""
    return [
        row
        for row in rows
        if row["policy"] == requested.policy
        and float(row.get("tau_s") or 0) >= requested.min_round_trips * float(row.get("rtt_ms") or 0) / 1000
    ]


def judge(rows: Sequence[Row], requested: LawLine) -> CheckResult:
    """Whether the slope that is fitted to a sweep's runs is the law's."""
    found, runs = fit(rows, requested), len(of_the_law(rows, requested))
    result_of = Named(requested.check, "law_slope")
    if found is None:
        said = Message(
            "slope.too-few-settled", "Not decided: too few runs settled within their transfer to fit a line."
        )
        return CheckResult.of(result_of, Status.INSUFFICIENT_DATA, said)
    slope, law = found.measured.slope, found.expected.slope
    off = slope / law - 1
    return CheckResult.of(
        result_of,
        Status.PASS if abs(off) <= requested.tolerance else Status.FAIL,
        Message(
            "slope.of-the-law",
            f"{len(found.tau_s)} of {runs} runs that the law is about settled; the fitted line is "
            f"{found.measured.intercept:.2f} s + {slope:.3f}·τ (R² {found.measured.r2:.4f}), the law's slope is "
            f"{law:.3f}: {off:+.1%}, expected within ±{requested.tolerance:.0%}.",
        ),
        measured=rounded(slope),
        expected=rounded(law),
        tolerance=requested.tolerance,
        figures={"intercept_s": rounded(found.measured.intercept), "r_squared": rounded(found.measured.r2)},
    )
