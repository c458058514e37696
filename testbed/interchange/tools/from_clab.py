"""containerlab's ``.clab.yml``: nodes, links between two of them, and netem's options at their ends.

That stands in commands: ``containerlab tools netem set`` (also in comments, as ``to_clab`` writes them), or ``tc`` in a
node's ``exec``. Made after https://containerlab.dev/manual/topo-def-file and its schema.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from testbed.interchange.tools.network import FoundLink, Network, mapping, netem

OPTIONS = {"-n": "node", "--node": "node", "-i": "interface", "--interface": "interface"}
Impaired = dict[tuple[str, str], dict[str, str]]
"""Impairments of the packets that a node's interface sends."""


def from_clab(document: Mapping[str, Any], text: str, name: str) -> Network:
    """The network in a topology file; ``text`` is all of it, with its comments."""
    network = Network(str(document.get("name") or name))
    topology = mapping(document["topology"])
    nodes = {node: mapping(has) for node, has in mapping(topology.get("nodes")).items()}
    impaired = _impaired(nodes, text, network)
    network.lost += [f"nodes: {key}" for key in sorted({key for has in nodes.values() for key in has} - {"exec"})]
    network.lost += sorted(set(document) - {"name", "topology"})
    for number, link in enumerate(map(mapping, topology.get("links") or []), start=1):
        where = f"links.{number}"
        ends = [_end(end) for end in link.get("endpoints") or []]
        if len(ends) != 2 or any(node not in nodes for node, _ in ends):
            network.lost.append(f"{where}: {link.get('type') or 'it'} is not between two nodes of the file")
            continue
        if more := sorted(set(link) - {"endpoints", "type", "vars"}):
            network.lost.append(f"{where}: {', '.join(more)}")
        called = mapping(link.get("vars")).get("name")
        a, b = (impaired.get(end, {}) for end in ends)
        if a != b:  # a scenario's links are the same both ways
            first = "from the first end" if a else "from the second end"
            network.lost.append(f"{where}: its directions differ; as here {first}")
        network.links.append(FoundLink(str(called) if called else None, ends[0][0], ends[1][0], dict(a or b)))
    return network


def _end(end: Any) -> tuple[str, str]:
    """Node and interface of an end, in the brief form (``node:interface``) or the extended one."""
    if isinstance(end, dict):
        return str(end.get("node")), str(end.get("interface"))
    node, _, interface = str(end).partition(":")
    return node, interface


def _impaired(nodes: Mapping[str, Mapping[str, Any]], text: str, network: Network) -> Impaired:
    found: Impaired = {}
    for line in re.findall(r"(?:containerlab|clab)\s+tools\s+netem\s+set\s+(.+)", text):
        words = shlex.split(line, comments=True)
        reported = {OPTIONS.get(key, key.lstrip("-")): each for key, each in zip(words[::2], words[1::2], strict=False)}
        node, interface = reported.pop("node", ""), reported.pop("interface", "")
        node = node.removeprefix(f"clab-{network.name}-")
        found[node, interface] = netem(reported, f"netem at {node}:{interface}", network.lost)
    for node, command in ((node, str(command)) for node, has in nodes.items() for command in has.get("exec") or []):
        words = shlex.split(command)
        if words[:2] == ["tc", "qdisc"] and "netem" in words and "dev" in words[:-1]:
            interface = words[words.index("dev") + 1]
            reported = _words_of_tc(words[words.index("netem") + 1 :])
            found[node, interface] = netem(reported, f"tc at {node}:{interface}", network.lost)
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
