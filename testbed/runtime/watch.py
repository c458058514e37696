"""Makes ``watch.json`` from a plan: the interfaces, queues and sockets that ``ncp-collect`` samples in a run
(docs/collectors.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from testbed.plan.model import Plan
from testbed.plan.place import HERE
from testbed.runtime import cross_traffic
from topologies.link import Link, shaped_at_hosts
from topologies.netem_middle import shaping_interface

FABRIC = "fabric"
TCP_INTERVAL_MS = 50


def watch_list(
    plan: Plan,
    namespaces: Mapping[str, str],
    fabric: str | None,
    sockets: Iterable[Mapping[str, str]],
    machine: str = HERE,
) -> dict[str, Any]:
    """The document for one ``machine``: ``namespaces`` are paths by host, ``fabric`` that of link emulators (None: of
    hosts alone), ``sockets`` the ends of the plan's flows. Parts at other hosts and machines are left out."""
    links, elsewhere = plan["links"], plan.get("middles", {})
    own = {link["name"] for link in links if elsewhere.get(link["name"], HERE) == machine}
    by_netem = plan["middle"] == "netem"
    watched = dict(namespaces) if fabric is None else {**namespaces, FABRIC: fabric}
    return {
        "run": plan["run"],
        "scenario": plan["scenario"],
        "interval_ms": plan["telemetry"]["interval_ms"],
        "tcp_interval_ms": TCP_INTERVAL_MS,
        "namespaces": watched,
        "interfaces": [
            end
            for link in links
            for end in _interfaces(link, by_netem=by_netem)
            if end["host"] in watched and (end["host"] != FABRIC or link["name"] in own)
        ],
        "netem": [path for link in links for path in _netem(link)] if by_netem else [],
        "sockets": [end for end in (*sockets, *cross_traffic.sockets(plan)) if end["host"] in watched],
    }


def _interfaces(link: Link, *, by_netem: bool) -> Iterator[dict[str, str]]:
    """The link's ends, with the direction of the frames that leave by them."""
    ends = [
        (link["a"]["host"], link["a"]["interface"], "ab"),
        (link["b"]["host"], link["b"]["interface"], "ba"),
        (FABRIC, link["a"]["middle_interface"], "ba"),
        (FABRIC, link["b"]["middle_interface"], "ab"),
    ]
    if by_netem and not shaped_at_hosts(link):
        ends += [(FABRIC, shaping_interface(link, direction), direction) for direction in ("ab", "ba")]
    for host, interface, direction in ends:
        yield {"host": host, "interface": interface, "link": link["name"], "direction": direction}


def _netem(link: Link) -> Iterator[dict[str, str]]:
    for direction, end in (("ab", link["b"]), ("ba", link["a"])):
        queue = "" if shaped_at_hosts(link) else shaping_interface(link, direction)
        path = {"host": FABRIC, "link": link["name"], "direction": direction}
        yield {**path, "delay": end["middle_interface"], "queue": queue}
