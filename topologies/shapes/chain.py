"""``chain``: hosts in a row.

Standard library only, for ``mn --custom``.
"""

from collections.abc import Sequence
from itertools import pairwise

from topologies.layout import Edge, Layout
from topologies.shapes.shape import Shape


def chain(names: Sequence[str]) -> Layout:
    """Hosts ``h1``, ``h2``, … in a row, with a link of each name from one to the next.

    No packet crosses more than one link: what goes further is passed on by the agents on the hosts between, so there
    are no paths and no routes.
    """
    hosts = tuple(f"h{number}" for number in range(1, len(names) + 2))
    edges = tuple(Edge(name, a, b) for name, (a, b) in zip(names, pairwise(hosts), strict=True))
    return Layout(hosts, (), edges, ())


SHAPE = Shape(agents_everywhere=True)
