"""Live changes by the relay's control socket, on real namespaces; both middles side by side are in tests/netem."""

import statistics

import pytest

from testbed.machine import build
from tests.netem.lab import Lab, flow, lab
from tests.said import Saying
from topologies.commands import CommandFailed
from topologies.link import resolve_link
from topologies.relay_middle import RelayMiddle
from topologies.units import Rate

pytestmark = pytest.mark.alone

LINK = resolve_link(1, "k", "h1", "h2", Rate(bps=20e6), delay_ms=60)


def delays_ms(net: Lab, changes: dict[int, dict[str, float]]) -> dict[int, float]:
    """Delay of each packet that arrived, by number, with changes before some."""

    def during(number: int) -> None:
        if number in changes:
            applied = net.middle.change(LINK, "both", changes[number])
            assert applied.from_unix_ns == applied.to_unix_ns

    packets = flow(net, LINK, 300, 0.002, during=during)
    return {number: (at_ns - packets.sent_ns[number]) / 1e6 for number, at_ns in packets.arrived}


def test_a_change_keeps_what_is_under_way() -> None:
    with lab("relay", [LINK], build.build_programs()["ncp-link"]) as net:
        delays = delays_ms(net, {100: {"delay_ms": 0.0}, 200: {"loss": 1.0}, 250: {"loss": 0.0}})
        assert set(delays) == {*range(200), *range(250, 300)}
        assert statistics.median(delays[n] for n in range(100)) == pytest.approx(60, abs=3)
        assert statistics.median(delays[n] for n in range(150, 200)) < 3


def test_what_the_relay_refuses_is_said() -> None:
    with lab("relay", [LINK], build.build_programs()["ncp-link"]) as net:
        with pytest.raises(ValueError, match="dely_ms"):
            net.middle.change(LINK, "ab", {"dely_ms": 1})
        with pytest.raises(ValueError, match="loss: 2"):
            net.middle.change(LINK, "ab", {"loss": 2})
        with pytest.raises(ValueError, match="direction"):
            net.middle.change(LINK, "up", {"loss": 0.1})
        assert isinstance(net.middle, RelayMiddle)
        process = net.middle.process
        assert process is not None
        process.kill()
        process.wait()
        with pytest.raises(CommandFailed, match="does not answer"):
            net.middle.change(LINK, "ab", {"loss": 0.1})
        failed = net.middle.failed()
        assert failed is not None
        assert failed == Saying("relay.ended", status=-9)
