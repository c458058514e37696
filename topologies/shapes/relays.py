"""``relays``: two hosts, and a path for each connection through a node of its own, as in an overlay network.

Standard library only, for ``mn --custom``.
"""

from collections.abc import Sequence
from itertools import pairwise

from topologies.layout import Edge, Layout, Node, Path
from topologies.shapes.shape import Shape


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


SHAPE = Shape()
