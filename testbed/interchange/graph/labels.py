"""Labels of nodes and links."""

from __future__ import annotations

from testbed.plan.link_words import delay, impairments, rate
from testbed.plan.model import Plan
from topologies.link import Link, shaped_at_hosts


def role_of(plan: Plan, name: str) -> str:
    """The role of a node in the run."""
    for node in plan.get("ndn", {}).get("nodes", []):
        if node["host"] == name:
            return str(node["role"])
    sends = any(session["sender_host"] == name for session in plan["sessions"])
    receives = any(session["receiver_host"] == name for session in plan["sessions"])
    beside = sorted(
        {flow["tool"] for flow in plan["cross_traffic"] if name in (flow["client_host"], flow["server_host"])}
    )
    roles = [word for word, does in (("sender", sends), ("receiver", receives)) if does] + beside
    return ", ".join(roles) or "router"


def link_lines(link: Link) -> list[str]:
    """The link's name; its rate and delay; and, where it has any, what else it does to packets."""
    more = impairments(link)
    if not shaped_at_hosts(link):
        more.append(f"{link['queue']['mode']}, {link['queue']['packets']} packets")
    return [link["name"], f"{rate(link)}, {delay(link)}", *([", ".join(more)] if more else [])]
