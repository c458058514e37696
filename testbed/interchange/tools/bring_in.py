"""Another tool's topology as a scenario: its network, one session over it, and what could not be carried."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from testbed import paths
from testbed.errors import BadInput
from testbed.interchange.tools.from_clab import from_clab
from testbed.interchange.tools.from_mininet import from_mininet
from testbed.interchange.tools.from_netlab import from_netlab
from testbed.interchange.tools.network import FoundLink, Network, names_of, unique, word
from testbed.scenario import bounded
from testbed.scenario.files import read
from testbed.scenario.load import parse, plain

RATE, QUEUE = "100mbit", "1000 packets"
"""Rate and queue of a link that has none; the queue is netem's own."""
MOST_NODE_CHARACTERS = 9
"""An interface's name has 15: ``name-eth64``."""


def bring_in(file: Path, class_name: str | None, folder: Path) -> tuple[str, str, list[str]]:
    """A scenario's name, its text for a file in ``folder``, and a line for each thing that it does not hold.

    Raises BadInput where nothing is left.
    """
    network = _network(file, class_name)
    lost = network.lost
    nodes = names_of(list(dict.fromkeys(end for x in network.links for end in (x.a, x.b))), MOST_NODE_CHARACTERS, lost)
    links = [FoundLink(link.name, nodes[link.a], nodes[link.b], link.does) for link in network.links]
    _name(links)
    if not links:
        left_out = "Left out: " + "; ".join(lost) if lost else ""
        raise BadInput("import.no-link", f"{file}: there is no link between two nodes", f"{left_out}")
    sender, receiver = _ends(links)
    ways = _paths(links, sender, receiver)
    crossed = {name for way in ways for name in way}
    for link in links:
        if link.name not in crossed:
            lost.append(f"link {link.name} ({link.a}–{link.b}): no path from {sender} to {receiver} goes over it")
        elif "rate" not in link.does:
            lost.append(f"link {link.name} ({link.a}–{link.b}): it has no rate; {RATE} is written")
    kept = [link for link in links if link.name in crossed]
    name = word(network.name, 32)
    name = name if name[:1].isalpha() else f"from-{name}"[:32]
    return name, _text(name, file, folder, kept, (sender, receiver, ways)), lost


def _network(file: Path, class_name: str | None) -> Network:
    if file.suffix == ".py":
        return from_mininet(file, class_name)
    text = read(file)
    document = plain(parse(file, text, "a topology is a mapping", 16 * bounded.MOST_CHARACTERS))
    name = file.name.split(".")[0]
    if "topology" in document and "links" not in document:
        return from_clab(document, text, name)
    if "links" in document and "checks" not in document:
        return from_netlab(document, name)
    raise BadInput(
        "import.unknown-format",
        f"{file}: neither containerlab's (topology: with nodes and links) nor netlab's (nodes and links)",
        "./run.sh import also takes a Python file with a Mininet Topo.",
    )


def _name(links: Sequence[FoundLink]) -> None:
    """Each by its own name, or by its ends and a number where there are several."""
    seen: set[str] = set()
    for link in links:
        own = word(link.name or "", 32)
        link.name = unique(own if own[:1].isalpha() else f"{link.a}-{link.b}"[:32], seen, 32, "-")
        seen.add(link.name)


def _ends(links: Sequence[FoundLink]) -> tuple[str, str]:
    """Sender and receiver: the first and the last of the nodes with a single neighbour, else of all."""
    reached = _ways(links, links[0].a)
    nodes = [end for end in dict.fromkeys(end for link in links for end in (link.a, link.b)) if end in reached]
    leaves = [node for node in nodes if len({frozenset((x.a, x.b)) for x in links if node in (x.a, x.b)}) == 1]
    chosen = leaves if len(leaves) > 1 else nodes
    return chosen[0], chosen[-1]


def _paths(links: Sequence[FoundLink], sender: str, receiver: str) -> list[list[str]]:
    """A shortest way, then one over the links that are left, and so on: no two share a link, so none share a route."""
    left = list(links)
    found = []
    while way := _ways(left, sender).get(receiver):
        found.append(way)
        left = [link for link in left if link.name not in way]
    return found


def _ways(links: Sequence[FoundLink], start: str) -> dict[str, list[str]]:
    """A shortest way, by the names of its links, to each node that can be reached."""
    ways: dict[str, list[str]] = {start: []}
    ahead = [start]
    for node in ahead:
        for link in links:
            if node in (link.a, link.b):
                other = link.b if node == link.a else link.a
                if other not in ways:
                    ways[other] = [*ways[node], str(link.name)]
                    ahead.append(other)
    return ways


def _text(
    name: str, file: Path, folder: Path, links: Sequence[FoundLink], session: tuple[str, str, Sequence[Sequence[str]]]
) -> str:
    sender, receiver, ways = session
    schema = os.path.relpath(paths.CHECKOUT / "schemas" / "scenario.schema.json", folder)
    rows = []
    for link in links:
        does = {"rate": RATE, **link.does, "queue": link.does.get("queue", QUEUE)}
        properties = ", ".join(f"{key}: {value}" for key, value in does.items())
        rows.append(f"  - {{name: {link.name}, ends: [{link.a}, {link.b}], {properties}}}")
    over = ", ".join(f"[{', '.join(way)}]" for way in ways)
    return f"""# yaml-language-server: $schema={schema}
# From {file.name}. Who sends what, and what has to hold, is a first suggestion.
name: {name}
title: From {file.name.encode("ascii", "replace").decode()}
topology: graph            # each link says between which nodes it is; whoever neither sends nor receives is a router
links:
{chr(10).join(rows)}
ncp:
  policy: nkp24
  transfer: 4MiB
sessions:                  # a connection for each path
  - {{name: s1, sender: {sender}, receiver: {receiver}, paths: [{over}]}}
checks:
  - {{name: payload, judge: payload_intact}}
"""
