"""What a plan asked for, as the judgements need it.

The plan is the JSON document that a run was made from (``plan.json``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

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


def session_window_packets(session: Mapping[str, Any]) -> float:
    """The session's whole window W in packets: send window / MTU, seldom a whole number, as agents (and ncp-go) take
    it. What telemetry calls ``window_packets`` is a connection's part of it."""
    return float(session["send_window_bytes"] / session["mtu_bytes"])


def connections(session: Mapping[str, Any]) -> list[str]:
    """The connections' indices as their ``connection`` tags have them."""
    return [str(connection["index"]) for connection in session["connections"]]


def link_of(plan: Plan, session: Mapping[str, Any], connection: str) -> Mapping[str, Any]:
    """The link that a connection runs over."""
    name = next(c["link"] for c in session["connections"] if str(c["index"]) == connection)
    return next(link for link in plan["links"] if link["name"] == name)


def rates_pps(plan: Plan, session: Mapping[str, Any]) -> dict[str, float]:
    """Each connection's rate in full-size packets per second: the least on its path, where a link that several of
    the session's connections cross is shared evenly."""
    rates = {link["name"]: float(link["rate_pps"]) for link in plan["links"]}
    over = connections_over(session)
    return {str(c["index"]): min(rates[x] / over[x] for x in path_of(c)) for c in session["connections"]}


def path_of(connection: Mapping[str, Any]) -> list[str]:
    """The names of the links that a connection's packets cross, in order."""
    path: list[str] = connection.get("path", [connection["link"]])
    return path


def connections_over(session: Mapping[str, Any]) -> Counter[str]:
    """How many of a session's connections cross each link, by its name."""
    return Counter(name for connection in session["connections"] for name in path_of(connection))


def bound_bps(plan: Plan, session: Mapping[str, Any], links: Collection[str] | None = None) -> float:
    """Payload bits/s that a session's links (or only ``links``) carry at their rates, less what they lose."""
    used = {link["name"]: link for c in connections(session) for link in [link_of(plan, session, c)]}
    pps = sum(x["rate_pps"] * (1 - x["loss"]) for x in used.values() if links is None or x["name"] in links)
    payload_bytes = session["mtu_bytes"] if "mtu_bytes" in session else session["segment_bytes"]
    return float(pps * payload_bytes * 8)


def initial_windows(session: Mapping[str, Any]) -> dict[str, float]:
    """Each connection's initial window in packets; equal parts of W where the plan says nothing."""
    indices = connections(session)
    asked = session.get("initial_windows") or [session_window_packets(session) / len(indices)] * len(indices)
    return {index: float(window) for index, window in zip(indices, asked, strict=True)}


def policy_facts(plan: Plan, session: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the session's policy says of itself (``name``, ``cap_packets``, ``rule``); may be empty."""
    if session.get("policy_facts"):
        facts: Mapping[str, Any] = session["policy_facts"]
        return facts
    return next((facts for facts in plan.get("policies", []) if facts.get("name") == session["policy"]), {})
