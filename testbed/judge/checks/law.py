"""The convergence law of proportional windows.

Each acknowledged packet adds one to its connection's window and all windows are then scaled back to the
sum W (NKP-0024, "Adjust send window size dynamically"). With connection i acknowledged at a_i packets/s and
A = Σ a_i, its share s_i of W obeys ds_i/dt = (a_i − s_i·A) / W, hence

    s_i(t) = s∞_i + (s0_i − s∞_i)·e^(−t/τ),   s∞_i = a_i / A,   τ = W / A.

Where the rates change, a new phase starts with the shares that the one before ended with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import Evidence
from testbed.plan.intervals import LinkInterval, at, link_intervals
from testbed.plan.model import Action, Connection, Plan, Session
from topologies.link import rate_pps

Rates = Mapping[str, float]
"""Acknowledged packets/s by connection."""
RatesOf = Literal["plan", "acknowledged"]


@dataclass(frozen=True)
class Phase:
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


@dataclass(frozen=True)
class Law:
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


def law_of(
    session_window_packets: float,
    initial_windows: Mapping[str, float],
    rates_pps: Mapping[str, float],
    start_s: float = 0.0,
    changes: Sequence[tuple[float, Mapping[str, float]]] = (),
) -> Law:
    """The law for a session's window W (packets), initial windows (packets) and acknowledged packets/s.

    All mappings are by connection index. ``changes`` are later times (seconds, in order) with the rates from
    then on; those before ``start_s`` only tell the rates that it starts with.
    """
    total_window = sum(initial_windows.values())
    shares: Mapping[str, float] = {c: w / total_window for c, w in initial_windows.items()}
    for at_s, rates in changes:
        if at_s <= start_s:
            rates_pps = rates
    phases = [_phase(session_window_packets, start_s, shares, rates_pps)]
    for at_s, rates in changes:
        if at_s > start_s:
            shares = {c: float(phases[-1].share(c, at_s)) for c in initial_windows}
            phases.append(_phase(session_window_packets, at_s, shares, rates))
    return Law(tuple(phases))


def _phase(
    session_window_packets: float, start_s: float, shares: Mapping[str, float], rates_pps: Mapping[str, float]
) -> Phase:
    total_rate = sum(rates_pps.values())
    if total_rate <= 0:  # nothing is acknowledged, so nothing moves
        return Phase(start_s, shares, shares, math.inf)
    limit = {c: rate / total_rate for c, rate in rates_pps.items()}
    return Phase(start_s, shares, limit, session_window_packets / total_rate)


def law_for(evidence: Evidence, session: Session, start_s: float, rates: RatesOf) -> Law:
    """The law from the session's initial windows on, starting at ``start_s``.

    With ``plan`` nothing is fitted to what was measured: a busy link without loss acknowledges packets at its
    rate, one that is stopped none. With ``acknowledged`` the rates are those that the sender's counters tell
    between two samples: what the rule must do with the acknowledgements that it got; CannotJudge where a connection
    has none.
    """
    if rates == "plan":
        return law_by_plan(evidence.plan, session, start_s)
    window, initial = planned.session_window_packets(session), planned.initial_windows(session)
    return law_of(window, initial, {}, start_s, _acknowledged(evidence, session))


def law_by_plan(plan: Plan, session: Session, start_s: float) -> Law:
    """The law that the plan alone tells, before anything was sent."""
    window, initial = planned.session_window_packets(session), planned.initial_windows(session)
    return law_of(window, initial, planned.rates_pps(plan, session), start_s, rate_changes(plan, session))


def rate_changes(plan: Plan, session: Session) -> list[tuple[float, Rates]]:
    """The times (s) at which the plan's timeline changes what connections can have acknowledged, and each connection's
    packets/s.

    A connection is stopped while its reader is paused or a link of its path is down or loses everything.
    A loss of less than all is not in the law.
    """
    timeline, over = plan.get("timeline", []), planned.connections_over(session)
    links = {link["name"]: list(link_intervals(link, timeline, "ab")) for link in plan["links"] if link["name"] in over}
    times = {float(action["at_s"]) for action in timeline}
    times |= {float(a["at_s"]) + float(a["for_s"]) for a in timeline if a["kind"] == "pause_read"}
    changes: list[tuple[float, Rates]] = []
    before: Rates = planned.rates_pps(plan, session)
    for at_s in sorted(times):
        brought = {name: _brought_pps(at(each, at_s)) / over[name] for name, each in links.items()}
        rates = {
            str(c["index"]): 0.0 if _is_paused(c, timeline, at_s) else min(brought[name] for name in planned.path_of(c))
            for c in session["connections"]
        }
        if rates != before:
            changes.append((at_s, rates))
            before = rates
    return changes


def _brought_pps(interval: LinkInterval) -> float:
    bursts = interval.link.get("gilbert_elliott")
    least_loss = min(bursts["loss_good"], bursts["loss_bad"]) if bursts else interval.link["loss"]
    return rate_pps(interval.link) if interval.up and least_loss < 1 else 0.0


def _is_paused(connection: Connection, timeline: Sequence[Action], at_s: float) -> bool:
    return any(
        action["kind"] == "pause_read"
        and action["connection"] == connection["index"]
        and float(action["at_s"]) <= at_s < float(action["at_s"]) + float(action["for_s"])
        for action in timeline
    )


def _acknowledged(evidence: Evidence, session: Session) -> list[tuple[float, Rates]]:
    """Rates between samples, each with the time that it starts at; the first from the transfer's start."""
    samples = evidence.samples_of("acked", session["name"], planned.connections(session))
    ticks = np.concatenate(([0.0], next(iter(samples.values())).t_s))
    counts = {c: np.interp(ticks, [0.0, *s.t_s], [0.0, *s.values]) for c, s in samples.items()}
    return [
        (float(start), {c: float(n[k + 1] - n[k]) / float(end - start) for c, n in counts.items()})
        for k, (start, end) in enumerate(pairwise(ticks))
        if end > start
    ]
