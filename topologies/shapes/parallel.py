"""``parallel``: two hosts, and a link between them for each connection.

Standard library only, for ``mn --custom``.
"""

from collections.abc import Sequence

from topologies.layout import Edge, Layout, Path
from topologies.shapes.shape import Shape


def parallel(names: Sequence[str]) -> Layout:
    """``h1`` and ``h2`` with a link of each name between them."""
    edges = tuple(Edge(name, "h1", "h2") for name in names)
    return Layout(("h1", "h2"), (), edges, tuple(Path("h1", (name,)) for name in names))


SHAPE = Shape(layout=parallel)
