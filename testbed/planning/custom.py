"""A scenario over a user's own topology: its links are the scenario's, its paths the sessions'.

The links themselves name their ends (``graph``), or a Mininet ``Topo`` has them (``custom``).
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from pydantic import TypeAdapter

from testbed import confine, paths, unprivileged
from testbed.errors import BadInput, CannotRun
from testbed.message import InvalidValue, Message, unknown
from testbed.planning.resolved import Resolver, Topology
from testbed.scenario.files import read
from testbed.scenario.links import Link
from testbed.scenario.model import Scenario
from topologies.layout import Ambiguous, Edge, Graph, Layout, Node, Path
from topologies.link import interface_name

MOST_INTERFACE_CHARACTERS = 15
LIMIT_S = 60.0
"""Longest time for a user's topology to be built."""
_GRAPH = TypeAdapter(Graph)


class Unfit(InvalidValue):
    """A part of the scenario that does not fit its topology; the message begins with the part's key."""


def custom(scenario: Scenario, resolver: Resolver) -> Topology:
    """Nodes that send or receive are hosts; the others, switches as well, are routers that pass packets on.

    A queue is at the sender where only senders use a link, else in the middle, where it drops. Raises
    :class:`BadInput`.
    """
    try:
        graph = _read(scenario, resolver.file)
        edges = _edges(scenario.links, graph)
        sessions, others = _paths(scenario, graph, edges)
        paths = [path for own in sessions for path in own] + others
        layout = _layout(scenario, graph, edges, paths)
        requested = [_link(link, paths, layout, resolver) for link in scenario.links]
        layout.routes()
    except Unfit as error:
        raise BadInput.of(error.said.at(f"{resolver.file}")) from error
    except Ambiguous as error:
        raise BadInput.of(error.said.at(f"{resolver.file}: sessions")) from error
    links = resolver.links(requested, edges)
    return Topology(layout, links, links, {}, sessions=sessions, cross_traffic=others)


def _read(scenario: Scenario, file: FilePath) -> Graph:
    is_graph = scenario.topology.kind == "graph"
    graph = _of_links(scenario.links) if is_graph else _of_mininet(scenario, file)
    most = MOST_INTERFACE_CHARACTERS - len(interface_name("", len(graph.links)))
    for name in graph.nodes:
        where = f"{'links' if is_graph else 'topology.class'}: node {name!r}"
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
            raise Unfit("topology.bad-node-name", f"{where}: use letters, digits, - and _")
        if len(name) > most:
            raise Unfit(
                "topology.node-name-too-long",
                f"{where}: its interfaces' names would be too long for Linux; use {most} characters at most",
            )
    return graph


def _of_links(links: Sequence[Link]) -> Graph:
    """The graph by the links' own ends; nodes in the order in which they are named."""
    ends = [link.ends for link in links if link.ends]
    nodes = dict.fromkeys(node for pair in ends for node in pair)
    return Graph(tuple(nodes), tuple((link.name, *link.ends) for link in links if link.ends))


def _of_mininet(scenario: Scenario, scenario_file: FilePath) -> Graph:
    try:
        from topologies.custom import TopoError, read_topo
    except ImportError as error:
        raise CannotRun(
            "topology.needs-mininet",
            f"{scenario_file}: topology.file: a topology of your own needs Mininet: {error}",
            "See ./run.sh doctor.",
        ) from error
    requested = scenario.topology
    assert requested.file is not None
    assert requested.class_name is not None
    file = scenario_file.parent / requested.file
    graph_of = _without_rights if confine.code(file, f"{scenario_file}: topology.file") else read_topo
    try:
        return graph_of(file, requested.class_name, requested.options)
    except TopoError as error:
        field = f"topology.{error.field}"
        raise BadInput.of(error.said.at(f"{scenario_file}: {field}", field=field)) from error


def _without_rights(file: FilePath, class_name: str, options: Mapping[str, Any]) -> Graph:
    """The same in a process that can do nothing else; raises :class:`~topologies.custom.TopoError`."""
    from topologies.custom import TopoClassError, TopoError

    requested = {"file": file.name, "class": class_name, "options": dict(options), "text": read(file)}
    try:
        done = unprivileged.call(
            [sys.executable, "-m", "topologies.custom"],
            json.dumps(requested),
            {"PYTHONPATH": str(paths.CHECKOUT), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
            LIMIT_S,
        )
        said = json.loads(done.stdout)
        if "wrong" in said:
            kind = TopoClassError if said["field"] == TopoClassError.field else TopoError
            raise kind("topology.wrong", str(said["wrong"]))
        return _GRAPH.validate_python(said)
    except subprocess.TimeoutExpired as error:
        raise TopoError("topology.timeout", f"{file.name} has not made its topology after {LIMIT_S:g} s") from error
    except TopoError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise TopoError(
            "topology.process-ended", f"{file.name}: its process ended before it returned its topology"
        ) from error


def _edges(links: Sequence[Link], graph: Graph) -> tuple[Edge, ...]:
    """The topology's links in the order of the scenario's: by name, or by their order if none has one."""
    names = [name for name, _, _ in graph.links if name is not None]
    total = len(graph.links)
    shown = ", ".join(f"{name or number} ({a}–{b})" for number, (name, a, b) in enumerate(graph.links, start=1))
    if names and len(names) != total:
        raise Unfit(
            "topology.some-links-named",
            f"topology.class: {len(names)} of {total} links have a name (key=…); give all of them one, or none: "
            f"{shown}",
        )
    if twice := [name for name in names if names.count(name) > 1]:
        raise Unfit(
            "topology.link-name-twice",
            f"topology.class: two links are named {twice[0]!r} (key=…); each needs a name of its own",
        )
    if not names:
        if len(links) != total:
            raise Unfit(
                "topology.number-of-links",
                f"links: {len(links)} links for the {total} of the topology, which are matched in order: {shown}",
            )
        return tuple(Edge(link.name, a, b) for link, (_, a, b) in zip(links, graph.links, strict=True))
    ends = {name: (a, b) for name, a, b in graph.links}
    for link in links:
        if link.name not in ends:
            raise Unfit(
                "topology.no-such-link", f"links.{link.name}: the topology has no link {link.name!r}; it has {shown}"
            )
    if missing := ", ".join(name for name in names if name not in {link.name for link in links}):
        raise Unfit(
            "topology.link-not-described",
            f"links: the topology's {missing} is not described; give it a rate and a delay",
        )
    return tuple(Edge(link.name, *ends[link.name]) for link in links)


def _paths(scenario: Scenario, graph: Graph, edges: Sequence[Edge]) -> tuple[list[list[Path]], list[Path]]:
    by_name = {edge.name: edge for edge in edges}
    found: dict[str, list[list[Path]]] = {"sessions": [], "cross_traffic": []}
    for key, all_of_it in found.items():
        for number, entry in enumerate(getattr(scenario, key), start=1):
            where = f"{key}.{getattr(entry, 'name', number)}"
            for role in ("sender", "receiver"):
                if (host := getattr(entry, role)) not in graph.nodes:
                    raise Unfit.of(unknown("topology.no-such-host", "host", host, graph.nodes).at(f"{where}.{role}"))
            all_of_it.append([])
            for place, names in enumerate(entry.paths, start=1):
                if said := _break(names, str(entry.sender), str(entry.receiver), by_name):
                    which = f".{place}" if key == "sessions" else ""
                    raise Unfit.of(said.at(f"{where}.{entry.key_of_paths}{which}"))
                all_of_it[-1].append(Path(str(entry.sender), tuple(names)))
    return found["sessions"], [path for own in found["cross_traffic"] for path in own]


def _break(names: Sequence[str], sender: str, receiver: str, edges: dict[str, Edge]) -> Message | None:
    """The place where the links do not lead from sender to receiver."""
    at, been = sender, [sender]
    for name in names:
        if name not in edges:
            return unknown("topology.path-link-unknown", "link", name, edges)
        a, b = edges[name].a, edges[name].b
        if at not in (a, b):
            here = ", ".join(known.name for known in edges.values() if at in (known.a, known.b))
            return Message("topology.path-broken", f"{name} is between {a} and {b}, and the path is at {at}: {here}")
        at = b if at == a else a
        if at in been:
            return Message("topology.path-loops", f"{name} leads back to {at}; a path may visit each node only once")
        been.append(at)
    if at == receiver:
        return None
    return Message("topology.path-ends-elsewhere", f"it ends at {at}, and the receiver is {receiver}")


def _layout(scenario: Scenario, graph: Graph, edges: tuple[Edge, ...], paths: list[Path]) -> Layout:
    agents = {host for session in scenario.sessions for host in (session.sender, session.receiver)}
    others = {host for flow in scenario.cross_traffic for host in (flow.sender, flow.receiver)}
    return Layout(
        tuple(name for name in graph.nodes if name in agents),
        tuple(Node(name, forwards=name not in others) for name in graph.nodes if name not in agents),
        edges,
        tuple(paths),
    )


def _link(link: Link, paths: Sequence[Path], layout: Layout, resolver: Resolver) -> Link:
    crossing = [path for path in paths if link.name in path.edges]
    if not crossing:
        raise Unfit(
            "topology.link-unused",
            f"links.{link.name}: no path crosses it; add it to one, or leave it out of the topology",
        )
    forwards = {node.name for node in layout.nodes if node.forwards}
    for path in crossing:
        if inner := [node for node in layout.inside(path) if node not in forwards]:
            raise Unfit(
                "topology.path-through-host",
                f"sessions: the path {', '.join(path.edges)} goes through {inner[0]}, which sends or receives itself; "
                "only other nodes pass packets on",
            )
    at_senders = all(path.edges[0] == link.name for path in crossing)
    return link if at_senders else resolver.queued_in_the_middle(link)
