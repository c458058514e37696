"""The parallel topology as ``mn --custom`` uses it: real namespaces, a real middle."""

import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from testbed import paths
from testbed.machine import build
from tests.raises import raises
from topologies.commands import CommandFailed, in_namespace, run
from topologies.fabric import leftover_namespaces, namespace_of
from topologies.units import UnitError

CUSTOM = paths.CHECKOUT / "topologies" / "mn.py"


def test_a_failing_command_is_an_error() -> None:
    with pytest.raises(CommandFailed, match="does not exist"):
        run(["ip", "link", "show", "no-such-device"])
    with pytest.raises(CommandFailed, match="not installed"):
        run(["no-such-program"])


def test_a_bare_fraction_is_refused_as_in_a_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    from topologies import emulated_link

    monkeypatch.setattr(emulated_link, "_interactive", lambda: SimpleNamespace(indices=iter([1]), fabric=None))
    node = SimpleNamespace(name="h1", pid=os.getpid())
    with raises(UnitError, "quantity.bare-fraction"):
        emulated_link.EmulatedLink(node, node, loss=0.01)


@pytest.mark.alone
def test_the_links_are_what_was_asked_and_leave_nothing() -> None:
    from mininet.net import Mininet

    build.build_programs()
    before = leftover_namespaces()
    custom: dict[str, Any] = {}
    exec(compile(CUSTOM.read_text(), str(CUSTOM), "exec"), custom)  # as mn does it, without __file__
    net = Mininet(topo=custom["topos"]["parallel"](2, rate="8mbit", delay="20ms"), controller=None, build=True)
    try:
        h1 = namespace_of(net.get("h1").pid)
        shaper = run(in_namespace(h1, ["tc", "class", "show", "dev", "h1-eth2"]))
        assert "class htb 1:1" in shaper
        assert "rate 8Mbit" in shaper
        for interface in ("h1-eth1", "h1-eth2"):
            offloads = run(in_namespace(h1, ["ethtool", "-k", interface]))
            assert re.search(r"^tcp-segmentation-offload: off", offloads, re.MULTILINE)
            assert re.search(r"^tx-checksumming: off", offloads, re.MULTILINE)
        said = run(in_namespace(h1, ["ping", "-c", "5", "-i", "0.2", "198.18.2.2"]))
        fastest_ms = float(re.search(r"= ([\d.]+)/", said).group(1))  # type: ignore[union-attr]
        assert 1 <= fastest_ms / (2 * 20) < 1.5, "there and back"
        # No path but the emulated one: nothing of the links is in the machine's own namespace.
        assert not Path("/sys/class/net/h1-eth1").exists()
        # Nothing was sent but what was asked for (no IPv6, no ARP).
        received = run(in_namespace(h1, ["cat", "/proc/net/dev"]))
        eth1 = next(line for line in received.splitlines() if "h1-eth1" in line)
        assert eth1.split()[2] == "0", "packets received on the unused link"
    finally:
        net.stop()
    assert leftover_namespaces() == before
