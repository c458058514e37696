"""Mininet topologies from layouts: as a plan has them, or with links described on Mininet's command line."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mininet.net import Mininet
from mininet.topo import Topo

from topologies.emulated_link import EmulatedLink
from topologies.fabric import Fabric
from topologies.hosts import RoutedHost
from topologies.layout import Layout
from topologies.link import Link


def planned_network(nodes: Mapping[str, Mapping[str, Any]], links: Sequence[Link], fabric: Fabric) -> Mininet:
    """A run's network as Mininet has it, built but for the links' middle: ``nodes`` has each node's options by its
    name, ``links`` are the plan's."""
    topo = Topo()
    for name, options in nodes.items():
        topo.addHost(name, ip=None, **options)
    for link in links:
        hosts, port = (link["a"]["host"], link["b"]["host"]), link["index"]
        topo.addLink(*hosts, port, port, cls=EmulatedLink, plan=link, fabric=fabric)
    net = Mininet(controller=None, autoSetMacs=False, waitConnected=False)
    net.buildFromTopo(topo)
    fabric.connect()
    net.build()  # which sets up the hosts, now that they have their interfaces
    return net


def add_layout(
    topo: Topo, layout: Layout, every_link: Mapping[str, Any], others: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Add a layout's hosts, routers and links to a topology of Mininet's.

    ``every_link`` has the options of :class:`~topologies.emulated_link.EmulatedLink` (``rate``, ``delay``, ``loss``,
    ``queue``), but for the links in ``others``, which has theirs by the link's name.
    """
    routes = layout.routes()
    forwards = {node.name: node.forwards for node in layout.nodes}
    for name in (*layout.hosts, *forwards):
        own = [route for route in routes if route["host"] == name]
        topo.addHost(name, cls=RoutedHost, ip=None, routes=own, forwards=forwards.get(name, False))
    for index, edge in enumerate(layout.edges, start=1):
        options = others.get(edge.name, every_link)
        topo.addLink(edge.a, edge.b, index, index, cls=EmulatedLink, index=index, name=edge.name, **options)
