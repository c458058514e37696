"""A study of 60 runs through everything that may happen to a cluster: nothing is lost, nothing is made twice, and the
table is the same bytes as one machine's."""

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.study.hosts import cluster as clusters
from tests.cluster.conftest import Place
from tests.cluster.loopback import UNSOUND, Loopback, until
from tests.cluster.through_all import HELD, WITHIN_S, Submitter, Trial, through_all
from tests.cluster.wired import Wired, wired

pytestmark = [pytest.mark.packets, pytest.mark.nightly, pytest.mark.timeout(2 * WITHIN_S)]
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
    return str(by_one.path / f"tiny-{RUNS // 6}.yaml")


def assert_whole(place: Place, by_one: Place, results: str = "there") -> None:
    assert place.told(results) == by_one.told("here")
    made = place.made(results)
    assert len(made) == len(set(made)) == RUNS


def assert_nothing_is_left() -> None:
    """No folder of a run, and none of its processes."""
    scratch = clusters.file().parent / "scratch"
    assert not list(scratch.rglob("run-*"))
    told = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [line for line in told if b"ncp-sim" in line and str(scratch).encode() in line]


def test_a_worker_is_killed_and_another_comes(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster = cluster_of("one", "two", "three")
    process = place.start("there", "sweep", sweep, "--cluster")
    until(lambda: len(place.made("there")) >= 8)
    cluster.kill("two")
    until(lambda: len(place.made("there")) >= 20)
    cluster.start_worker("four")
    said, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 0, said
    assert "two is lost" in said
    assert_whole(place, by_one)
    cluster.end()
    assert_nothing_is_left()  # the worker that came has removed what the killed one left


def test_the_scheduler_is_killed_and_comes_back(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster = cluster_of("one", "two", "three")
    process = place.start("there", "sweep", sweep, "--cluster")
    until(lambda: len(place.made("there")) >= 8)
    cluster.kill("scheduler")
    cluster.start_scheduler()
    said, _ = process.communicate(timeout=WITHIN_S)
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
    assert "3 arrived damaged and were repeated" in said
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
    said, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 4, said
    assert "no host of the cluster is fit for this study" in said
    assert "two: commit 0123456789abcdef there, " in said


def test_a_run_that_ends_its_workers_ends_the_study(place: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster, names = cluster_of(), ("one", "two", "three")
    process = place.start("there", "sweep", sweep, "--cluster")

    def has_ended() -> bool:
        for name in names:
            if name not in cluster.workers:
                cluster.start_worker(name, program=[str(UNSOUND / "ends.py")])
        return process.poll() is not None

    until(has_ended, WITHIN_S)
    said, _ = process.communicate()
    assert process.returncode == 1, said
    assert "tried 3 times, on " in said
    assert "its worker was lost" in said


def test_an_error_of_the_program_ends_the_study(place: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster_of().start_worker("one", program=[str(UNSOUND / "errs.py")])
    process = place.start("there", "sweep", sweep, "--cluster")
    said, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode not in (0, None), said
    assert "ZeroDivisionError: in a rule" in said
    assert "line 7 of the rule" in said


def test_ctrl_c_ends_what_is_on(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster = cluster_of("one", "two", "three")
    process = place.start("there", "sweep", sweep, "--cluster")
    until(lambda: len(place.made("there")) >= 8)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130, said
    until(lambda: not list((clusters.file().parent / "scratch").rglob("run-*")))
    place.run("there", "sweep", sweep, "--cluster")
    assert_whole(place, by_one)
    cluster.end()
    assert_nothing_is_left()


@pytest.fixture
def wires(place: Place) -> Iterator[Wired]:
    if os.geteuid() != 0:
        pytest.skip("needs root, for network namespaces")
    if not importlib.util.find_spec("distributed"):
        pytest.skip("distributed is not installed: the dependency group cluster has it")
    with wired(place.path / "cluster") as made:
        yield made


def test_one_sweep_through_everything(place: Place, by_one: Place, sweep: str, wires: Wired) -> None:
    submitters = through_all(place, wires, sweep, RUNS, beside=sweep)
    wires.stop_all()
    assert [one.results for one in submitters] == ["there", "elsewhere"]
    for one in submitters:
        assert_whole(place, by_one, one.results)
        assert not [path for path in (place.path / one.results).iterdir() if path.name.startswith(".")]
    until(lambda: not wires.left())  # the server of forks ends when it finds that its worker is gone


def test_a_host_is_cut_off_for_long_and_comes_back(place: Place, by_one: Place, sweep: str, wires: Wired) -> None:
    for name in ("one", "two"):
        wires.start_worker(name, program=HELD)
    wires.write_file()
    trial = Trial(place, wires, [Submitter(place, "there", sweep)], RUNS)
    trial.finished(0.1)
    hold_of = wires.disk("two") / "hold"
    hold_of.touch()
    until(lambda: wires.begun("two"))
    wires.unplug("two")
    trial.said("two is lost")
    until(lambda: not wires.begun("two"), WITHIN_S)  # it has seen it as well
    hold_of.unlink()
    wires.unplug("two", out=False)
    until(lambda: wires.registered("two") == 2)
    trial.submitters[0].end()
    assert_whole(place, by_one)
    wires.stop_all()
    until(lambda: not wires.left())  # the server of forks ends when it finds that its worker is gone


def test_two_submitters_at_once(place: Place, by_one: Place, sweep: str, cluster_of: Clusters) -> None:
    cluster_of("one", "two", "three")
    processes = [place.start(results, "sweep", sweep, "--cluster") for results in ("there", "elsewhere")]
    for process in processes:
        said, _ = process.communicate(timeout=WITHIN_S)
        assert process.returncode == 0, said
    assert_whole(place, by_one, "there")
    assert_whole(place, by_one, "elsewhere")
