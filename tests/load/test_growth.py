"""That growth is found: of a process that keeps what it should let go, and not of one that fills its buffers."""

import math
import os
from pathlib import Path

import pytest

from tests.load.growth import Held, after_emptying

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


def server(each: float, period: int) -> tuple[list[float], list[float]]:
    """Heap and cache of a server that keeps that much more at each sample, with a cache that is emptied after so many
    of them and has four bytes of the heap for each; garbage doubles all until it is collected, every third sample."""
    cached = [25 * (i % period) / period for i in range(SAMPLES)]
    return [(each * i + 20 + 4 * c) * (1 + (i % 3) / 3) for i, c in enumerate(cached)], cached


@pytest.mark.parametrize(("period", "times"), [(75, 2), (59, 3), (20, 8), (300, 0)])
def test_what_is_kept_beside_a_cache_and_garbage_is_found(period: int, times: int) -> None:
    heap, cached = server(0, period)
    found = after_emptying(heap, cached)
    assert len(found) == times
    assert max(found, default=0) - min(found, default=0) < 10, "what comes and goes is no growth"
    if times > 1:
        found = after_emptying(*server(0.3, period))
        assert found[-1] - found[0] > 0.2 * period * (times - 1)


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
