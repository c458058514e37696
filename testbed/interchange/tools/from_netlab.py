"""netlab's topology file: links in its three forms, with their ``tc`` (https://netlab.tools/links)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.interchange.tools.network import FoundLink, Network, mapping, netem


def from_netlab(document: Mapping[str, Any], name: str) -> Network:
    """The network in a topology file; of a link's attributes its name and ``tc`` are carried."""
    network = Network(str(document.get("name") or name))
    nodes = {str(mapping(node).get("name", node)) for node in document.get("nodes") or []}
    network.lost += sorted(set(map(str, document)) - {"name", "nodes", "links"})
    links = document.get("links") or []
    for number, link in enumerate(links if isinstance(links, list) else [], start=1):
        where = f"links.{number}"
        attributes = mapping(link)
        ends = _ends(link, nodes)
        if len(ends) != 2 or not set(ends) <= nodes:
            network.lost.append(f"{where}: it has {len(ends)} ends that are nodes; two are carried")
            continue
        reported = mapping(attributes.pop("tc", None))
        reported |= {key[3:]: attributes.pop(key) for key in list(attributes) if key.startswith("tc.")}
        called = attributes.pop("name", None)
        more = sorted(set(attributes) - nodes - {"interfaces", "type"})
        if more := more + [f"what it says of {node}" for node in ends if attributes.get(node)]:
            network.lost.append(f"{where}: {', '.join(more)}")
        does = netem(reported, f"{where}.tc", network.lost)
        network.links.append(FoundLink(str(called) if called else None, ends[0], ends[1], does))
    return network


def _ends(link: Any, nodes: set[str]) -> list[str]:
    """``r1-r2``, a list of nodes, or a mapping with nodes as keys or ``interfaces``."""
    if isinstance(link, str):
        return link.split("-")
    if isinstance(link, list):
        return [str(mapping(node).get("node", node)) for node in link]
    if isinstance(link, dict):
        return _ends(link["interfaces"], nodes) if "interfaces" in link else [str(key) for key in link if key in nodes]
    return []
