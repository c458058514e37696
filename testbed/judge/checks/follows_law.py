"""``follows_law``: do the windows converge as the rule of proportional windows says they must?"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from testbed.judge.checks import explain, planned
from testbed.judge.checks.coverage import NO_SAMPLES, cover
from testbed.judge.checks.evidence import Evidence, Timed, none_of
from testbed.judge.checks.law import Law, RatesOf, law_for
from testbed.judge.checks.parameters import CheckParameters, Seconds, SeriesName
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import Message, Messages

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
    from_s: Seconds
    to_s: Seconds
    start_s: Seconds = 0.0
    rates: RatesOf = "plan"
    """The law's rates: of the links by the plan, or those at which packets were acknowledged."""
    at_least_s: Seconds = 3.0

    def in_words(self) -> str:
        """The check in words."""
        started = f", the law starting at {self.start_s:g} s" if self.start_s else ""
        rates = ", taken with the rates of acknowledgements" if self.rates == "acknowledged" else ""
        return (
            f"From {self.from_s:g} s to {self.to_s:g} s every connection's share of the window "
            f"stays within ±{self.tolerance:g} of the convergence law{started}{rates}."
        )

    def result(self, evidence: Evidence) -> CheckResult:
        """Compares shares with the law at the sample times; nothing is interpolated."""
        session = planned.session_of(evidence.plan, self.session)
        law = law_for(evidence, session, self.start_s, self.rates)
        all_samples = evidence.samples(self.series, session["name"])
        if missing := [c for c in planned.connections(session) if c not in all_samples]:
            raise none_of(self.series, missing)
        samples = {c: all_samples[c] for c in planned.connections(session)}
        coverage = cover(evidence, samples, self.from_s, self.to_s, self.at_least_s)
        judged = {c: s.between(coverage.from_s, coverage.to_s) for c, s in samples.items()}
        worst = _worst(law, judged)
        outside = worst is not None and abs(worst.error) > self.tolerance
        if worst is None or (coverage.gap and (evidence.plan.get("quick") or not outside)):
            status, said = Status.INSUFFICIENT_DATA, (coverage.gap or NO_SAMPLES).because("Not decided")
        else:
            status = Status.FAIL if outside else Status.PASS
            band = f"±{self.tolerance:g} of the law from {coverage.from_s:g} s to {coverage.to_s:.4g} s"
            said = Message("law.within", f"Within {band}: {worst}.")
            if outside:
                said = Message("law.outside", f"Not within {band}: {worst}.")
            further = Messages()
            if outside and len(law.limit) == 2:
                first, second = law.limit.values()
                further.add_message(
                    "law.ratio-in-the-end",
                    f"The links' rates ask for a window ratio of {first / second:.2f} in the end.",
                )
            if coverage.shortened:
                further.add_message("law.shortened", f"Judged over the {coverage.span_s:.1f} s that the run covers.")
            if outside:
                further += explain.windows_and_links(evidence, session, coverage.from_s, coverage.to_s)
            said = said.followed_by(*further)
        acknowledged = explain.acknowledged_pps(evidence, session, coverage.from_s, coverage.to_s)
        return self.conclude(
            status,
            said,
            measured=None if worst is None else abs(worst.error),
            expected=0.0,
            tolerance=self.tolerance,
            **coverage.figures(session["name"]),
            samples=sum(int(s.t_s.size) for s in judged.values()),
            worst_connection=None if worst is None else worst.connection,
            worst_at_s=None if worst is None else worst.at_s,
            time_constant_s=law.time_constant_s,
            configured_pps=sum(planned.rates_pps(evidence.plan, session).values()),
            acknowledged_pps=sum(acknowledged.values()) if acknowledged else None,
            shares=_at_marks(law, samples, evidence.interval_s),
        )


class Worst(NamedTuple):
    """The sample that is farthest from the law: its error is what was measured less the law."""

    connection: str
    error: float
    at_s: float
    share: float
    by_law: float

    def __str__(self) -> str:
        return (
            f"the largest error is {self.error:+.3f}, of connection {self.connection} at {self.at_s:.1f} s "
            f"(share {self.share:.3f}, by the law {self.by_law:.3f})"
        )


def _worst(law: Law, judged: dict[str, Timed]) -> Worst | None:
    """None without samples; of several that are as far from the law, the first."""
    found = []
    for connection, samples in judged.items():
        if samples.t_s.size:
            by_law = law.share(connection, samples.t_s)
            errors = samples.values - by_law
            k = int(np.argmax(np.abs(errors)))
            found.append(
                Worst(connection, float(errors[k]), float(samples.t_s[k]), float(samples.values[k]), float(by_law[k]))
            )
    return max(found, key=lambda worst: abs(worst.error), default=None)


def _at_marks(law: Law, samples: dict[str, Timed], interval_s: float) -> list[dict[str, float | str]]:
    """The samples nearest to :data:`MARKS_S`, with the law at each sample's own time."""
    return [
        {
            "t_s": mark,
            "sample_s": float(s.t_s[index]),
            "connection": connection,
            "law": float(law.share(connection, s.t_s[index])),
            "measured": float(s.values[index]),
        }
        for mark in MARKS_S
        for connection, s in samples.items()
        if (index := s.nearest(mark, within_s=interval_s)) is not None
    ]
