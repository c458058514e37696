"""``follows_law``: do the windows converge as the rule of proportional windows says they must?"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import AliasChoices, Field

from testbed.judge.checks import explain, planned
from testbed.judge.checks.coverage import NO_SAMPLES, cover
from testbed.judge.checks.evidence import Evidence, Timed, none_of
from testbed.judge.checks.expected import RatesOf, law_for
from testbed.judge.checks.law import Law
from testbed.judge.checks.parameters import CheckParameters, Seconds, SeriesName
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.message import Message

MARKS_S = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
"""Times at which shares are tabulated, in seconds since the transfer's start."""


class FollowsLaw(CheckParameters):
    """Every connection's share stays within ``tolerance`` of the law from ``from`` to ``to``.

    The law starts at ``start`` with the initial windows; its rates are the links' by the plan, with its
    timeline's breaks, or those at which packets were ``acknowledged``. A quick run is judged over the part of that time
    that it covers, if that is at least ``at_least``.
    """

    judge: Literal["follows_law"]
    series: SeriesName = "window_share"
    session: str | None = None
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.03
    """Largest error of the share, a fraction."""
    from_s: Seconds = Field(validation_alias=AliasChoices("from", "from_s"))
    to_s: Seconds = Field(validation_alias=AliasChoices("to", "to_s"))
    start_s: Seconds = Field(0.0, validation_alias=AliasChoices("start", "start_s"))
    rates: RatesOf = "plan"
    """The law's rates: of the links by the plan, or those at which packets were acknowledged."""
    at_least_s: Seconds = Field(3.0, validation_alias=AliasChoices("at_least", "at_least_s"))

    def in_words(self) -> str:
        """The check in words."""
        started = f", the law starting at {self.start_s:g} s" if self.start_s else ""
        rates = ", taken with the rates of acknowledgements" if self.rates == "acknowledged" else ""
        return (
            f"From {self.from_s:g} s to {self.to_s:g} s every connection's share of the window "
            f"stays within ±{self.tolerance:g} of the convergence law{started}{rates}."
        )


def follows_law(parameters: FollowsLaw, evidence: Evidence) -> CheckResult:
    """Compares shares with the law at the sample times; nothing is interpolated."""
    session = planned.session_of(evidence.plan, parameters.session)
    law = law_for(evidence, session, parameters.start_s, parameters.rates)
    all_samples = evidence.samples(parameters.series, session["name"])
    missing = [c for c in planned.connections(session) if c not in all_samples]
    if missing:
        raise none_of(parameters.series, missing)
    samples = {c: all_samples[c] for c in planned.connections(session)}
    coverage = cover(evidence, samples, parameters.from_s, parameters.to_s, parameters.at_least_s)
    judged = {c: s.between(coverage.from_s, coverage.to_s) for c, s in samples.items()}
    worst = _worst(law, judged)
    span = f"{coverage.from_s:g} s to {coverage.to_s:.4g} s"

    status: Status = Status.PASS
    if worst is not None and abs(worst[1]) > parameters.tolerance and not (coverage.gap and evidence.plan.get("quick")):
        status = Status.FAIL
    elif coverage.gap or worst is None:
        status = Status.INSUFFICIENT_DATA
    said = (coverage.gap or NO_SAMPLES).because("Not decided")
    if worst is not None and status != Status.INSUFFICIENT_DATA:
        said = _said(law, samples, worst, parameters.tolerance, span)
        if coverage.shortened:
            covered_s = coverage.to_s - coverage.from_s
            said = said.followed_by(
                Message("law.shortened", "Judged over the {covered_s:.1f} s that the run covers.", covered_s=covered_s)
            )
        if status == Status.FAIL:
            said = said.followed_by(*explain.windows_and_links(evidence, session, coverage.from_s, coverage.to_s))
    acknowledged = explain.acknowledged_pps(evidence, session, coverage.from_s, coverage.to_s)
    return CheckResult.of(
        parameters,
        status,
        said,
        measured=None if worst is None else rounded(abs(worst[1])),
        expected=0.0,
        tolerance=parameters.tolerance,
        figures={
            **coverage.figures(session["name"]),
            "samples": sum(int(s.t_s.size) for s in judged.values()),
            "worst_connection": None if worst is None else worst[0],
            "worst_at_s": None if worst is None else rounded(worst[2]),
            "time_constant_s": rounded(law.time_constant_s),
            "configured_pps": rounded(sum(planned.rates_pps(evidence.plan, session).values())),
            "acknowledged_pps": rounded(sum(acknowledged.values())) if acknowledged else None,
            "shares": _at_marks(law, samples, evidence.interval_s),
        },
    )


def _worst(law: Law, judged: dict[str, Timed]) -> tuple[str, float, float, float] | None:
    """Connection, error (measured − law), time and share of the largest error; None without samples."""
    worst = None
    for connection, samples in judged.items():
        if not samples.t_s.size:
            continue
        errors = samples.values - law.share(connection, samples.t_s)
        index = int(np.argmax(np.abs(errors)))
        if worst is None or abs(errors[index]) > abs(worst[1]):
            worst = (connection, float(errors[index]), float(samples.t_s[index]), float(samples.values[index]))
    return worst


def _said(
    law: Law, samples: dict[str, Timed], worst: tuple[str, float, float, float], tolerance: float, span: str
) -> Message:
    connection, error, at_s, share = worst
    expected = float(law.share(connection, at_s))
    if abs(error) <= tolerance:
        return Message(
            "law.within",
            "Within ±{tolerance:g} of the law from {span}: the largest error is {error:+.3f}, of connection "
            "{connection} at {at_s:.1f} s (share {share:.3f}, by the law {expected:.3f}).",
            tolerance=tolerance,
            span=span,
            error=error,
            connection=connection,
            at_s=at_s,
            share=share,
            expected=expected,
        )
    said = Message(
        "law.outside",
        "Not within ±{tolerance:g} of the law from {span}: the largest error is {error:+.3f}, of connection "
        "{connection} at {at_s:.1f} s (share {share:.3f}, by the law {expected:.3f}).",
        tolerance=tolerance,
        span=span,
        error=error,
        connection=connection,
        at_s=at_s,
        share=share,
        expected=expected,
    )
    if len(samples) != 2:
        return said
    first, second = (law.limit[c] for c in samples)
    ratio = first / second
    return said.followed_by(
        Message(
            "law.ratio-in-the-end", "The links' rates ask for a window ratio of {ratio:.2f} in the end.", ratio=ratio
        )
    )


def _at_marks(law: Law, samples: dict[str, Timed], interval_s: float) -> list[dict[str, float | str]]:
    """The samples nearest to :data:`MARKS_S`, with the law at each sample's own time."""
    rows: list[dict[str, float | str]] = []
    for mark in MARKS_S:
        for connection, s in samples.items():
            index = s.nearest(mark, within_s=interval_s)
            if index is not None:
                at_s = float(s.t_s[index])
                rows.append(
                    {
                        "t_s": mark,
                        "sample_s": rounded(at_s),
                        "connection": connection,
                        "law": rounded(float(law.share(connection, at_s))),
                        "measured": rounded(float(s.values[index])),
                    }
                )
    return rows
