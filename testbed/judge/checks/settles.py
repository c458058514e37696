"""``settles``: how long does it take until two connections are in the right ratio, and stay?"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import AliasChoices, Field, model_validator

from testbed.judge.checks import explain, planned
from testbed.judge.checks.coverage import NO_PAIRS, cover
from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.parameters import OfTwo, Seconds
from testbed.judge.checks.ratio import quotients
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.message import InvalidValue, Message
from testbed.series import named

TOLERANCE = 0.2
"""Default tolerance, and that of figures that are measured without a check; a part of the target."""


class Settles(OfTwo):
    """The ratio first/second is within ``tolerance`` of ``target`` from ``within`` seconds after ``from`` until ``to``.

    Without a target it is the ratio of the links' rates. ``tolerance`` is a part of the target.
    """

    judge: Literal["settles"]
    target: float | None = Field(None, gt=0)
    tolerance: float = Field(TOLERANCE, gt=0, lt=1)
    within_s: Seconds = Field(validation_alias=AliasChoices("within", "within_s"))
    from_s: Seconds = Field(0.0, validation_alias=AliasChoices("from", "from_s"))
    to_s: Seconds = Field(validation_alias=AliasChoices("to", "to_s"))
    at_least_s: Seconds = Field(1.0, validation_alias=AliasChoices("at_least", "at_least_s"))
    """Shortest stay within the tolerance for the time to count."""

    @model_validator(mode="after")
    def _some_time(self) -> Settles:
        if self.to_s < self.from_s + self.within_s + self.at_least_s:
            latest = self.from_s + self.within_s + self.at_least_s
            raise InvalidValue(
                "check.to-too-early",
                "to ({to_s:g} s) has to be {least_s:g} s or later: from + within + at_least",
                to_s=self.to_s,
                least_s=latest,
            )
        return self

    def in_words(self) -> str:
        """The check in words."""
        first, second = self.connections
        target = f"{self.target:g}" if self.target else "the ratio of the links' rates"
        after = f" after {self.from_s:g} s" if self.from_s else ""
        return (
            f"{named(self.series).title}: connection {first} over connection {second} is within ±{self.tolerance:.0%} "
            f"of {target} at most {self.within_s:g} s{after}, and stays there until {self.to_s:g} s."
        )


def settles(parameters: Settles, evidence: Evidence) -> CheckResult:
    """The time of the first sample after the last one that is outside."""
    session = planned.session_of(evidence.plan, parameters.session)
    pair = evidence.samples_of(parameters.series, session["name"], parameters.connections)
    least_s = parameters.within_s + parameters.at_least_s
    coverage = cover(evidence, pair, parameters.from_s, parameters.to_s, least_s)
    first, second = (s.between(coverage.from_s, coverage.to_s) for s in pair.values())
    t_s, values = quotients(first, second, within_s=evidence.interval_s / 2)
    rates = planned.rates_pps(evidence.plan, session)
    a, b = parameters.connections
    target = parameters.target or rates[a] / rates[b]
    when_s = settled_s(t_s, values, target, parameters.tolerance)
    status: Status = Status.INSUFFICIENT_DATA
    said = (coverage.gap or NO_PAIRS).because("Not decided")
    # What stays outside too long fails, however early the run ends.
    late = when_s is None or when_s - parameters.from_s > parameters.within_s
    if values.size and (not coverage.gap or (late and coverage.to_s - coverage.from_s > least_s)):
        status = Status.FAIL if late else Status.PASS
        if when_s is None:
            said = Message(
                "settles.never",
                "Not within ±{tolerance:.0%} of {target:.3g} at {to_s:.1f} s: the ratio is {ratio:.3g}.",
                tolerance=parameters.tolerance,
                target=target,
                to_s=coverage.to_s,
                ratio=values[-1],
            )
        else:
            said = Message(
                "settles.for-good",
                "Within ±{tolerance:.0%} of {target:.3g} for good {after_s:.1f} s after {from_s:g} s; expected at most "
                "{within_s:g} s.",
                tolerance=parameters.tolerance,
                target=target,
                after_s=when_s - parameters.from_s,
                from_s=parameters.from_s,
                within_s=parameters.within_s,
            )
        if status == Status.FAIL:
            said = said.followed_by(*explain.windows_and_links(evidence, session, coverage.from_s, coverage.to_s))
    return CheckResult.of(
        parameters,
        status,
        said,
        measured=("never" if values.size else None) if when_s is None else rounded(when_s - parameters.from_s),
        expected=f"at most {parameters.within_s:g} s",
        figures={**coverage.figures(session["name"]), "target": rounded(target), "samples": int(values.size)},
    )


def settled_s(
    t_s: np.typing.NDArray[np.float64], values: np.typing.NDArray[np.float64], target: float, tolerance: float
) -> float | None:
    """The time from which on every value is within ``tolerance``, a part of ``target``; None if the last is not."""
    outside = np.flatnonzero(np.abs(values / target - 1) > tolerance)
    first = int(outside[-1]) + 1 if outside.size else 0
    return float(t_s[first]) if first < t_s.size else None
