"""What is written at a node and at a link."""

from __future__ import annotations

from testbed.figures import bits_per_second
from testbed.plan.model import Plan
from topologies.impairments import NUMBERS
from topologies.impairments.impairment import SHARE
from topologies.link import Link, shaped_at_hosts


def role_of(plan: Plan, name: str) -> str:
    """What a node does in the run."""
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
    pps = link["rate_pps"]
    # Whichever of the two is the round number is what was asked.
    rate = f"{pps:g} packets/s" if pps == round(pps, 2) else bits_per_second(link["rate_bps"])
    if "trace_file" in link:
        rate = "rate by a trace"
    more = _impairments(link)
    if not shaped_at_hosts(link):
        more.append(f"{link['queue']['mode']}, {link['queue']['packets']} packets")
    return [link["name"], f"{rate}, {link['delay_ms']:g} ms", *([", ".join(more)] if more else [])]


def _impairments(link: Link) -> list[str]:
    found = [f"loss {_percent(link['loss'])}"] if link["loss"] else []
    if bursts := link.get("gilbert_elliott"):
        found.append(f"bursts of loss {_percent(bursts['enter'])}/{_percent(bursts['leave'])}")
    if jitter_ms := link.get("jitter_ms"):
        found.append(f"jitter {jitter_ms:g} ms")
    elif "jitter_file" in link:
        found.append("jitter by a file")
    for key, impairment in NUMBERS.items():
        if value := link.get(key):
            found.append(f"{key} {_percent(value) if impairment.written is SHARE else value}")  # type: ignore[arg-type]
    return found


def _percent(share: float) -> str:
    return f"{share * 100:g}%"
