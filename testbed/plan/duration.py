"""Durations of a plan's transfers."""

from collections.abc import Mapping, Sequence

from testbed.plan.model import Plan, Session
from topologies.link import rate_pps

BEYOND = 1.05
"""A time that is shown ends later than the transfer would at the full rate, in parts of it."""
AFTER_S = 2.0
"""Seconds after the last change that are shown at least."""


def expected_transfer_s(plan: Plan) -> float:
    """Seconds that the plan's largest transfer takes at the full rate of its links, or its configured duration."""
    rates_pps = {link["name"]: rate_pps(link) * (1 - link["loss"]) for link in plan["links"]}
    return at_full_rate_s(plan["sessions"], rates_pps)


def shown_s(plan: Plan) -> float:
    """Seconds from the first start that a picture made before the run has room for."""
    changes = [float(action["at_s"]) + AFTER_S for action in plan["timeline"]]
    return max(1.0, BEYOND * expected_transfer_s(plan), *changes)


def at_full_rate_s(sessions: Sequence[Session], rates_pps: Mapping[str, float]) -> float:
    """Seconds until the last session's end, if all that share a link fill it."""
    return max(
        float(session["expected_s"])
        if "expected_s" in session
        else float(session["start_s"]) + _packets_beside(session, sessions) / sum(rates_pps[x] for x in _links(session))
        for session in sessions
    )


def _packets_beside(session: Session, sessions: Sequence[Session]) -> float:
    """Packets of a session and of those that it shares a link with."""
    shared = [other for other in sessions if _links(other) & _links(session)]
    return sum(float(other["transfer_bytes"] / other["mtu_bytes"]) for other in shared)


def _links(session: Session) -> set[str]:
    return {connection["link"] for connection in session["connections"]}
