"""Another tool's topology as a scenario: its network, one session over it, and what could not be carried."""

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.errors import BadInput, CannotRun
from testbed.interchange.graph import NamedLink, shortest_ways
from testbed.scenario import bounded
from testbed.scenario.files import read
from testbed.scenario.load import parse, plain
from topologies.units import UnitError, parse_delay_ms, parse_fraction, parse_rate

OF_MININET = ("cls", "key", "port1", "port2")
"""Options of a Mininet link that a scenario has no use for."""
TEMPLATE = Path(__file__).with_name("imported_scenario.yaml.template")
OPTIONS = {"-n": "node", "--node": "node", "-i": "interface", "--interface": "interface"}
Impaired = dict[tuple[str, str], dict[str, str]]
"""Impairments of the packets that a node's interface sends."""


@dataclass
class FoundLink:
    """A link, with a scenario's keys and values as they are written there; its name may be missing."""

    name: str
    a: str
    b: str
    does: dict[str, str] = field(default_factory=dict)


@dataclass
class Network:
    """A topology as it was found; ``lost`` has a line for each thing that no scenario can hold."""

    name: str
    links: list[FoundLink] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def mapping(value: Any) -> dict[str, Any]:
    """A value of another tool's file where a mapping is expected; empty where it is none."""
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def netem(requested: Mapping[str, Any], where: str, lost: list[str]) -> dict[str, str]:
    """A scenario's keys of a link from netem's words (shares in percent, a rate in kbit/s or with its unit)."""
    found: dict[str, str] = {}
    for word, value in requested.items():
        key = {"corruption": "corrupt"}.get(word, word)
        text = str(value).strip()
        number = re.fullmatch(r"\d+(\.\d*)?", text)
        try:
            if key in ("delay", "jitter"):
                ms = parse_delay_ms(f"{text}ms" if number else text)
                found |= {key: f"{ms:g}ms"} if ms else {}
            elif key == "rate":
                bps = parse_rate(f"{text}kbit" if number else text).bps if not number or float(text) else None
                found |= {key: bits(bps)} if bps else {}
            elif key in ("loss", "corrupt", "duplicate", "reorder"):
                share = parse_fraction(text.removesuffix("%") + "%")
                found |= {key: f"{share * 100:g}%"} if share else {}
            else:
                lost.append(f"{where}: {word} {text}")
        except UnitError as error:
            lost.append(f"{where}: {word}: {error}")
    return found


def bits(bps: float) -> str:
    """A rate as a scenario writes it, exact."""
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if bps >= factor and (bps / factor * 1000).is_integer():
            return f"{bps / factor:.10g}{unit}"
    return f"{bps:.0f}bit"


def names_of(nodes: Sequence[str], most: int, lost: list[str]) -> dict[str, str]:
    """A name for each node that a scenario and Linux's interfaces can have; new names are reported."""
    found: dict[str, str] = {}
    for node in nodes:
        name = word(node, most)
        found[node] = unique(name if name[:1].isalpha() else f"n{name}"[:most], found.values(), most)
        if found[node] != node:
            lost.append(f"node {node}: its name; it is {found[node]} here")
    return found


def word(text: str, most: int) -> str:
    """A text as a name of small letters, digits and hyphens, no longer than ``most``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:most].strip("-")


def unique(name: str, taken: Collection[str], most: int, before: str = "") -> str:
    """The name, or where it is taken one with a number at its end, and ``before`` that."""
    ends = ("", *(f"{before}{number}" for number in range(2, len(taken) + 2)))
    return next(one for end in ends if (one := name[: most - len(end)] + end) not in taken)


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
        network.links.append(FoundLink(str(called or ""), ends[0][0], ends[1][0], dict(a or b)))
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
        elif words[:1] not in (["ip"], ["sysctl"]):  # the testbed chooses addresses and routes itself
            network.lost.append(f"nodes.{node}: exec {command}")
    return found


def _words_of_tc(words: list[str]) -> dict[str, str]:
    """``delay 50ms 5ms loss 1%`` → delay, jitter and loss."""
    reported: dict[str, str] = {}
    key = ""
    for text in words:
        if text[:1].isalpha() and text != "random":
            key = text
        elif key == "delay" and key in reported:
            reported.setdefault("jitter", text)
        elif key:
            reported.setdefault(key, text)
    return reported


def from_netlab(document: Mapping[str, Any], name: str) -> Network:
    """The network in a topology file; of a link's attributes its name and ``tc`` are carried."""
    network = Network(str(document.get("name") or name))
    nodes = {str(mapping(node).get("name", node)) for node in document.get("nodes") or []}
    network.lost += sorted(set(map(str, document)) - {"name", "nodes", "links"})
    links = document.get("links") or []
    for number, link in enumerate(links if isinstance(links, list) else [], start=1):
        where = f"links.{number}"
        attributes = mapping(link)
        ends = _netlab_ends(link, nodes)
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
        network.links.append(FoundLink(str(called or ""), ends[0], ends[1], does))
    return network


def _netlab_ends(link: Any, nodes: set[str]) -> list[str]:
    """``r1-r2``, a list of nodes, or a mapping with nodes as keys or ``interfaces``."""
    if isinstance(link, str):
        return link.split("-")
    if isinstance(link, list):
        return [str(mapping(node).get("node", node)) for node in link]
    if "interfaces" in mapping(link):
        return _netlab_ends(link["interfaces"], nodes)
    return [key for key in mapping(link) if key in nodes]


def from_mininet(file: Path, class_name: str | None) -> Network:
    """The network that the file's class makes; the file is carried out, by the rules of topologies of one's own."""
    try:
        from topologies.custom import TopoError, read_topo, topo_classes
    except ImportError as error:
        raise CannotRun(
            "import.needs-mininet", f"{file}: a Mininet topology needs Mininet: {error}", "See ./run.sh doctor."
        ) from error
    try:
        if class_name is None:
            classes = topo_classes(file)
            if len(classes) != 1:
                known = ", ".join(classes) or "none"
                raise BadInput(
                    "import.which-class",
                    f"{file}: which class is the topology? Name it with --class; its Topo classes: {known}",
                )
            class_name = classes[0]
        graph = read_topo(file, class_name, {})
    except TopoError as error:
        raise BadInput("import.bad-topology", f"{file}: {error}") from error
    network = Network(file.stem)
    for number, ((name, a, b), options) in enumerate(zip(graph.links, graph.options, strict=True), start=1):
        reported = {key: value for key, value in options.items() if key not in OF_MININET and value is not None}
        queue, mbit = reported.pop("max_queue_size", None), reported.pop("bw", None)
        where = f"link {name or number} ({a}–{b})"
        does = netem(reported, where, network.lost)
        does |= {"rate": bits(float(mbit) * 1e6)} if mbit else {}
        does |= {"queue": f"{{limit: {queue} packets, mode: droptail}}"} if queue else {}
        network.links.append(FoundLink(name or "", a, b, does))
    return network


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
    links: dict[str, FoundLink] = {}
    for link in network.links:  # each by its own name, or by its ends and a number where there are several
        a, b, own = nodes[link.a], nodes[link.b], word(link.name, 32)
        name = unique(own if own[:1].isalpha() else f"{a}-{b}"[:32], links, 32, "-")
        links[name] = FoundLink(name, a, b, link.does)
    if not links:
        left_out = "Left out: " + "; ".join(lost) if lost else ""
        raise BadInput("import.no-link", f"{file}: there is no link between two nodes", f"{left_out}")
    over = [(link.name, link.a, link.b) for link in links.values()]
    sender, receiver = _ends(over)
    ways = _paths(over, sender, receiver)
    crossed = {name for way in ways for name in way}
    for link in links.values():
        if link.name not in crossed:
            lost.append(f"link {link.name} ({link.a}–{link.b}): no path from {sender} to {receiver} goes over it")
        elif "rate" not in link.does:
            lost.append(f"link {link.name} ({link.a}–{link.b}): it has no rate; {RATE} is written")
    kept = [link for link in links.values() if link.name in crossed]
    name = word(network.name, 32)
    name = name if name[:1].isalpha() else f"from-{name}"[:32]
    routes = ", ".join(f"[{', '.join(way)}]" for way in ways)
    session = f"{{name: s1, sender: {sender}, receiver: {receiver}, paths: [{routes}]}}"
    return name, _text(name, file, folder, kept, session), lost


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


def _ends(links: Sequence[NamedLink]) -> tuple[str, str]:
    """Sender and receiver: the first and the last of the nodes with a single neighbour, else of all."""
    reached = shortest_ways(links, links[0][1])
    nodes = [end for end in dict.fromkeys(end for _, *ends in links for end in ends) if end in reached]
    leaves = [node for node in nodes if len({frozenset(ends) for _, *ends in links if node in ends}) == 1]
    chosen = leaves if len(leaves) > 1 else nodes
    return chosen[0], chosen[-1]


def _paths(links: Sequence[NamedLink], sender: str, receiver: str) -> list[list[str]]:
    """A shortest way, then one over the links that are left, and so on: no two share a link, so none share a route."""
    left = list(links)
    found = []
    while way := shortest_ways(left, sender).get(receiver):
        found.append(way)
        left = [link for link in left if link[0] not in way]
    return found


def _text(name: str, file: Path, folder: Path, links: Sequence[FoundLink], session: str) -> str:
    schema = os.path.relpath(paths.CHECKOUT / "schemas" / "scenario.schema.json", folder)
    rows = []
    for link in links:
        does = {"rate": RATE, **link.does, "queue": link.does.get("queue", QUEUE)}
        properties = ", ".join(f"{key}: {value}" for key, value in does.items())
        rows.append(f"  - {{name: {link.name}, ends: [{link.a}, {link.b}], {properties}}}")
    return TEMPLATE.read_text(encoding="utf-8").format(
        schema=schema,
        file=file.name,
        name=name,
        title=file.name.encode("ascii", "replace").decode(),
        links="\n".join(rows),
        session=session,
    )
