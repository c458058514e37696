"""The topologies with routers as ``mn --custom`` uses them: packets take the paths that they should."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from testbed import paths
from testbed.machine import build
from topologies.commands import in_namespace, run
from topologies.fabric import leftover_namespaces, namespace_of

pytestmark = pytest.mark.alone


@contextmanager
def mininet(name: str, *arguments: Any, file: str = "", **options: Any) -> Iterator[Any]:
    """A network of the topology of that name, in ``file`` or the one that is called as it is."""
    from mininet.net import Mininet

    build.build_programs()
    before = leftover_namespaces()
    custom: dict[str, Any] = {}
    source = paths.CHECKOUT / (file or "topologies/mn.py")
    exec(compile(source.read_text(), str(source), "exec"), custom)  # as mn does it, without __file__
    net = Mininet(topo=custom["topos"][name](*arguments, **options), controller=None, build=True)
    try:
        yield net
    finally:
        net.stop()
    assert leftover_namespaces() == before


def of_delay(net: Any, host: str, source: str, destination: str, *delays_ms: float) -> float:
    """The shortest of a few round trips, by the delays of the links that it goes over, there and back."""
    ping = ["ping", "-c", "3", "-i", "0.2", "-I", source, destination]
    said = run(in_namespace(namespace_of(net.get(host).pid), ping))
    return float(re.search(r"= ([\d.]+)/", said).group(1)) / (2 * sum(delays_ms))  # type: ignore[union-attr]


def received(net: Any, host: str) -> dict[str, int]:
    """Packets that each of a host's interfaces has received."""
    said = run(in_namespace(namespace_of(net.get(host).pid), ["cat", "/proc/net/dev"]))
    rows = [line.replace(":", " ").split() for line in said.splitlines()[2:]]
    return {row[0]: int(row[2]) for row in rows if row[0] != "lo"}


def test_each_path_has_a_relay_of_its_own() -> None:
    with mininet("relays", 2, rate="8mbit", delay="20ms") as net:
        # The second path is links 3 and 4; there and back, 10 ms on each hop.
        assert 1 <= of_delay(net, "h1", "198.18.3.1", "198.18.4.2", 10, 10) < 1.5
        assert received(net, "r1") == {"r1-eth1": 0, "r1-eth2": 0}
        assert received(net, "r2") == {"r2-eth3": 3, "r2-eth4": 3}


def test_all_pairs_share_the_bottleneck() -> None:
    with mininet("dumbbell", 2, rate="8mbit", delay="20ms") as net:
        # Pair 2 is on links 4 and 5; 20 ms in the middle and 1 ms at each side.
        assert 1 <= of_delay(net, "a2", "198.18.4.1", "198.18.5.2", 1, 20, 1) < 1.5
        assert received(net, "r1") == {"r1-eth1": 3, "r1-eth2": 0, "r1-eth4": 3}
        assert received(net, "r2") == {"r2-eth1": 3, "r2-eth3": 0, "r2-eth5": 3}
        qdisc = run(in_namespace(namespace_of(net.get("r1").pid), ["tc", "qdisc", "show", "dev", "r1-eth1"]))
        assert "htb" not in qdisc, "the bottleneck's queue is in the middle, where it drops"


def test_hosts_of_a_star_meet_at_its_router() -> None:
    with mininet("star", 3, rate="8mbit", delay="10ms") as net:
        assert 1 <= of_delay(net, "h1", "198.18.1.1", "198.18.3.1", 10, 10) < 1.5
        assert received(net, "r1") == {"r1-eth1": 3, "r1-eth2": 0, "r1-eth3": 3}


def test_a_topology_of_ones_own_routes_along_its_paths() -> None:
    with mininet("sharededge", file="scenarios/shared_edge.py", rate="8mbit", delay="5ms") as net:
        # In the order of topo.links(): alone-1, left-1, left-2, alone-2, right-1, right-2, shared.
        assert 1 <= of_delay(net, "h1", "198.18.2.1", "198.18.5.2", 5, 5, 5) < 1.6
        assert received(net, "r2") == {"r2-eth2": 3, "r2-eth3": 0, "r2-eth7": 3}
        assert 1 <= of_delay(net, "h1", "198.18.3.1", "198.18.6.2", 5, 5, 5) < 1.6
        assert received(net, "r2") == {"r2-eth2": 3, "r2-eth3": 3, "r2-eth7": 6}
        assert set(received(net, "r1").values()) == {0}
        assert 1 <= of_delay(net, "h1", "198.18.1.1", "198.18.4.2", 5, 5) < 2
