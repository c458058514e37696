"""Checks of each connection by itself: is a series, or a round trip, where it should be?"""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field, model_validator

from testbed.judge.checks import explain, planned
from testbed.judge.checks.coverage import A_CONNECTION_HAS_NONE, NO_SAMPLES, Coverage, cover
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.parameters import WITH_SESSIONS, CheckParameters, ConnectionIndex, Seconds, SeriesName
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import InvalidValue, Message
from testbed.series import named


class Level(CheckParameters):
    """The series lies from ``min`` to ``max``: in the sample nearest to ``at``, or in all of ``from``..``to``."""

    of_traffic = WITH_SESSIONS

    judge: Literal["level"]
    series: SeriesName
    session: str | None = None
    connections: list[ConnectionIndex] | None = Field(
        None, min_length=1, validation_alias=AliasChoices("of", "connections")
    )
    """The connection; None: all."""
    min: float
    max: float
    at_s: Seconds | None = None
    from_s: Seconds | None = None
    to_s: Seconds | None = None
    at_least_s: Seconds = 1.0

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

    def result(self, evidence: Evidence) -> CheckResult:
        """Looks for the sample that is farthest from the middle of ``min`` and ``max``."""
        session = planned.session_of(evidence.plan, self.session)
        connections = self.connections or planned.connections(session)
        coverage, judged = self._judged(evidence, evidence.samples_of(self.series, session["name"], connections))
        middle = (self.min + self.max) / 2
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
            status = Status.PASS if self.min <= value <= self.max else Status.FAIL
            said = Message(
                "level.value",
                f"{self.series} of connection {connection} is {value:.4g} at {t_s:.1f} s; expected {self.min:g} to "
                f"{self.max:g}.",
            )
            if len(points) > 1:
                said = said.followed_by(Message("level.farthest", f"That is the farthest of {len(points)} samples."))
            if status == Status.FAIL and self.at_s is None:
                said = said.followed_by(*explain.windows_and_links(evidence, session, coverage.from_s, coverage.to_s))
        return self.conclude(
            status,
            said,
            measured=None if worst is None else worst[1],
            expected=f"{self.min:g} to {self.max:g}",
            **coverage.figures(session["name"]),
            samples=len(points),
        )

    def _judged(self, evidence: Evidence, samples: dict[str, Timed]) -> tuple[Coverage, dict[str, Timed]]:
        if self.from_s is not None and self.to_s is not None:
            coverage = cover(evidence, samples, self.from_s, self.to_s, self.at_least_s)
            return coverage, {c: s.between(coverage.from_s, coverage.to_s) for c, s in samples.items()}
        at_s = self.at_s or 0.0
        nearest = {}
        for connection, s in samples.items():
            index = s.nearest(at_s, within_s=evidence.interval_s)
            if index is None:
                gap = Message("level.no-sample", f"connection {connection} has no sample at {at_s:g} s")
                return Coverage(at_s, at_s, gap), {}
            nearest[connection] = s.between(float(s.t_s[index]), float(s.t_s[index]))
        return Coverage(at_s, at_s), nearest


class RoundTrip(CheckParameters):
    """Each connection's mean RTT is at most ``max`` times what it is without a queue.

    From ``from`` to ``to``, in seconds since the session's start. Without a queue it is both ways' delays of all links
    on the connection's path, and half of the receiver's ACK interval: a packet waits between nothing and all of it.
    """

    judge: Literal["round_trip"]
    session: str | None = None
    max: float = Field(gt=0)
    from_s: Seconds
    to_s: Seconds

    def in_words(self) -> str:
        """The check in words."""
        return (
            f"The RTT of every connection is at most {self.max:g} times that without a queue "
            f"(means from {self.from_s:g} s to {self.to_s:g} s)."
        )

    def result(self, evidence: Evidence) -> CheckResult:
        """The largest of the connections' quotients."""
        session = planned.session_of(evidence.plan, self.session)
        samples = evidence.samples_of("rtt_ms", session["name"], planned.connections(session))
        coverage = cover(evidence, samples, self.from_s, self.to_s, self.to_s - self.from_s)
        times: dict[str, float] = {}
        each_rtt = []
        for connection, part in samples.items():
            judged = part.between(coverage.from_s, coverage.to_s)
            if not judged.values.size:
                continue
            rtt_ms = float(judged.values.mean())
            base_ms = planned.base_rtt_ms(evidence.plan, session, connection)
            times[connection] = rtt_ms / base_ms
            each_rtt.append(f"{connection} {rtt_ms:.0f} of {base_ms:.0f} ms")
        status: Status = Status.INSUFFICIENT_DATA
        said = (coverage.gap or A_CONNECTION_HAS_NONE).because("Not decided")
        worst = max(times.values(), default=None)
        if worst is not None and len(times) == len(samples) and not coverage.gap:
            status = Status.PASS if worst <= self.max else Status.FAIL
            said = Message(
                "rtt.times",
                f"The mean RTT is at most {worst:.2f} times that without a queue; expected at most {self.max:g}. From "
                f"{coverage.from_s:g} s to {coverage.to_s:g} s, by connection: {', '.join(each_rtt)}.",
            )
        expected = f"at most {self.max:g}"
        return self.conclude(status, said, measured=worst, expected=expected, session=session["name"], times=times)
