"""Durations of a plan's transfers."""

import math
from collections.abc import Mapping, Sequence

from testbed.plan.intervals import link_intervals
from testbed.plan.model import Plan, Session
from topologies.link import rate_pps

BEYOND = 1.05
"""A time that is shown ends later than the transfer would at the full rate, in parts of it."""
AFTER_S = 2.0
"""Seconds after the last change that are shown at least."""


def expected_transfer_s(plan: Plan) -> float:
    """Seconds that the plan's largest transfer takes at the full rate of its links in the timeline, or its configured
    duration."""
    rates_pps = {
        link["name"]: [
            (each.from_s, each.up * rate_pps(each.link) * (1 - each.link["loss"]))
            for each in link_intervals(link, plan["timeline"], "ab")
        ]
        for link in plan["links"]
    }
    return at_full_rate_s(plan["sessions"], rates_pps)


def shown_s(plan: Plan) -> float:
    """Seconds from the first start that a picture made before the run has room for."""
    changes = [float(action["at_s"]) + AFTER_S for action in plan["timeline"]]
    return max(1.0, BEYOND * expected_transfer_s(plan), *changes)


def at_full_rate_s(sessions: Sequence[Session], rates_pps: Mapping[str, Sequence[tuple[float, float]]]) -> float:
    """Seconds until the last session's end, if all that share a link fill it; ``rates_pps`` are each link's from each
    time on, the first at 0."""
    return max(
        float(session["expected_s"])
        if "expected_s" in session
        else _carried_s(_packets_beside(session, sessions), session["start_s"], [rates_pps[x] for x in _links(session)])
        for session in sessions
    )


def _carried_s(packets: float, start_s: float, rates_pps: Sequence[Sequence[tuple[float, float]]]) -> float:
    """The time at which links have carried packets from a time on; that of the last change if they never do."""
    at_s = float(start_s)
    changes = sorted({change_s for steps in rates_pps for change_s, _ in steps if change_s > at_s})
    for until_s in (*changes, math.inf):
        pps = sum([value for from_s, value in steps if from_s <= at_s][-1] for steps in rates_pps)
        if pps and packets <= pps * (until_s - at_s):
            return at_s + packets / pps
        if until_s < math.inf:
            packets, at_s = packets - pps * (until_s - at_s), until_s
    return at_s


def _packets_beside(session: Session, sessions: Sequence[Session]) -> float:
    """Packets of a session and of those that it shares a link with."""
    shared = [other for other in sessions if _links(other) & _links(session)]
    return sum(float(other["transfer_bytes"] / other["mtu_bytes"]) for other in shared)


def _links(session: Session) -> set[str]:
    return {connection["link"] for connection in session["connections"]}
