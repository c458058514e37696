"""What a plan asked for, as the judgements need it.

The plan is the JSON document that a run was made from (``plan.json``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.checks.law import Law, law_of

Plan = Mapping[str, Any]


class NoSuchSession(ValueError):
    """A check names a session that the plan does not have."""


def session_of(plan: Plan, name: str | None) -> Mapping[str, Any]:
    """The session of that name; without a name the plan's only or first one."""
    sessions: list[Mapping[str, Any]] = plan["sessions"]
    for session in sessions:
        if name in (None, session["name"]):
            return session
    known = ", ".join(session["name"] for session in sessions)
    raise NoSuchSession(f"the plan has no session {name!r}; it has {known}")


def window_packets(session: Mapping[str, Any]) -> float:
    """The session's whole window W in packets: send window / MTU."""
    return float(session["send_window_bytes"] // session["mtu_bytes"])


def connections(session: Mapping[str, Any]) -> list[str]:
    """The connections' indices as their ``connection`` tags have them."""
    return [str(connection["index"]) for connection in session["connections"]]


def link_of(plan: Plan, session: Mapping[str, Any], connection: str) -> Mapping[str, Any]:
    """The link that a connection runs over."""
    name = next(c["link"] for c in session["connections"] if str(c["index"]) == connection)
    return next(link for link in plan["links"] if link["name"] == name)


def rates_pps(plan: Plan, session: Mapping[str, Any]) -> dict[str, float]:
    """Each connection's configured rate in full-size packets per second."""
    return {c: float(link_of(plan, session, c)["rate_pps"]) for c in connections(session)}


def initial_windows(session: Mapping[str, Any]) -> dict[str, float]:
    """Each connection's initial window in packets; equal parts of W where the plan says nothing."""
    indices = connections(session)
    asked = session.get("initial_windows") or [window_packets(session) / len(indices)] * len(indices)
    return {index: float(window) for index, window in zip(indices, asked, strict=True)}


def law_for(plan: Plan, session: Mapping[str, Any], start_s: float = 0.0) -> Law:
    """The convergence law that the plan's links and windows imply."""
    return law_of(window_packets(session), initial_windows(session), rates_pps(plan, session), start_s)


def policy_facts(plan: Plan, session: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the session's policy says of itself (``name``, ``cap_packets``, ``rule``); may be empty."""
    if session.get("policy_facts"):
        facts: Mapping[str, Any] = session["policy_facts"]
        return facts
    return next((facts for facts in plan.get("policies", []) if facts.get("name") == session["policy"]), {})
