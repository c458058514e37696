"""What virtual time can't carry, by name: nothing that a scenario asks for is left out silently."""

from __future__ import annotations

from testbed.plan.model import Plan, Session
from testbed.plan.traffic_types import sent_by
from topologies.impairments import keys_that

UNKEPT = keys_that()
"""Properties of a link by which it loses packets, changes them or their order."""


def refusals(plan: Plan) -> list[str]:
    """One line per thing that only a real kernel has; none if the simulator carries the whole plan."""
    found = [
        f"cross_traffic.{flow['number']}: {flow['tool']} needs a kernel's TCP, which the simulator has not"
        for flow in plan["cross_traffic"]
    ]
    sent = sent_by(plan)
    if sent.of_a_kernel:
        return [*found, f"{sent.name}: it needs a kernel's {sent.of_a_kernel}, which the simulator has not"]
    captured = plan["traces"]["pcap"] if "traces" in plan else []
    for session in plan["sessions"]:
        if session["transport"] == "tcp" and captured:
            found.append(
                f"--pcap {captured[0]}: session {session['name']} is over TCP, whose segments the simulator has not"
            )
        if session["transport"] == "tcp" and (why := _what_tcp_would_repair(plan, session)):
            found.append(
                f"sessions.{session['name']}: transport tcp needs a kernel's TCP where {why}; "
                "the simulator carries it over links that keep every packet and its place"
            )
    return found


def _what_tcp_would_repair(plan: Plan, session: Session) -> str | None:
    """What may happen to a packet on the session's way that TCP's own rules would answer; None if nothing."""
    links = {link["name"]: link for link in plan["links"]}
    crossed = {name for connection in session["connections"] for name in connection["path"]}
    for name in sorted(crossed):
        link = links[name]
        if link["queue"]["mode"] != "backpressure" or any(len(c["path"]) > 1 for c in session["connections"]):
            return f"link {name} has a queue that drops"
        if found := [key for key in UNKEPT if link.get(key)]:
            return f"link {name} has {found[0]}"
    for action in plan["timeline"]:
        if action["kind"] == "pause_read" or action["link"] not in crossed:
            continue
        if action["kind"] == "carrier" or set(action["properties"]) & set(UNKEPT):
            return f"the timeline has “{action['text']}”"
    return None
