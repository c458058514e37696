"""``ratio``: is the quotient of two connections' series what it should be?"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import AliasChoices, Field, model_validator

from testbed.judge.checks import explain, planned
from testbed.judge.checks.coverage import NO_PAIRS, Coverage, cover
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.parameters import WITH_SESSIONS, OfTwo, Seconds
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.message import InvalidValue, Message
from testbed.series import named

Values = np.typing.NDArray[np.float64]


class Ratio(OfTwo):
    """The median of first/second connection lies from ``min`` to ``max``.

    The time is either ``last`` (up to the transfer's end) or ``from``..``to``. With ``not_before``, samples
    before that time do not count: a quick run that ends too early then has too little data instead of a failure.
    """

    of_traffic: ClassVar[tuple[str, ...]] = WITH_SESSIONS

    judge: Literal["ratio"]
    min: float = Field(ge=0)
    max: float = Field(gt=0)
    last_s: Seconds | None = Field(None, validation_alias=AliasChoices("last", "last_s"))
    from_s: Seconds | None = Field(None, validation_alias=AliasChoices("from", "from_s"))
    to_s: Seconds | None = Field(None, validation_alias=AliasChoices("to", "to_s"))
    not_before_s: Seconds = Field(0.0, validation_alias=AliasChoices("not_before", "not_before_s"))
    at_least_s: Seconds = Field(1.0, validation_alias=AliasChoices("at_least", "at_least_s"))

    @model_validator(mode="after")
    def _one_time(self) -> Ratio:
        window = self.from_s is not None and self.to_s is not None
        if (self.from_s is None) != (self.to_s is None) or window == (self.last_s is not None):
            raise InvalidValue("check.last-or-from", "give either last (for example 5s) or both from and to")
        return self

    def in_words(self) -> str:
        """The check in words."""
        if self.last_s is not None:
            when = f"over the last {self.last_s:g} s"
        else:
            when = f"from {self.from_s:g} s to {self.to_s:g} s"
        first, second = self.connections
        return (
            f"{named(self.series).title}: connection {first} has {self.min:g} to {self.max:g} times "
            f"that of connection {second} (median {when})."
        )


def ratio(parameters: Ratio, evidence: Evidence) -> CheckResult:
    """The median of the quotients of samples taken at the same tick."""
    session = planned.session_of(evidence.plan, parameters.session)
    pair = evidence.samples_of(parameters.series, session["name"], parameters.connections)
    coverage = _coverage(parameters, evidence, pair)
    first, second = (s.between(coverage.from_s, coverage.to_s) for s in pair.values())
    _, values = quotients(first, second, within_s=evidence.interval_s / 2)
    median = float(np.median(values)) if values.size else None
    expected = f"{parameters.min:g} to {parameters.max:g}"
    span = f"{coverage.from_s:.1f} s to {coverage.to_s:.1f} s"

    status: Status
    if coverage.gap or median is None:
        status, said = Status.INSUFFICIENT_DATA, (coverage.gap or NO_PAIRS).because("Not decided")
    else:
        status = Status.PASS if parameters.min <= median <= parameters.max else Status.FAIL
        a, b = parameters.connections
        said = Message(
            "ratio.median",
            "{series} of connection {first} is {ratio:.2f} times that of connection {second} (median of {samples} "
            "samples, {span}); expected {expected}.",
            series=parameters.series,
            first=a,
            ratio=median,
            second=b,
            samples=values.size,
            span=span,
            expected=expected,
        )
        if status == Status.FAIL:
            said = said.followed_by(*explain.windows_and_links(evidence, session, coverage.from_s, coverage.to_s))
    return CheckResult.of(
        parameters,
        status,
        said,
        measured=None if median is None else rounded(median) if np.isfinite(median) else "unbounded",
        expected=expected,
        figures={
            **coverage.figures(session["name"]),
            "samples": int(values.size),
            "median_first": rounded(float(np.median(first.values))) if first.values.size else None,
            "median_second": rounded(float(np.median(second.values))) if second.values.size else None,
        },
    )


def _coverage(parameters: Ratio, evidence: Evidence, pair: dict[str, Timed]) -> Coverage:
    if parameters.last_s is None:
        assert parameters.from_s is not None
        assert parameters.to_s is not None
        from_s, to_s = parameters.from_s, parameters.to_s
    else:
        to_s = min(float(s.t_s[-1]) for s in pair.values())
        from_s = max(0.0, to_s - parameters.last_s)
    if from_s < parameters.not_before_s:
        early = Message(
            "ratio.too-early",
            "the judged time would start at {from_s:.1f} s, before {not_before_s:g} s",
            from_s=from_s,
            not_before_s=parameters.not_before_s,
        )
        return Coverage(from_s, to_s, early)
    return cover(evidence, pair, from_s, to_s, parameters.at_least_s)


def quotients(first: Timed, second: Timed, within_s: float) -> tuple[Values, Values]:
    """Times, and first/second for each first sample with a second one ``within_s`` of it.

    x/0 is infinite, 0/0 left out.
    """
    times, values = [], []
    for t_s, value in zip(first.t_s, first.values, strict=True):
        index = second.nearest(float(t_s), within_s)
        if index is None or (value == 0 and second.values[index] == 0):
            continue
        other = second.values[index]
        times.append(t_s)
        values.append(value / other if other else np.inf)
    return np.array(times, dtype=np.float64), np.array(values, dtype=np.float64)
