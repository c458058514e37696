"""What ``ncp-collect`` samples in a run, taken from its plan: the file ``watch.json`` (docs/collectors.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from testbed.ndn import plan as ndn_plan
from testbed.plan.links import LinkPlan
from testbed.plan.resolve import Plan
from testbed.runner.cross_traffic import client_port, server_port
from topologies.netem_middle import shaping_interface

FABRIC = "fabric"
TCP_INTERVAL_MS = 50


def watch_list(plan: Plan, namespaces: Mapping[str, str], fabric: str) -> dict[str, Any]:
    """The document; ``namespaces`` are paths by host, ``fabric`` that of the links' middle."""
    links = [LinkPlan.from_json(link) for link in plan["links"]]
    by_netem = plan["middle"] == "netem"
    return {
        "run": plan["run"],
        "scenario": plan["scenario"],
        "interval_ms": plan["telemetry"]["interval_ms"],
        "tcp_interval_ms": TCP_INTERVAL_MS,
        "namespaces": {**namespaces, FABRIC: fabric},
        "interfaces": [end for link in links for end in _interfaces(link, by_netem=by_netem)],
        "netem": [way for link in links for way in _netem(link)] if by_netem else [],
        "sockets": [*_sessions(plan), *_cross_traffic(plan)],
    }


def _interfaces(link: LinkPlan, *, by_netem: bool) -> Iterator[dict[str, str]]:
    """The link's ends, with the direction of what leaves by them."""
    ends = [
        (link.a.host, link.a.interface, "ab"),
        (link.b.host, link.b.interface, "ba"),
        (FABRIC, link.a.middle_interface, "ba"),
        (FABRIC, link.b.middle_interface, "ab"),
    ]
    if by_netem and not link.shaped_at_hosts:
        ends += [(FABRIC, shaping_interface(link, direction), direction) for direction in ("ab", "ba")]
    for host, interface, direction in ends:
        yield {"host": host, "interface": interface, "link": link.name, "direction": direction}


def _netem(link: LinkPlan) -> Iterator[dict[str, str]]:
    for direction, end in (("ab", link.b), ("ba", link.a)):
        queue = "" if link.shaped_at_hosts else shaping_interface(link, direction)
        yield {"host": FABRIC, "link": link.name, "direction": direction, "delay": end.middle_interface, "queue": queue}


def _sessions(plan: Plan) -> Iterator[dict[str, str]]:
    if plan["traffic"] == "ndn":
        yield from ndn_plan.sockets(plan)
        return
    for session in plan["sessions"]:
        for connection in session["connections"]:
            sender, receiver = connection["sender"], connection["receiver"]
            if plan["traffic"] == "ncp" and session["transport"] == "tcp":  # a sender dials from any port
                sender = f"{sender.rsplit(':', 1)[0]}:0"
            names = {
                "protocol": session["transport"],
                "flow": f"{session['name']}-{connection['index']}",
                "session": session["name"],
                "connection": str(connection["index"]),
            }
            yield from _both(names, (session["sender_host"], sender), (session["receiver_host"], receiver))


def _cross_traffic(plan: Plan) -> Iterator[dict[str, str]]:
    for flow in plan["cross_traffic"]:
        names = {"protocol": "tcp", "flow": f"iperf3-{flow['number']}", "session": "", "connection": ""}
        client = (flow["client_host"], f"{flow['client']}:{client_port(flow)}")
        server = (flow["server_host"], f"{flow['server']}:{server_port(flow)}")
        yield from _both(names, client, server)


def _both(names: dict[str, str], sender: tuple[str, str], receiver: tuple[str, str]) -> Iterator[dict[str, str]]:
    """The two sides of a flow, each a host and an address with port."""
    for role, (host, local), (_, remote) in (("sender", sender, receiver), ("receiver", receiver, sender)):
        yield {**names, "role": role, "host": host, "local": local, "remote": remote}
