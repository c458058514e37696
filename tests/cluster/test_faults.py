"""A study of 60 runs through everything that may happen to a cluster: nothing is lost, nothing is made twice, and the
table is the same bytes as one machine's."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.cluster import model
from tests.cluster.conftest import Place
from tests.cluster.loopback import UNSOUND, Loopback, until

pytestmark = [pytest.mark.emulation, pytest.mark.nightly]
RUNS = 60
Clusters = Callable[..., Loopback]


@pytest.fixture(scope="module")
def by_one(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Where one machine has made it, in ``here``."""
    place = Place(tmp_path_factory.mktemp("one"))
    place.run("here", "sweep", str(place.sweep(seconds=4, seeds=RUNS // 6)))
    return place


@pytest.fixture
def sweep(by_one: Place) -> str:
    return str(by_one.path / "tiny.yaml")


def assert_whole(place: Place, by_one: Place, results: str = "there") -> None:
    assert place.told(results) == by_one.told("here")
    made = place.made(results)
    assert len(made) == len(set(made)) == RUNS


def assert_nothing_is_left() -> None:
    """No folder of a run, and none of its processes."""
    scratch = model.file().parent / "scratch"
    assert not list(scratch.glob("*/run-*"))
    told = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [line for line in told if b"ncp-sim" in line and str(scratch).encode() in line]


def test_a_worker_is_killed_and_another_comes(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster = cluster_of("one", "two", "three")
    process = place.start("there", "sweep", sweep, "--cluster")
    until(lambda: len(place.made("there")) >= 8)
    cluster.kill("two")
    until(lambda: len(place.made("there")) >= 20)
    cluster.start_worker("four")
    said, _ = process.communicate(timeout=250)
    assert process.returncode == 0, said
    assert "two is lost" in said
    assert_whole(place, by_one)
    cluster.end()
    assert_nothing_is_left_but("two")


def assert_nothing_is_left_but(killed: str) -> None:
    """What a killed worker left is removed by the next of its name; its processes have gone with it."""
    scratch = model.file().parent / "scratch"
    assert {path.parent.name for path in scratch.glob("*/run-*")} <= {killed}


def test_the_scheduler_is_killed_and_comes_back(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster = cluster_of("one", "two", "three")
    process = place.start("there", "sweep", sweep, "--cluster")
    until(lambda: len(place.made("there")) >= 8)
    cluster.kill("scheduler")
    cluster.start_scheduler()
    said, _ = process.communicate(timeout=280)
    assert process.returncode == 0, said
    assert_whole(place, by_one)
    cluster.end()
    assert_nothing_is_left()


def test_the_submitter_is_killed_and_goes_on(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster = cluster_of("one", "two", "three")
    process = place.start("there", "sweep", sweep, "--cluster")
    until(lambda: len(place.made("there")) >= 8)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = place.made("there")
    assert len(before) < RUNS
    said = place.run("there", "sweep", sweep, "--cluster")
    assert "are finished already" in said
    assert place.made("there")[: len(before)] == before
    assert_whole(place, by_one)
    cluster.end()
    assert_nothing_is_left()


def test_what_arrives_damaged_is_made_again(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster = cluster_of("one", "two")
    cluster.start_worker("three", program=[str(UNSOUND / "damages.py")])
    said = place.run("there", "sweep", sweep, "--cluster")
    assert "arrived damaged, " in said
    assert "3 arrived damaged and were made again" in said
    assert_whole(place, by_one)


def test_a_host_with_another_commit_is_left_out(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster = cluster_of("one")
    cluster.start_worker("two", program=[str(UNSOUND / "of_another_commit.py")])
    said = place.run("there", "sweep", sweep, "--cluster")
    assert "two is left out: commit 0123456789abcdef there, " in said
    assert "package numpy 0.0.1 there, " in said
    assert f"by host: one {RUNS}" in said
    assert_whole(place, by_one)


def test_where_no_host_is_fit_it_is_refused(place: Place, cluster_of: Clusters) -> None:
    cluster = cluster_of()
    cluster.start_worker("two", program=[str(UNSOUND / "of_another_commit.py")])
    process = place.start("there", "sweep", str(place.sweep(seconds=1, seeds=1)), "--cluster")
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 4, said
    assert "no host of the cluster is fit for this study" in said
    assert "two: commit 0123456789abcdef there, " in said


def test_two_submitters_at_once(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster_of("one", "two", "three")
    processes = [place.start(results, "sweep", sweep, "--cluster") for results in ("there", "elsewhere")]
    for process in processes:
        said, _ = process.communicate(timeout=280)
        assert process.returncode == 0, said
    assert_whole(place, by_one, "there")
    assert_whole(place, by_one, "elsewhere")
