"""That growth is found: of a process that keeps what it should let go, and not of one that fills its buffers."""

import math
import os
from pathlib import Path

import pytest

from tests.load.growth import Held, least_of_thirds

SAMPLES = 180
KEEPS = {"memory_mib": 0.3, "descriptors": 0.1, "threads": 0.1}
"""More at each sample: 18 MiB, 6 descriptors or 6 threads in a third of the time."""


def held(kind: str, each: float) -> Held:
    """A process that takes that much more at each sample; its memory goes up and down beside."""
    found = Held()
    for i in range(SAMPLES):
        found.samples["memory_mib"].append(30 + 3 * math.sin(i) + min(i, 40))
        found.samples["descriptors"].append(12)
        found.samples["threads"].append(7)
        found.samples[kind][-1] += each * i
    return found


@pytest.mark.parametrize("kind", KEEPS)
def test_what_is_kept_is_found(kind: str) -> None:
    assert held(kind, 0).grown() == []
    (found,) = held(kind, KEEPS[kind]).grown()
    assert found.startswith(kind)
    assert held(kind, KEEPS[kind]).grown(**{kind: 20.0}) == []


def heap_mib(each: float) -> list[float]:
    """Of a server that keeps that much more at each sample, with a cache of 25 MiB that is filled and emptied every 20
    samples, and garbage that doubles it until it is collected every 3."""
    return [(each * i + 20 + 25 * (i % 20) / 20) * (1 + (i % 3) / 3) for i in range(SAMPLES)]


def test_what_is_kept_under_a_cache_and_garbage_is_found() -> None:
    _, second, last = least_of_thirds(heap_mib(0))
    assert abs(last - second) < 1, "what comes and goes is no growth"
    assert max(heap_mib(0)) > 3 * second
    _, second, last = least_of_thirds(heap_mib(0.3))
    assert 17 < last - second < 19, "18 MiB in a third of the time"


def test_a_descriptor_that_stays_open_is_counted(tmp_path: Path) -> None:
    own = Held()
    own.sample(os.getpid())
    with (tmp_path / "open").open("w"):
        own.sample(os.getpid())
    before, after = own.samples["descriptors"]
    assert after == before + 1
    assert own.samples["memory_mib"][0] > 1
    assert own.samples["threads"][0] >= 1
    own.sample(2**22 + 1)  # there is no such process
    assert len(own.samples["threads"]) == 2
