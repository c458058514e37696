"""What the kernel's middle tells ``tc``, without a kernel. What the kernel makes of it: tests/netem."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from topologies import netem_middle
from topologies.fabric import Fabric
from topologies.link import Link, resolve_link
from topologies.netem_middle import NetemMiddle
from topologies.units import QueueLength, Rate


class Told:
    """Stands for the fabric's namespace, and keeps the lines of ``tc``."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run(self, command: Sequence[str]) -> None:
        if command[:2] == ["tc", "-batch"]:
            self.lines = Path(command[2]).read_text().splitlines()

    def batch(self, tool: str, *lines: str) -> None:
        assert tool == "ip"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr(netem_middle, "netem_takes_seed", lambda: True)
    monkeypatch.setattr(netem_middle, "pair_ends", lambda *_: None)
    return Told()


def link(least_burst_bytes: int = 0) -> Link:
    return resolve_link(
        1,
        "k",
        "h1",
        "h2",
        Rate(bps=10e6),
        queue_mode="droptail",
        queue=QueueLength(packets=40),
        least_burst_bytes=least_burst_bytes,
    )


def burst_bytes(lines: Sequence[str]) -> int:
    (line,) = (line for line in lines if line.startswith("class "))
    words = line.split()
    return int(words[words.index("burst") + 1])


@pytest.mark.parametrize(
    ("least_bytes", "change", "bucket_bytes"),
    [
        (0, {"rate_bps": 200e6}, 75_000),  # 3 ms of it
        (0, {"rate_bps": 1e6}, 3000),
        (1 << 20, {"rate_bps": 200e6}, 1 << 20),  # asked for beyond what the rate needs
        (0, {"rate_bps": 200e6, "burst_bytes": 9000}, 9000),
    ],
)
def test_the_bucket_follows_the_rate(told: Told, least_bytes: int, change: dict[str, Any], bucket_bytes: int) -> None:
    plan = link(least_bytes)
    middle = NetemMiddle(cast(Fabric, told))
    middle.start([plan])
    middle.change(plan, "ab", change)
    assert burst_bytes(told.lines) == bucket_bytes - plan["frame_bytes"]  # HTB sends a frame beyond its tokens
    middle.change(plan, "ab", {"rate_bps": plan["rate_bps"], "burst_bytes": plan["burst_bytes"]})
    assert burst_bytes(told.lines) == plan["burst_bytes"] - plan["frame_bytes"]
    middle.stop()


def test_a_change_of_something_else_leaves_the_rate_alone(told: Told) -> None:
    plan = link()
    middle = NetemMiddle(cast(Fabric, told))
    middle.start([plan])
    middle.change(plan, "both", {"loss": 0.1})
    assert not [line for line in told.lines if line.startswith("class ")]
    middle.stop()
