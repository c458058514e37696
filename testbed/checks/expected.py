"""The law that a plan implies: its links' rates, and how its timeline stops and changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from testbed.checks import asked
from testbed.checks.evidence import Evidence
from testbed.checks.law import Law, law_of
from testbed.plan.model import Action, Connection, Plan, Properties, Session

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
    window, initial = asked.session_window_packets(session), asked.initial_windows(session)
    return law_of(window, initial, {}, start_s, _acknowledged(evidence, session))


def law_by_plan(plan: Plan, session: Session, start_s: float) -> Law:
    """The law that the plan alone tells, before anything was sent."""
    window, initial = asked.session_window_packets(session), asked.initial_windows(session)
    return law_of(window, initial, asked.rates_pps(plan, session), start_s, rate_changes(plan, session))


def rate_changes(plan: Plan, session: Session) -> list[tuple[float, Rates]]:
    """When the plan's timeline changes what the connections can have acknowledged: seconds, packets/s of each.

    A connection is stopped while its reader is paused or a link of its path is unplugged or loses everything.
    A loss of less than all is not in the law.
    """
    timeline = plan.get("timeline", [])
    times = {float(action["at_s"]) for action in timeline}
    times |= {float(a["at_s"]) + float(a["for_s"]) for a in timeline if a["kind"] == "pause_read"}
    changes: list[tuple[float, Rates]] = []
    before: Rates = asked.rates_pps(plan, session)
    for at_s in sorted(times):
        done = [action for action in timeline if float(action["at_s"]) <= at_s]
        rates = {
            str(connection["index"]): _rate_pps(plan, connection, asked.connections_over(session), done, at_s)
            for connection in session["connections"]
        }
        if rates != before:
            changes.append((at_s, rates))
            before = rates
    return changes


def _rate_pps(
    plan: Plan, connection: Connection, over: Mapping[str, int], done: Sequence[Action], at_s: float
) -> float:
    links = {link["name"]: link for link in plan["links"]}
    rates = {name: float(links[name]["rate_pps"]) for name in asked.path_of(connection)}
    stopped: dict[tuple[str, str], bool] = {}
    for action in done:
        if action["kind"] == "pause_read":
            if action["connection"] == connection["index"]:
                stopped["reader", ""] = at_s < float(action["at_s"]) + float(action["for_s"])
            continue
        link = action["link"]
        if action["kind"] == "carrier" and link in rates:
            stopped["carrier", link] = not action["up"]
        elif action["kind"] == "set" and link in rates and action["direction"] != "ba":
            properties = action["properties"]
            if "rate_bps" in properties:
                rates[link] = properties["rate_bps"] / (8 * links[link]["frame_bytes"])
            if "loss" in properties or "gilbert_elliott" in properties:
                stopped["loss", link] = _loses_all(properties)
    return 0.0 if any(stopped.values()) else min(rate / over[name] for name, rate in rates.items())


def _loses_all(properties: Properties) -> bool:
    bursts = properties.get("gilbert_elliott")
    if bursts:
        return bool(bursts["loss_good"] >= 1 and bursts["loss_bad"] >= 1)
    return bool(properties.get("loss", 0.0) >= 1)


def _acknowledged(evidence: Evidence, session: Session) -> list[tuple[float, Rates]]:
    """Rates between samples, each with the time that it starts at; the first from the transfer's start."""
    samples = evidence.samples_of("acked", session["name"], asked.connections(session))
    ticks = np.concatenate(([0.0], next(iter(samples.values())).t_s))
    counts = {c: np.interp(ticks, [0.0, *s.t_s], [0.0, *s.values]) for c, s in samples.items()}
    return [
        (float(start), {c: float(n[k + 1] - n[k]) / float(end - start) for c, n in counts.items()})
        for k, (start, end) in enumerate(pairwise(ticks))
        if end > start
    ]
