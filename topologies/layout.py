"""Who is linked with whom: the shape of a topology, before its links have rates and delays.

Standard library only, so that ``mn --custom`` gets the same shapes, addresses and routes as a scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from topologies.link import end_address, interface_name
from topologies.typed_dict import TypedDict


class Ambiguous(ValueError):
    """Two paths want to go different ways to one address."""


@dataclass(frozen=True)
class Node:
    """A host without an agent and without a management address; ``forwards`` makes it a router."""

    name: str
    forwards: bool = True


@dataclass(frozen=True)
class Edge:
    """A link to be made; ``a`` → ``b`` is its forward direction."""

    name: str
    a: str
    b: str


class Route(TypedDict):
    """An entry of a host's routing table: an address, the neighbour it is reached by, and by which interface."""

    host: str
    to: str
    via: str
    interface: str


@dataclass(frozen=True)
class Path:
    """From one host to another: names of edges in the order that packets cross them."""

    sender: str
    edges: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Hosts (with agents), further nodes, links and the paths that connections take.

    An edge's place, from 1, is its link's index, hence tells its addresses and interfaces.
    """

    hosts: tuple[str, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    paths: tuple[Path, ...]

    def index(self, edge: str) -> int:
        """The index of the link of that name."""
        return next(place for place, known in enumerate(self.edges, start=1) if known.name == edge)

    def ends(self, path: Path) -> tuple[str, str]:
        """The addresses of a path's sender and receiver."""
        crossed = list(self._crossed(path))
        return crossed[0][1], crossed[-1][2]

    def receiver(self, path: Path) -> str:
        """The host that a path leads to."""
        return list(self._crossed(path))[-1][4]

    def routes(self) -> list[Route]:
        """What hosts and routers must know for packets to take the paths, there and back.

        Raises :class:`Ambiguous` where they would have to know two ways to one address.
        """
        known: dict[tuple[str, str], Route] = {}
        for path in self.paths:
            there = list(self._crossed(path))
            back = [(i, far, near, b, a) for i, near, far, a, b in reversed(there)]
            for crossed in (there, back):
                destination = crossed[-1][2]
                for index, _, via, host, _ in crossed[:-1]:
                    route: Route = {
                        "host": host,
                        "to": destination,
                        "via": via,
                        "interface": interface_name(host, index),
                    }
                    if known.setdefault((host, destination), route) != route:
                        raise Ambiguous(
                            f"{host} would need two ways to {destination}: by {known[host, destination]['via']} and "
                            f"by {via}; let paths to one host end in links of their own"
                        )
        return list(known.values())

    def _crossed(self, path: Path) -> Iterator[tuple[int, str, str, str, str]]:
        """Of each link on a path: its index, near and far address, near and far host."""
        at = path.sender
        for name in path.edges:
            index = self.index(name)
            edge = self.edges[index - 1]
            near, far = (1, 2) if edge.a == at else (2, 1)
            there = edge.b if near == 1 else edge.a
            yield index, end_address(index, near), end_address(index, far), at, there
            at = there


def parallel(names: Sequence[str]) -> Layout:
    """``h1`` and ``h2`` with a link of each name between them."""
    edges = tuple(Edge(name, "h1", "h2") for name in names)
    return Layout(("h1", "h2"), (), edges, tuple(Path("h1", (name,)) for name in names))


def relays(names: Sequence[str]) -> Layout:
    """``h1`` and ``h2`` with a path of each name, through a node of its own.

    Path number i is the links ``<name>-1`` (``h1`` to ``r<i>``) and ``<name>-2`` (``r<i>`` to ``h2``).
    """
    nodes = tuple(Node(f"r{number}") for number in range(1, len(names) + 1))
    edges = tuple(
        Edge(f"{name}-{hop}", *ends)
        for name, node in zip(names, nodes, strict=True)
        for hop, ends in enumerate(pairwise(("h1", node.name, "h2")), start=1)
    )
    paths = tuple(Path("h1", (f"{name}-1", f"{name}-2")) for name in names)
    return Layout(("h1", "h2"), nodes, edges, paths)


def dumbbell(bottleneck: str, pairs: int, cross: int = 0) -> Layout:
    """Senders ``a<i>`` and receivers ``b<i>`` on either side of one link, between the routers ``r1`` and ``r2``.

    The first ``pairs`` of them have agents, ``cross`` more are for other traffic. A path per pair: by the links
    ``access-a<i>``, the bottleneck and ``access-b<i>``.
    """
    edges = [Edge(bottleneck, "r1", "r2")]
    paths: list[Path] = []
    hosts: list[str] = []
    others: list[str] = []
    for number in range(1, pairs + cross + 1):
        left, right = f"a{number}", f"b{number}"
        edges += [Edge(f"access-{left}", left, "r1"), Edge(f"access-{right}", "r2", right)]
        paths.append(Path(left, (f"access-{left}", bottleneck, f"access-{right}")))
        (hosts if number <= pairs else others).extend((left, right))
    nodes = (Node("r1"), Node("r2"), *(Node(name, forwards=False) for name in others))
    return Layout(tuple(hosts), nodes, tuple(edges), tuple(paths))


def star(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Layout:
    """A host ``h<i>`` for each name, linked by the link of that name with the router ``r1``.

    A path per pair of hosts, sender first.
    """
    edges = tuple(Edge(name, f"h{number}", "r1") for number, name in enumerate(names, start=1))
    link_of = {edge.a: edge.name for edge in edges}
    paths = tuple(Path(sender, (link_of[sender], link_of[receiver])) for sender, receiver in pairs)
    return Layout(tuple(link_of), (Node("r1"),), edges, paths)


def chain(names: Sequence[str]) -> Layout:
    """Hosts ``h1``, ``h2``, … in a row, with a link of each name from one to the next.

    No packet crosses more than one link: what goes further is passed on by the agents on the hosts between, so there
    are no paths and no routes.
    """
    hosts = tuple(f"h{number}" for number in range(1, len(names) + 2))
    edges = tuple(Edge(name, a, b) for name, (a, b) in zip(names, pairwise(hosts), strict=True))
    return Layout(hosts, (), edges, ())
