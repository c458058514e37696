"""Resolves the links of a scenario's topology and their properties."""

from collections.abc import Callable, Mapping
from pathlib import Path as FilePath

from testbed.errors import BadInput
from testbed.planning.custom import custom
from testbed.planning.resolved import Resolver, Topology
from testbed.scenario.links import Link as AskedLink
from testbed.scenario.links import Queue
from testbed.scenario.model import Scenario
from testbed.scenario.sessions import Access
from topologies.layout import Layout, Path
from topologies.link import Link
from topologies.shapes.chain import chain
from topologies.shapes.dumbbell import dumbbell
from topologies.shapes.parallel import parallel
from topologies.shapes.relays import relays
from topologies.shapes.star import star
from topologies.units import QueueLength, Rate


def resolve_topology(scenario: Scenario, file: FilePath, seed: int, frame_bytes: int) -> Topology:
    """The scenario's topology, its full packets of ``frame_bytes`` on the wire.

    Raises :class:`BadInput` for what its kind of topology can't have.
    """
    make = MAKERS.get(scenario.topology.kind, _shaped)
    return make(scenario, Resolver(file, seed, frame_bytes))


def _shaped(scenario: Scenario, resolver: Resolver) -> Topology:
    """A topology that follows from its shape alone. Links from a router have their queue in the link emulator."""
    shape = scenario.topology.shape
    assert shape.layout is not None, f"topology {scenario.topology.kind} needs a maker"
    layout = shape.layout([link.name for link in scenario.links])
    at_senders = {path.edges[0] for path in layout.paths} - {edge for path in layout.paths for edge in path.edges[1:]}
    requested = [link if link.name in at_senders else resolver.queued_in_the_middle(link) for link in scenario.links]
    links = resolver.links(requested, layout.edges)
    return Topology(layout, links, links, {}, [list(layout.paths)])


def _relays(scenario: Scenario, resolver: Resolver) -> Topology:
    for link in scenario.links:
        if link.trace:
            raise BadInput(
                "link.trace-through-relay",
                f"{resolver.file}: links.{link.name}.trace: a path through a relay has one constant rate on both of "
                "its hops; give a rate alone, or use topology: parallel",
                field=f"links.{link.name}.trace",
            )
    shape = relays([link.name for link in scenario.links])
    whole = resolver.links(scenario.links, parallel([link.name for link in scenario.links]).edges)
    hops: dict[str, list[Link]] = {}
    for link, path, planned in zip(scenario.links, shape.paths, whole, strict=True):
        # The queue is sized to the path's delay, and impairments meet a packet once, on the first hop.
        queue = link.queue.model_copy(update={"limit": QueueLength(packets=planned["queue"]["packets"])})
        half_ms = round(link.delay_ms / 2, 6)
        first = link.model_copy(update={"delay_ms": half_ms, "queue": queue})
        second = _plain(link.name, link.rate, round(link.delay_ms - half_ms, 6), planned, link.burst_bytes)
        hops[link.name] = [
            resolver.link(hop, place, shape.edges[place - 1])
            for hop, place in zip((first, second), map(shape.index, path.edges), strict=True)
        ]
    links = [link for path in hops.values() for link in path]
    return Topology(shape, links, whole, hops, [list(shape.paths)])


def _dumbbell(scenario: Scenario, resolver: Resolver) -> Topology:
    bottleneck = scenario.links[0]
    if bottleneck.name.startswith("access-"):
        raise BadInput(
            "topology.reserved-link-name",
            f"{resolver.file}: links.{bottleneck.name}.name: access- begins the access links' names; use another, like "
            "core",
        )
    sessions = len(scenario.sessions) or 1
    shape = dumbbell(bottleneck.name, sessions, len(scenario.cross_traffic))
    core = resolver.link(resolver.queued_in_the_middle(bottleneck), 1, shape.edges[0])
    links = [core, *_access(scenario, resolver, core, shape)]
    return _of_paths(scenario, shape, links)


def _access(scenario: Scenario, resolver: Resolver, core: Link, shape: Layout) -> list[Link]:
    access = scenario.access or Access.model_validate({})
    rate = access.rate or Rate(bps=2 * core["rate_bps"])
    if rate.to_bps(core["frame_bytes"]) < core["rate_bps"]:
        raise BadInput(
            "topology.access-too-slow",
            f"{resolver.file}: access.rate: {rate.to_bps(core['frame_bytes']) / 1000000.0:g} Mbit/s is below the "
            f"bottleneck's {core['rate_bps'] / 1000000.0:g} Mbit/s; the bottleneck has to be the slowest link",
            field="access.rate",
        )
    # A sender may have ahead of the bottleneck what that may hold itself.
    link = _plain("access", rate, access.delay_ms, core)
    return [resolver.link(link, place, edge) for place, edge in enumerate(shape.edges[1:], start=2)]


def _plain(name: str, rate: Rate, delay_ms: float, beside: Link, burst_bytes: int | None = None) -> AskedLink:
    """A link without impairments, whose sender's queue is as long as that of the link ``beside`` it."""
    queue = Queue.model_construct(limit=QueueLength(packets=beside["queue"]["packets"]))
    return AskedLink.model_construct(name=name, rate=rate, delay_ms=delay_ms, queue=queue, burst_bytes=burst_bytes)


def _star(scenario: Scenario, resolver: Resolver) -> Topology:
    sessions = [(str(entry.sender), str(entry.receiver)) for entry in scenario.sessions] or [("h1", "h2")]
    others = [(str(entry.sender), str(entry.receiver)) for entry in scenario.cross_traffic]
    shape = star([link.name for link in scenario.links], [*sessions, *others])
    requested = [resolver.queued_in_the_middle(link) for link in scenario.links]
    links = resolver.links(requested, shape.edges)
    return _of_paths(scenario, shape, links)


def _of_paths(scenario: Scenario, shape: Layout, links: list[Link]) -> Topology:
    """Each session has a path for all of its connections, the first ones; what crosses them has the others."""
    connections = [session.connections for session in scenario.sessions] or [1]
    return Topology(
        shape,
        links,
        links,
        {},
        sessions=[[path] * count for path, count in zip(shape.paths, connections, strict=False)],
        cross_traffic=list(shape.paths[len(connections) :]),
    )


def _chain(scenario: Scenario, resolver: Resolver) -> Topology:
    shape = chain([link.name for link in scenario.links])
    links = resolver.links(scenario.links, shape.edges)
    # From the last host to the first, as Data goes.
    whole = Path(shape.hosts[-1], tuple(edge.name for edge in reversed(shape.edges)))
    return Topology(shape, links, links, {}, [[whole]])


MAKERS: Mapping[str, Callable[[Scenario, Resolver], Topology]] = {
    "relays": _relays,
    "dumbbell": _dumbbell,
    "star": _star,
    "chain": _chain,
    "graph": custom,
    "custom": custom,
}
"""Resolvers of topologies for which names of links are not enough."""
