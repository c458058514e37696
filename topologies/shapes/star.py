"""``star``: hosts around one router.

Standard library only, for ``mn --custom``.
"""

from collections.abc import Sequence

from topologies.layout import Edge, Layout, Node, Path
from topologies.shapes.shape import Shape


def star(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> Layout:
    """A host ``h<i>`` for each name, linked by the link of that name with the router ``r1``.

    A path per pair of hosts, sender first.
    """
    edges = tuple(Edge(name, f"h{number}", "r1") for number, name in enumerate(names, start=1))
    link_of = {edge.a: edge.name for edge in edges}
    paths = tuple(Path(sender, (link_of[sender], link_of[receiver])) for sender, receiver in pairs)
    return Layout(tuple(link_of), (Node("r1"),), edges, paths)


SHAPE = Shape(keys=("sessions", "cross_traffic"), hosts_are_named=True, least_links=2, links_are="one for each host")
