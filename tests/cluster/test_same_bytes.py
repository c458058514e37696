"""A study on many machines is the same study: only where its runs are made differs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.documents import read_json
from testbed.machine.guest_kernel import Kernel
from tests.cluster.conftest import Place
from tests.cluster.loopback import Loopback

COMPARISON = ("compare", "--scenario", "startup", "a:", "b:policy=previous", "--seeds", "2", "--quick")
OF_A_RUN = ("plan.json", "telemetry.lp", "derived.lp", "verdict.json", "windows.csv")


def runs_of(results: Path, study: str = "compare") -> dict[Path, list[bytes]]:
    """What a study's runs have left, by their places."""
    cells = (results / study / "latest").resolve() / "cells"
    made = [plan.parent for plan in cells.rglob("plan.json")]
    return {run.relative_to(cells): [(run / name).read_bytes() for name in OF_A_RUN] for run in made}


@pytest.mark.nightly
def test_a_sweep_and_a_comparison_are_the_same_bytes(place: Place, cluster_of: Callable[..., Loopback]) -> None:
    sweep = str(place.sweep(seconds=1, seeds=12))  # more than one host makes before the other is tested
    place.run("here", "sweep", sweep)
    place.run("here", *COMPARISON)
    cluster_of("one", "two")
    said = place.run("there", "sweep", sweep, "--cluster")
    assert "by host: one " in said
    assert place.told("there") == place.told("here")
    assert sorted(place.made("there")) == sorted(place.made("here"))

    assert "differ" in place.run("there", *COMPARISON, "--cluster")
    here, there = place.path / "here", place.path / "there"
    assert len(runs_of(there)) == 4
    assert runs_of(there) == runs_of(here)
    made_by = {read_json(path)["worker"] for path in there.glob("compare/*/cells/*/*/*/provenance.json")}
    assert made_by == {"one", "two"}
    assert not [path for path in there.iterdir() if path.name.startswith(".")]


@pytest.mark.nightly
@pytest.mark.timeout(3600)  # guests take turns with all others on this machine
def test_runs_in_the_guest_are_the_same_bytes(
    place: Place, cluster_of: Callable[..., Loopback], exact_kernel: Kernel
) -> None:
    asked = ("run", "startup", "--repeat", "4", "--quick", "--engine", "vkernel")
    place.run("here", *asked, within_s=None)
    cluster_of("one", "two")
    assert "by host: one " in place.run("there", *asked, "--cluster", within_s=None)
    here, there = (runs_of(place.path / results, "startup") for results in ("here", "there"))
    assert len(there) == 4
    assert there == here


def test_where_there_is_no_cluster_it_says_so(place: Place) -> None:
    process = place.start("there", "sweep", str(place.sweep(seconds=1, seeds=1)), "--cluster")
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "there is no cluster" in said or "is not installed" in said
