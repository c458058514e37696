"""``dumbbell``: pairs of hosts around two routers, with one link between these, the bottleneck.

Standard library only, for ``mn --custom``.
"""

from topologies.layout import Edge, Layout, Node, Path
from topologies.shapes.shape import Shape


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


SHAPE = Shape(
    keys=("sessions", "access", "cross_traffic"), most_links=1, links_are="the bottleneck (access is for the others)"
)
