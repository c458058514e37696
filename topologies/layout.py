"""The shape of a topology: linked nodes, before their links have rates and delays.

Standard library only, so that ``mn --custom`` gets the same shapes, addresses and routes as a scenario.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.message import InvalidValue
from topologies.link import end_address, interface_name
from topologies.typed_dict import TypedDict


class Ambiguous(InvalidValue):
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
    """A path from one host to another: names of edges in the order that packets cross them."""

    sender: str
    edges: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """A topology of the user's own: its nodes, and its links in their order; one without a name has None."""

    nodes: tuple[str, ...]
    links: tuple[tuple[str | None, str, str], ...]
    options: tuple[Mapping[str, Any], ...] = ()
    """Options of each link in a Mininet topology."""


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

    def inside(self, path: Path) -> list[str]:
        """The nodes between a path's ends."""
        return [crossed[4] for crossed in self._crossed(path)][:-1]

    def routes(self) -> list[Route]:
        """Routes of hosts and routers for packets on the paths, there and back.

        Raises :class:`Ambiguous` where they would have to know two ways to one address.
        """
        known: dict[tuple[str, str], Route] = {}
        for path in self.paths:
            there = list(self._crossed(path))
            back = [(i, far, near, b, a) for i, near, far, a, b in reversed(there)]
            for crossed in (there, back):
                destination = crossed[-1][2]
                for index, _, via, host, _ in crossed[:-1]:
                    route = Route(host=host, to=destination, via=via, interface=interface_name(host, index))
                    if known.setdefault((host, destination), route) != route:
                        raise Ambiguous(
                            "topology.ambiguous-route",
                            f"{host} would need two ways to {destination}: by {known[host, destination]['via']} and "
                            f"by {via}; let paths to one host end in links of their own",
                        )
        return list(known.values())

    def _crossed(self, path: Path) -> Iterator[tuple[int, str, str, str, str]]:
        """The index, near and far address, near and far host of each link on a path."""
        at = path.sender
        for name in path.edges:
            index = self.index(name)
            edge = self.edges[index - 1]
            near, far = (1, 2) if edge.a == at else (2, 1)
            there = edge.b if near == 1 else edge.a
            yield index, end_address(index, near), end_address(index, far), at, there
            at = there
