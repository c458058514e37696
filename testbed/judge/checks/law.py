"""The convergence law of proportional windows, and ``follows_law``: do the windows converge as it says they must?

Each acknowledged packet adds one to its connection's window and all windows are then scaled back to the
sum W (NKP-0024, "Adjust send window size dynamically"). With connection i acknowledged at a_i packets/s and
A = Σ a_i, its share s_i of W obeys ds_i/dt = (a_i − s_i·A) / W, hence

    s_i(t) = s∞_i + (s0_i − s∞_i)·e^(−t/τ),   s∞_i = a_i / A,   τ = W / A.

Where the rates change, a new phase starts with the shares that the one before ended with.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from testbed.judge.checks import explain, planned
from testbed.judge.checks.evidence import NO_SAMPLES, Evidence, Timed, cover, none_of
from testbed.judge.checks.parameters import OfSession, Seconds, SeriesName
from testbed.judge.checks.planned import Rates, by_connection, rates_by_plan
from testbed.judge.checks.result import CheckResult
from testbed.judge.status import Status
from testbed.message import Message, Messages
from testbed.plan.model import Session

RatesOf = Literal["plan", "acknowledged"]


class Phase(NamedTuple):
    """A time of constant rates from ``start_s`` on: shares by connection index, at its start and in the limit."""

    start_s: float
    initial: Mapping[str, float]
    limit: Mapping[str, float]
    time_constant_s: float

    def share(self, connection: str, t_s: ArrayLike) -> NDArray[np.float64]:
        """Shares (0 to 1) at the times ``t_s`` (seconds since the transfer's start), of the same shape."""
        elapsed = np.maximum(np.asarray(t_s, dtype=np.float64) - self.start_s, 0.0)
        initial, limit = self.initial[connection], self.limit[connection]
        return np.asarray(limit + (initial - limit) * np.exp(-elapsed / self.time_constant_s), dtype=np.float64)


class Law(NamedTuple):
    """The law of one session, in one or more phases."""

    phases: tuple[Phase, ...]

    def share(self, connection: str, t_s: ArrayLike) -> NDArray[np.float64]:
        """Shares (0 to 1) at the times ``t_s`` (seconds since the transfer's start), of the same shape."""
        times = np.asarray(t_s, dtype=np.float64)
        shares = self.phases[0].share(connection, times)
        for phase in self.phases[1:]:
            shares = np.where(times >= phase.start_s, phase.share(connection, times), shares)
        return np.asarray(shares, dtype=np.float64)

    @property
    def limit(self) -> Mapping[str, float]:
        """The shares at the end."""
        return self.phases[-1].limit

    @property
    def time_constant_s(self) -> float:
        """The time constant of the first phase."""
        return self.phases[0].time_constant_s


def law_of(session: Session, rates: Sequence[tuple[float, Rates]], start_s: float = 0.0) -> Law:
    """The law from the session's initial windows on, starting at ``start_s``.

    ``rates`` are times (seconds, in order) with the rates from then on; those before ``start_s`` only tell the rates
    that it starts with.
    """
    window_packets, initial = planned.session_window_packets(session), planned.initial_windows(session)
    shares: Rates = {c: window / sum(initial.values()) for c, window in initial.items()}
    last_before = [each for at_s, each in rates if at_s <= start_s][-1]
    phases: list[Phase] = []
    for at_s, each in ((start_s, last_before), *(change for change in rates if change[0] > start_s)):
        if phases:
            shares = {c: float(phases[-1].share(c, at_s)) for c in initial}
        total_rate = sum(each.values())
        if total_rate > 0:
            limit = {c: rate / total_rate for c, rate in each.items()}
            phases.append(Phase(at_s, shares, limit, window_packets / total_rate))
        else:  # nothing is acknowledged, so nothing moves
            phases.append(Phase(at_s, shares, shares, math.inf))
    return Law(tuple(phases))


def rates_acknowledged(evidence: Evidence, session: Session) -> list[tuple[float, Rates]]:
    """Rates that the sender's counters tell between two samples, each with the time that it starts at; the first from
    the transfer's start. CannotJudge where a connection has none."""
    samples = evidence.samples_of("acked", session["name"], planned.connections(session))
    ticks = np.concatenate(([0.0], next(iter(samples.values())).t_s))
    counts = {c: np.interp(ticks, [0.0, *s.t_s], [0.0, *s.values]) for c, s in samples.items()}
    return [
        (float(start), {c: float(n[k + 1] - n[k]) / float(end - start) for c, n in counts.items()})
        for k, (start, end) in enumerate(pairwise(ticks))
        if end > start
    ]


MARKS_S = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
"""Times at which shares are tabulated, in seconds since the transfer's start."""


class FollowsLaw(OfSession):
    """Every connection's share stays within ``tolerance`` of the law from ``from`` to ``to``.

    The law starts at ``start`` with the initial windows; its rates are the links' by the plan, with its
    timeline's breaks, or those at which packets were ``acknowledged``. A quick run is judged over the part of that time
    that it covers, if that is at least ``at_least``.
    """

    judge: Literal["follows_law"]
    series: SeriesName = "window_share"
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

    def law(self, evidence: Evidence, session: Session) -> Law:
        """The law of a run; with the rates that were acknowledged it is what the rule must do with them."""
        by_plan = self.rates == "plan"
        rates = rates_by_plan(evidence.plan, session) if by_plan else rates_acknowledged(evidence, session)
        return law_of(session, rates, self.start_s)

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """Compares shares with the law at the sample times; nothing is interpolated."""
        law = self.law(evidence, session)
        all_samples = evidence.samples(self.series, session["name"])
        if missing := [c for c in planned.connections(session) if c not in all_samples]:
            raise none_of(self.series, missing)
        samples = {c: all_samples[c] for c in planned.connections(session)}
        coverage = cover(evidence, samples, self.from_s, self.to_s, self.at_least_s)
        judged = {c: s.between(coverage.from_s, coverage.to_s) for c, s in samples.items()}
        compared = (
            Compared(c, *values)
            for c, s in judged.items()
            for values in zip(s.t_s.tolist(), s.values.tolist(), law.share(c, s.t_s).tolist(), strict=True)
        )
        worst = max(compared, key=lambda sample: abs(sample.error), default=None)
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
            if outside and len(law.limit) == 2 and all(law.limit.values()):  # one that is down asks for no ratio
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
        links_pps = by_connection(rates_by_plan(evidence.plan, session))
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
            configured_pps=sum(planned.mean(steps, coverage.from_s, coverage.to_s) for steps in links_pps.values()),
            acknowledged_pps=sum(acknowledged.values()) if acknowledged else None,
            shares=_at_marks(law, samples, evidence.interval_s),
        )


class TimeConstant(OfSession):
    """The first connection's share approaches its limit by the law with a time constant within ``tolerance`` of the
    law's, W/Σrate.

    From ``from`` to ``to`` an exponential is fitted to the samples by least squares. Its amplitude is fitted as well,
    so that it does not matter when the approach began and from where. A quick run is judged over the part of that time
    that it covers, if that is at least ``at_least``.
    """

    judge: Literal["time_constant"]
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest error, a part of the law's time constant."""
    from_s: Seconds
    to_s: Seconds
    at_least_s: Seconds = 3.0

    def in_words(self) -> str:
        """The check in words."""
        return (
            f"From {self.from_s:g} s to {self.to_s:g} s the first connection's share of the window approaches its "
            f"limit with a time constant within ±{self.tolerance:.0%} of W/Σrate."
        )

    def result_of(self, evidence: Evidence, session: Session) -> CheckResult:
        """The fitted time constant beside the law's."""
        law, first = law_of(session, rates_by_plan(evidence.plan, session)), planned.connections(session)[0]
        samples = evidence.samples_of("window_share", session["name"], [first])
        coverage = cover(evidence, samples, self.from_s, self.to_s, self.at_least_s)
        judged, expected_s = samples[first].between(coverage.from_s, coverage.to_s), law.time_constant_s
        fitted_s = _fitted_s(judged, law.limit[first], expected_s) if judged.t_s.size else None
        if fitted_s is None or coverage.gap:
            status, said = Status.INSUFFICIENT_DATA, (coverage.gap or NO_SAMPLES).because("Not decided")
        else:
            status = Status.PASS if abs(fitted_s / expected_s - 1) <= self.tolerance else Status.FAIL
            said = Message(
                "law.time-constant",
                f"The time constant from {coverage.from_s:g} s to {coverage.to_s:.4g} s is {fitted_s:.2f} s, by the "
                f"law {expected_s:.2f} s: {fitted_s / expected_s - 1:+.1%}, expected within ±{self.tolerance:.0%}.",
            )
        figures = {**coverage.figures(session["name"]), "samples": int(judged.t_s.size)}
        return self.conclude(status, said, measured=fitted_s, expected=expected_s, tolerance=self.tolerance, **figures)


def _fitted_s(samples: Timed, limit: float, near_s: float) -> float:
    """The time constant of the exponential to ``limit`` that is nearest to the samples, in steps of 0.1% from a tenth
    of ``near_s`` to ten times that."""
    times_s = near_s * np.geomspace(0.1, 10, 4607)
    curves = np.exp(-(samples.t_s - samples.t_s[0]) / times_s[:, np.newaxis])
    explained = (curves @ (samples.values - limit)) ** 2 / (curves**2).sum(axis=1)  # with the best amplitude of each
    return float(times_s[explained.argmax()])


class Compared(NamedTuple):
    """A sample beside the law."""

    connection: str
    at_s: float
    share: float
    by_law: float

    @property
    def error(self) -> float:
        """The measured share less the law's."""
        return self.share - self.by_law

    def __str__(self) -> str:
        return (
            f"the largest error is {self.error:+.3f}, of connection {self.connection} at {self.at_s:.1f} s "
            f"(share {self.share:.3f}, by the law {self.by_law:.3f})"
        )


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
