"""Checks of where a series lies: ``level`` and ``round_trip`` of each connection by itself, and of the quotient of two
connections ``ratio``, over a time, and ``settles``, from which time on."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import Self

from testbed.judge.checks import explain, planned
from testbed.judge.checks.evidence import A_CONNECTION_HAS_NONE, NO_PAIRS, NO_SAMPLES, Coverage, Evidence, Timed, cover
from testbed.judge.checks.parameters import WITH_SESSIONS, ConnectionIndex, OfSession, Seconds, SeriesName
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import InvalidValue, Message
from testbed.plan.model import Session
from testbed.series import named


class Level(OfSession):
    """The series lies from ``min`` to ``max``: in the sample nearest to ``at``, or in all of ``from``..``to``."""

    of_traffic = WITH_SESSIONS
    instead_of_a_span = "at"

    judge: Literal["level"]
    series: SeriesName
    connections: list[ConnectionIndex] | None = Field(None, min_length=1)
    """The connection; None: all."""
    min: float
    max: float
    at_s: Seconds | None = None
    from_s: Seconds | None = None
    to_s: Seconds | None = None
    at_least_s: Seconds = 1.0

    def in_words(self) -> str:
        """The check in words."""
        who = "every connection" if self.connections is None else f"connection {', '.join(self.connections)}"
        when = f"at {self.at_s:g} s" if self.at_s is not None else f"from {self.from_s:g} s to {self.to_s:g} s"
        return f"{named(self.series).title} of {who} is {self.min:g} to {self.max:g} {when}."

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """Looks for the sample that is farthest from the middle of ``min`` and ``max``."""
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
        measured, expected = None if worst is None else worst[1], f"{self.min:g} to {self.max:g}"
        figures = {**coverage.figures(session["name"]), "samples": len(points)}
        return self.conclude(status, said, measured=measured, expected=expected, **figures)

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


class RoundTrip(OfSession):
    """Each connection's mean RTT is at most ``max`` times what it is without a queue.

    From ``from`` to ``to``, in seconds since the session's start. Without a queue it is both ways' delays of all links
    on the connection's path, and half of the receiver's ACK interval: a packet waits between nothing and all of it.
    """

    judge: Literal["round_trip"]
    max: float = Field(gt=0)
    from_s: Seconds
    to_s: Seconds

    def in_words(self) -> str:
        """The check in words."""
        return (
            f"The RTT of every connection is at most {self.max:g} times that without a queue "
            f"(means from {self.from_s:g} s to {self.to_s:g} s)."
        )

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The largest of the connections' quotients."""
        samples = evidence.samples_of("rtt_ms", session["name"], planned.connections(session))
        coverage = cover(evidence, samples, self.from_s, self.to_s, self.to_s - self.from_s)
        times: dict[str, float] = {}
        each_rtt = []
        for connection, part in samples.items():
            judged = part.between(coverage.from_s, coverage.to_s)
            if not judged.values.size:
                continue
            rtt_ms = float(judged.values.mean())
            base_ms = planned.base_rtt_ms(evidence.plan, session, connection, coverage.from_s, coverage.to_s)
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


Values = NDArray[np.float64]
TOLERANCE = 0.2
"""Default tolerance of ``settles``, and that of figures that are measured without a check; a part of the target."""


class OfTwo(OfSession):
    """``series`` of the first of two connections over that of the second."""

    series: SeriesName = "window_packets"
    connections: list[ConnectionIndex] = Field(["1", "2"], min_length=2, max_length=2)

    @model_validator(mode="after")
    def _two(self) -> Self:
        if self.connections[0] == self.connections[1]:
            raise InvalidValue("check.of-the-same", "of has to name two different ones, for example [1, 2]")
        return self


class Ratio(OfTwo):
    """The median of first/second connection lies from ``min`` to ``max``.

    The time is either ``last`` (up to the transfer's end) or ``from``..``to``. With ``not_before``, samples
    before that time do not count: a quick run that ends too early then has too little data instead of a failure.
    """

    of_traffic = WITH_SESSIONS
    instead_of_a_span = "last"

    judge: Literal["ratio"]
    min: float = Field(ge=0)
    max: float = Field(gt=0)
    last_s: Seconds | None = None
    from_s: Seconds | None = None
    to_s: Seconds | None = None
    not_before_s: Seconds = 0.0
    at_least_s: Seconds = 1.0

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

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The median of the quotients of samples taken at the same tick."""
        pair = evidence.samples_of(self.series, session["name"], self.connections)
        coverage = self._coverage(evidence, pair)
        first, second = (s.between(coverage.from_s, coverage.to_s) for s in pair.values())
        values = quotients(first, second, within_s=evidence.interval_s / 2).values
        median = _median(values)
        expected = f"{self.min:g} to {self.max:g}"
        if coverage.gap or median is None:
            status, said = Status.INSUFFICIENT_DATA, (coverage.gap or NO_PAIRS).because("Not decided")
        else:
            status = Status.PASS if self.min <= median <= self.max else Status.FAIL
            said = Message(
                "ratio.median",
                f"{self.series} of connection {self.connections[0]} is {median:.2f} times that of connection "
                f"{self.connections[1]} (median of {values.size} samples, {coverage.from_s:.1f} s to "
                f"{coverage.to_s:.1f} s); expected {expected}.",
            )
            if status == Status.FAIL:
                said = said.followed_by(*explain.windows_and_links(evidence, session, coverage.from_s, coverage.to_s))
        measured = "unbounded" if median is not None and np.isinf(median) else median
        medians = {"median_first": _median(first.values), "median_second": _median(second.values)}
        figures = {**coverage.figures(session["name"]), "samples": int(values.size), **medians}
        return self.conclude(status, said, measured=measured, expected=expected, **figures)

    def _coverage(self, evidence: Evidence, pair: dict[str, Timed]) -> Coverage:
        if self.from_s is not None and self.to_s is not None:
            from_s, to_s = self.from_s, self.to_s
        else:
            to_s = min(float(s.t_s[-1]) for s in pair.values())
            from_s = max(0.0, to_s - (self.last_s or 0.0))
        if from_s < self.not_before_s:
            early = Message(
                "ratio.too-early", f"the judged time would start at {from_s:.1f} s, before {self.not_before_s:g} s"
            )
            return Coverage(from_s, to_s, early)
        return cover(evidence, pair, from_s, to_s, self.at_least_s)


class Settles(OfTwo):
    """The ratio first/second is within ``tolerance`` of ``target`` from ``within`` seconds after ``from`` until ``to``,
    and not from ``earliest`` on already.

    Without a target it is the ratio of the links' rates, as they are just before ``to``. ``tolerance`` is a part of
    the target.
    """

    judge: Literal["settles"]
    target: float | None = Field(None, gt=0)
    tolerance: float = Field(TOLERANCE, gt=0, lt=1)
    within_s: Seconds
    earliest_s: Seconds = 0.0
    """Least time after ``from``; what settles sooner fails as well."""
    from_s: Seconds = 0.0
    to_s: Seconds
    at_least_s: Seconds = 1.0
    """Shortest stay within the tolerance for the time to count."""

    @model_validator(mode="after")
    def _some_time(self) -> Settles:
        least_s = self.from_s + self.within_s + self.at_least_s
        if self.to_s < least_s:
            raise InvalidValue(
                "check.to-too-early", f"to ({self.to_s:g} s) has to be {least_s:g} s or later: from + within + at_least"
            )
        return self

    def in_words(self) -> str:
        """The check in words."""
        first, second = self.connections
        target = f"{self.target:g}" if self.target else "the ratio of the links' rates"
        after = f" after {self.from_s:g} s" if self.from_s else ""
        return (
            f"{named(self.series).title}: connection {first} over connection {second} is within ±{self.tolerance:.0%} "
            f"of {target} {self.limits_in_words}{after}, and stays there until {self.to_s:g} s."
        )

    @property
    def limits_in_words(self) -> str:
        """Limits of the time."""
        earliest = f"{self.earliest_s:g} to " if self.earliest_s else "at most "
        return f"{earliest}{self.within_s:g} s"

    def ratio_of(self, rates: planned.Rates) -> float:
        """The quotient of the two connections' rates."""
        first, second = self.connections
        return rates[first] / rates[second]

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The time of the first sample after the last one that is outside."""
        pair = evidence.samples_of(self.series, session["name"], self.connections)
        least_s = self.within_s + self.at_least_s
        coverage = cover(evidence, pair, self.from_s, self.to_s, least_s)
        first, second = (s.between(coverage.from_s, coverage.to_s) for s in pair.values())
        ratios = quotients(first, second, within_s=evidence.interval_s / 2)
        target = self.target or self.ratio_of(planned.rates_pps(evidence.plan, session, self.to_s))
        when_s = settled_s(ratios, target, self.tolerance)
        after_s = None if when_s is None else when_s - self.from_s
        status: Status = Status.INSUFFICIENT_DATA
        said = (coverage.gap or NO_PAIRS).because("Not decided")
        # What stays outside too long fails, however early the run ends.
        late = after_s is None or after_s > self.within_s
        if ratios.values.size and (not coverage.gap or (late and coverage.to_s - coverage.from_s > least_s)):
            early = after_s is not None and after_s < self.earliest_s
            status = Status.FAIL if late or early else Status.PASS
            if after_s is None:
                said = Message(
                    "settles.never",
                    f"Not within ±{self.tolerance:.0%} of {target:.3g} at {coverage.to_s:.1f} s: the ratio is "
                    f"{ratios.values[-1]:.3g}.",
                )
            else:
                since = f" from {self.from_s:g} s on" if self.from_s else ""
                said = Message(
                    "settles.for-good",
                    f"Settled within ±{self.tolerance:.0%} of {target:.3g} after {after_s:.1f} s{since}; expected "
                    f"{self.limits_in_words}.",
                )
            if status == Status.FAIL:
                said = said.followed_by(*explain.windows_and_links(evidence, session, coverage.from_s, coverage.to_s))
        measured = "never" if after_s is None and ratios.values.size else after_s
        figures = {**coverage.figures(session["name"]), "target": target, "samples": int(ratios.values.size)}
        return self.conclude(status, said, measured=measured, expected=self.limits_in_words, **figures)


def quotients(first: Timed, second: Timed, within_s: float) -> Timed:
    """First/second for each first sample with a second one ``within_s`` of it.

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
    return Timed(np.array(times, dtype=np.float64), np.array(values, dtype=np.float64))


def _median(values: Values) -> float | None:
    return float(np.median(values)) if values.size else None


def settled_s(ratios: Timed, target: float, tolerance: float) -> float | None:
    """The time from which on every ratio is within ``tolerance``, a part of ``target``; None if the last is not."""
    outside = np.flatnonzero(np.abs(ratios.values / target - 1) > tolerance)
    first = int(outside[-1]) + 1 if outside.size else 0
    return float(ratios.t_s[first]) if first < ratios.t_s.size else None
