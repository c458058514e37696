"""A run that is given twice, as itself, by a link or as a copy, is one observation."""

import json
import shutil
from pathlib import Path

import pytest

from testbed.errors import BadInput
from testbed.judge.status import Status
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.checks import better
from testbed.study.checks.better import Group, Run
from testbed.study.kinds.compare import given_twice, groups, read_run
from testbed.study.kinds.table import TableRequest
from testbed.study.report import page
from tests.bundle.made import verify_folder
from tests.raises import raises
from tests.ready import simulated as prepare

EXACT = {"engine": {"repeatable": True}}


def made(folder: Path, telemetry: str, *, exact: bool) -> Run:
    folder.mkdir()
    (folder / "telemetry.lp").write_text(telemetry)
    (folder / "provenance.json").write_text(json.dumps(EXACT if exact else {}))
    known = {"figures": {}, "never": [], "without_figures": "", "facts": {}}
    return Run(folder=str(folder), case="", seed=1, trusted=True, standing=Status.PASS, **known)


@pytest.mark.parametrize("exact", [False, True])
def test_equal_telemetry(tmp_path: Path, exact: bool) -> None:
    """In virtual time equal plans give equal bytes, in real time only a copy does."""
    one, copy, other = (made(tmp_path / name, name[:1], exact=exact) for name in ("a", "a2", "b"))
    base, new = Group(name="base", runs=[one]), Group(name="new", runs=[copy])
    assert bool(given_twice([base, new], tmp_path)) is not exact
    said = str(given_twice([Group(name="base", runs=[one, copy]), Group(name="new", runs=[other])], tmp_path))
    assert f"base: {tmp_path}/a and base: {tmp_path}/a2 are the same run" in said
    assert given_twice([base, Group(name="new", runs=[other])], tmp_path) is None


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two in virtual time, with other seeds."""
    place = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(place / "results"))
        patch.setenv("NCP_TESTBED_STATE", str(place / "state"))
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
        loaded = load("startup", ["ncp.transfer=1MiB"])
        made = [prepare(loaded, Progress(), seed=seed, quick=False) for seed in (1, 2)]
        for run in made:
            run.execute()
    return [run.folder for run in made]


@pytest.mark.parametrize("named", [["a={0},{0}", "b={1}"], ["a={0}", "b={link}"], ["a={0},{copy}", "b={1}"]])
def test_groups_of_folders(runs: list[Path], tmp_path: Path, named: list[str]) -> None:
    link, copy = tmp_path / "latest", tmp_path / "copy"
    link.symlink_to(runs[0])
    shutil.copytree(runs[0], copy)
    given = [text.format(*runs, link=link, copy=copy) for text in named]
    with raises(BadInput, "compare.run-twice"):
        groups([], given, "", [], [], TableRequest())


def test_a_comparison_that_counts_copies_is_not_confirmed(runs: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "comparison"
    places = [shutil.copytree(runs[0], folder / "cells" / "base" / n / runs[0].name) for n in ("1", "2", "3")]
    other = shutil.copytree(runs[1], folder / "cells" / "new" / "1" / runs[1].name)
    found = [
        Group.of(name, [read_run(run, home=folder) for run in of]) for name, of in (("base", places), ("new", [other]))
    ]
    page.write_comparison(folder, better.judge(found, 0.95, name=folder.name, command="compare"))
    assert [one.code for one in verify_folder(folder).differences] == ["compare.run-twice"]
