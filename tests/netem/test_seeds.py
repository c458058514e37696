"""What netem is told, and what is told of it, where its losses can be seeded and where not."""

import pytest

from topologies import netem_middle
from topologies.fabric import Fabric
from topologies.link import resolve_link
from topologies.netem_middle import NetemMiddle
from topologies.units import Rate


@pytest.mark.parametrize(("seeded", "reason"), [(True, ""), (False, "before 6.6")])
def test_losses_without_a_seed_are_said_to_be(monkeypatch: pytest.MonkeyPatch, seeded: bool, reason: str) -> None:
    lines: list[str] = []
    monkeypatch.setattr(netem_middle, "netem_takes_seed", lambda: seeded)
    monkeypatch.setattr(netem_middle, "pair_ends", lambda *_: None)
    monkeypatch.setattr(NetemMiddle, "_tc", lambda _, told: lines.extend(told))
    middle = NetemMiddle(Fabric("ncp-none"))
    middle.start([resolve_link(1, "k", "h1", "h2", Rate(bps=1e6), delay_ms=10, loss=0.05)])
    middle.stop()
    of_netem = [line for line in lines if " netem " in line]
    assert len(of_netem) == 2
    assert all((" seed " in line) == seeded for line in of_netem)
    assert middle.facts()["losses_seeded"] is seeded
    assert reason in middle.facts()["reason"]
