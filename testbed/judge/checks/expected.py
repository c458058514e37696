"""The law that a plan implies: its links' rates, and how its timeline stops and changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.law import Law, law_of
from testbed.plan.intervals import LinkInterval, at, link_intervals
from testbed.plan.model import Action, Connection, Plan, Session
from topologies.link import rate_pps

Rates = Mapping[str, float]
RatesOf = Literal["plan", "acknowledged"]


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
