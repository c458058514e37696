"""``level``: is a series of each connection where it should be, at a time or all the time?"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AliasChoices, Field, model_validator

from testbed.judge.checks import explain, planned
from testbed.judge.checks.coverage import NO_SAMPLES, Coverage, cover
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.parameters import WITH_SESSIONS, CheckParameters, ConnectionIndex, Seconds, SeriesName
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.status import Status
from testbed.message import InvalidValue, Message
from testbed.series import named


class Level(CheckParameters):
    """The series lies from ``min`` to ``max``: in the sample nearest to ``at``, or in all of ``from``..``to``."""

    of_traffic: ClassVar[tuple[str, ...]] = WITH_SESSIONS

    judge: Literal["level"]
    series: SeriesName
    session: str | None = None
    connections: list[ConnectionIndex] | None = Field(
        None, min_length=1, validation_alias=AliasChoices("of", "connections")
    )
    """The connection; None: all."""
    min: float
    max: float
    at_s: Seconds | None = Field(None, validation_alias=AliasChoices("at", "at_s"))
    from_s: Seconds | None = Field(None, validation_alias=AliasChoices("from", "from_s"))
    to_s: Seconds | None = Field(None, validation_alias=AliasChoices("to", "to_s"))
    at_least_s: Seconds = Field(1.0, validation_alias=AliasChoices("at_least", "at_least_s"))

    @model_validator(mode="after")
    def _one_time(self) -> Level:
        window = self.from_s is not None and self.to_s is not None
        if (self.from_s is None) != (self.to_s is None) or window == (self.at_s is not None):
            raise InvalidValue("check.at-or-from", "give either at (for example 5s) or both from and to")
        return self

    def in_words(self) -> str:
        """The check in words."""
        who = "every connection" if self.connections is None else f"connection {', '.join(self.connections)}"
        when = f"at {self.at_s:g} s" if self.at_s is not None else f"from {self.from_s:g} s to {self.to_s:g} s"
        return f"{named(self.series).title} of {who} is {self.min:g} to {self.max:g} {when}."


def level(parameters: Level, evidence: Evidence) -> CheckResult:
    """Looks for the sample that is farthest from the middle of ``min`` and ``max``."""
    session = planned.session_of(evidence.plan, parameters.session)
    connections = parameters.connections or planned.connections(session)
    samples = evidence.samples_of(parameters.series, session["name"], connections)
    coverage, judged = _judged(parameters, evidence, samples)
    middle = (parameters.min + parameters.max) / 2
    points = [
        (abs(value - middle), value, t_s, c)
        for c, s in judged.items()
        for t_s, value in zip(s.t_s.tolist(), s.values.tolist(), strict=True)
    ]
    worst = max(points, default=None)
    status: Status = Status.INSUFFICIENT_DATA
    said = (coverage.gap or NO_SAMPLES).because("Not decided")
    if worst is not None and not coverage.gap:
        _, value, t_s, connection = worst
        status = Status.PASS if parameters.min <= value <= parameters.max else Status.FAIL
        said = Message(
            "level.value",
            "{series} of connection {connection} is {value:.4g} at {t_s:.1f} s; expected {min:g} to {max:g}.",
            series=parameters.series,
            connection=connection,
            value=value,
            t_s=t_s,
            min=parameters.min,
            max=parameters.max,
        )
        if len(points) > 1:
            said = said.followed_by(
                Message("level.farthest", "That is the farthest of {samples} samples.", samples=len(points))
            )
        if status == Status.FAIL and parameters.at_s is None:
            said = said.followed_by(*explain.windows_and_links(evidence, session, coverage.from_s, coverage.to_s))
    return CheckResult.of(
        parameters,
        status,
        said,
        measured=None if worst is None else rounded(worst[1]),
        expected=f"{parameters.min:g} to {parameters.max:g}",
        figures={**coverage.figures(session["name"]), "samples": len(points)},
    )


def _judged(parameters: Level, evidence: Evidence, samples: dict[str, Timed]) -> tuple[Coverage, dict[str, Timed]]:
    if parameters.at_s is None:
        assert parameters.from_s is not None
        assert parameters.to_s is not None
        coverage = cover(evidence, samples, parameters.from_s, parameters.to_s, parameters.at_least_s)
        return coverage, {c: s.between(coverage.from_s, coverage.to_s) for c, s in samples.items()}
    at_s = parameters.at_s
    nearest = {}
    for connection, s in samples.items():
        index = s.nearest(at_s, within_s=evidence.interval_s)
        if index is None:
            gap = Message(
                "level.no-sample",
                "connection {connection} has no sample at {at_s:g} s",
                connection=connection,
                at_s=at_s,
            )
            return Coverage(at_s, at_s, gap), {}
        nearest[connection] = s.between(float(s.t_s[index]), float(s.t_s[index]))
    return Coverage(at_s, at_s), nearest
