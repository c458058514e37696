"""A study in jobs of a real Slurm: the same bytes, and nothing is left behind; what Slurm takes not is told at once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import where
from testbed.cli.app import with_place
from testbed.errors import BadInput, CannotRun
from tests.cluster import slurm_site
from tests.cluster.conftest import Place
from tests.cluster.loopback import until
from tests.raises import Containing, raises

nightly = [
    pytest.mark.nightly,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for Slurm's services"),
    pytest.mark.skipif(bool(slurm_site.why_not()), reason=slurm_site.why_not()),
]


@pytest.fixture(scope="module")
def site() -> Iterator[dict[str, str]]:
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/var/tmp"))
    try:
        with slurm_site.site(folder) as environment:
            yield environment
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def in_site(site: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", site["SLURM_CONF"])


def queued() -> list[str]:
    """Jobs that wait or are on."""
    return subprocess.run(["squeue", "--noheader", "--format=%i"], capture_output=True, text=True).stdout.split()


def left() -> list[Path]:
    """Keys, and what a worker kept on its node."""
    from testbed.study.hosts import slurm

    return [*slurm.FOLDER.glob(".dask-jobqueue.*"), *Path(tempfile.gettempdir()).glob("ncp-testbed-[0-9]*")]


class TestOnSlurm:
    pytestmark = nightly

    def test_a_sweep_is_the_same_bytes_and_nothing_is_left(self, place: Place, in_site: None) -> None:
        sweep = str(place.sweep(seconds=1, seeds=2))
        place.run("here", "sweep", sweep)
        asked = f"slurm:jobs=2,cores=1,partition={slurm_site.PARTITION},time=10"
        said = place.run("there", "sweep", "--cluster", asked, sweep)
        assert "by host: " in said
        assert place.told("there") == place.told("here")
        assert sorted(place.made("there")) == sorted(place.made("here"))
        until(lambda: not queued())
        assert left() == []

    def test_what_slurm_takes_not_is_told_in_its_words(self, place: Place, in_site: None) -> None:
        process = place.start(
            "there", "sweep", str(place.sweep(seconds=1, seeds=1)), "--cluster", "slurm:partition=none-such"
        )
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 4, said
        assert "Slurm refuses the job: " in said
        assert "none-such" in said or "invalid partition" in said
        assert queued() == []

    def test_jobs_end_when_their_submitter_is_killed_and_another_goes_on(self, place: Place, in_site: None) -> None:
        sweep = str(place.sweep(seconds=10, seeds=2))
        process = place.start("there", "sweep", sweep, "--cluster", "slurm:jobs=2")
        until(lambda: len(place.made("there")) >= 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        begun = place.made("there")
        until(lambda: not queued())
        place.run("there", "sweep", sweep, "--cluster", "slurm:jobs=2")
        made = place.made("there")
        assert made[: len(begun)] == begun
        assert len(made) == len(set(made)) == 12
        until(lambda: not queued())


@pytest.fixture
def slurm() -> Any:
    if not importlib.util.find_spec("distributed"):
        pytest.skip("distributed is not installed: the dependency group cluster has it")
    return importlib.import_module("testbed.study.hosts.slurm")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["sweep", "a", "--cluster"], ["sweep", "a", "--cluster=hosts"]),
        (["sweep", "--cluster", "a"], ["sweep", "--cluster=hosts", "a"]),
        (["sweep", "--cluster", "slurm", "a"], ["sweep", "--cluster=slurm", "a"]),
        (["table", "--cluster", "slurm:jobs=2", "a"], ["table", "--cluster=slurm:jobs=2", "a"]),
        (["table", "slurm", "--cluster=slurm"], ["table", "slurm", "--cluster=slurm"]),
    ],
)
def test_the_value_may_be_left_out(given: list[str], meant: list[str]) -> None:
    assert with_place(given) == meant


def test_what_is_asked_of_slurm(slurm: Any) -> None:
    assert slurm.parse_request("") == slurm.Request()
    asked = slurm.parse_request("jobs=4,cores=8,partition=short,time=2:00:00,account=me")
    assert asked == slurm.Request(jobs=4, cores=8, partition="short", time="2:00:00", account="me")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs", "jobs: "),
        ("jobs=", "jobs: "),
        ("jobs=0", "jobs: '0'"),
        ("cores=two", "cores: 'two'"),
        ("partition", "partition: ''"),
        ("queue=short", "queue: 'short'"),
        ("jobs=1,,", ": ''"),
    ],
)
def test_what_is_wrong_is_named(slurm: Any, text: str, said: str) -> None:
    with raises(BadInput, "slurm.bad-option", why=Containing(said)):
        slurm.parse_request(text)


def test_where_there_is_no_slurm_it_says_where_to_go(
    slurm: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with raises(CannotRun, "slurm.not-here", missing="sbatch, squeue, scancel"), slurm.slurm_executor(slurm.Request()):
        pass


def test_another_value_is_refused() -> None:
    with raises(BadInput, "cluster.bad-target", cluster="pbs"), where.runs_made("pbs"):
        pass
