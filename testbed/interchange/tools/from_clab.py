"""containerlab's ``.clab.yml``: nodes, links between two of them, and netem's options at their ends.

That stands in commands: ``containerlab tools netem set`` (also in comments, as ``to_clab`` writes them), or ``tc`` in a
node's ``exec``. Made after https://containerlab.dev/manual/topo-def-file and its schema.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from testbed.interchange.tools.network import FoundLink, Network, both_ways, netem

OPTIONS = {"-n": "node", "--node": "node", "-i": "interface", "--interface": "interface"}
Impaired = dict[tuple[str, str], dict[str, str]]
"""Impairments of the packets that a node's interface sends."""


def from_clab(document: Mapping[str, Any], text: str, name: str) -> Network:
    """The network in a topology file; ``text`` is all of it, with its comments."""
    network = Network(str(document.get("name") or name))
    topology = document["topology"]
    nodes = topology.get("nodes") if isinstance(topology, dict) else None
    nodes = nodes if isinstance(nodes, dict) else {}
    impaired = _impaired(nodes, text, network)
    for key in sorted({key for node in nodes.values() if isinstance(node, dict) for key in node} - {"exec"}):
        network.lost.append(f"nodes: {key}")
    for key in sorted(set(document) - {"name", "topology"}):
        network.lost.append(key)
    for number, link in enumerate(topology.get("links") or [] if isinstance(topology, dict) else [], start=1):
        where = f"links.{number}"
        ends = list(_ends(link))
        if len(ends) != 2 or any(node not in nodes for node, _ in ends):
            kind = str(link.get("type", "")) if isinstance(link, dict) else ""
            network.lost.append(f"{where}: {kind or 'it'} is not between two nodes of the file")
            continue
        if more := sorted(set(link) - {"endpoints", "type", "vars"}):
            network.lost.append(f"{where}: {', '.join(more)}")
        variables = link.get("vars")
        called = variables.get("name") if isinstance(variables, dict) else None
        does = both_ways(impaired.get(ends[0], {}), impaired.get(ends[1], {}), where, network.lost)
        network.links.append(FoundLink(str(called) if called else None, ends[0][0], ends[1][0], does))
    return network


def _ends(link: Any) -> Iterator[tuple[str, str]]:
    """Node and interface of each end, in the brief form (``node:interface``) or the extended one."""
    for end in (link.get("endpoints") or []) if isinstance(link, dict) else []:
        if isinstance(end, dict):
            yield str(end.get("node")), str(end.get("interface"))
        else:
            node, _, interface = str(end).partition(":")
            yield node, interface


def _impaired(nodes: Mapping[str, Any], text: str, network: Network) -> Impaired:
    found: Impaired = {}
    for line in re.findall(r"(?:containerlab|clab)\s+tools\s+netem\s+set\s+(.+)", text):
        words = shlex.split(line, comments=True)
        reported = {
            OPTIONS.get(key, key.lstrip("-")): value for key, value in zip(words[::2], words[1::2], strict=False)
        }
        node, interface = str(reported.pop("node", "")), str(reported.pop("interface", ""))
        node = node.removeprefix(f"clab-{network.name}-")
        found[node, interface] = netem(reported, f"netem at {node}:{interface}", network.lost)
    for node, has in nodes.items():
        for command in (has.get("exec") or []) if isinstance(has, dict) else []:
            words = shlex.split(str(command))
            if words[:2] == ["tc", "qdisc"] and "netem" in words and "dev" in words[:-1]:
                interface = words[words.index("dev") + 1]
                reported = _words_of_tc(words[words.index("netem") + 1 :])
                found[str(node), interface] = netem(reported, f"tc at {node}:{interface}", network.lost)
            elif words[:1] not in (["ip"], ["sysctl"]):  # addresses and routes are the testbed's own affair
                network.lost.append(f"nodes.{node}: exec {command}")
    return found


def _words_of_tc(words: list[str]) -> dict[str, str]:
    """``delay 50ms 5ms loss 1%`` → delay, jitter and loss."""
    reported: dict[str, str] = {}
    key = ""
    for word in words:
        if word[:1].isalpha() and word != "random":
            key = word
        elif key == "delay" and key in reported:
            reported.setdefault("jitter", word)
        elif key:
            reported.setdefault(key, word)
    return reported
