"""A study on many machines is the same study: only where its runs are made differs."""

from collections.abc import Callable

from tests.cluster.conftest import Place
from tests.cluster.loopback import Loopback


def test_a_sweep_is_the_same_bytes(place: Place, cluster_of: Callable[..., Loopback]) -> None:
    sweep = str(place.sweep(seconds=1, seeds=2))
    place.run("here", "sweep", sweep)
    cluster_of("one", "two")
    said = place.run("there", "sweep", sweep, "--cluster")
    assert "by host: one " in said
    assert place.told("there") == place.told("here")
    assert sorted(place.made("there")) == sorted(place.made("here"))


def test_where_there_is_no_cluster_it_says_so(place: Place) -> None:
    process = place.start("there", "sweep", str(place.sweep(seconds=1, seeds=1)), "--cluster")
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "there is no cluster" in said or "is not installed" in said
