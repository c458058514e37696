"""`verify` of what was compared: engines, and repetitions."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.checks import better
from testbed.study.kinds import same_bytes
from testbed.study.kinds.compare import read_run
from testbed.study.kinds.cross_check import WORDS, of_runs
from testbed.study.kinds.same_bytes import digests
from testbed.study.report import page
from tests.bundle.made import verify_folder
from tests.ready import simulated as prepare
from tests.said import places


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One in virtual time."""
    place = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(place / "results"))
        patch.setenv("NCP_TESTBED_STATE", str(place / "state"))
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
        simulation = prepare(load("startup", ["ncp.transfer=2MiB"]), Progress(), seed=None, quick=False)
        simulation.execute()
    return simulation.folder


@pytest.fixture(autouse=True)
def _one_run_for_both_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a guest takes long."""
    monkeypatch.setattr("testbed.study.kinds.cross_check._other_runs", lambda *_: ())


def cross_check(run: Path, folder: Path) -> None:
    """Of two engines that made the same run."""
    places = {WORDS[engine]: folder / "cells" / "startup" / engine / run.name for engine in ("sim", "vkernel")}
    for place in places.values():
        shutil.copytree(run, place)
    page.write_cross_check(folder, [of_runs(places)], {})


def repetitions(run: Path, folder: Path) -> None:
    """Two, of which one is kept, and one with another seed."""
    for number in ("1", "3"):
        shutil.copytree(run, folder / "cells" / "startup" / number / run.name)
    found = same_bytes.judge("startup", [digests(run), digests(run)], [], {"telemetry.lp": "other"} | digests(run))
    (folder / "hashes.json").write_text(json.dumps([asdict(found)]))


def groups(run: Path, folder: Path) -> None:
    """Two, of one run each."""
    found = []
    for name in ("base", "new"):
        place = folder / "cells" / name / "1" / run.name
        shutil.copytree(run, place)
        found.append(better.Group.of(name, [read_run(place, home=folder)]))
    page.write_comparison(folder, better.judge(found, 0.95, name=folder.name, command="compare"))


@pytest.mark.parametrize("made", [groups, cross_check, repetitions])
def test_where_a_folder_is_makes_no_difference(run: Path, tmp_path: Path, made: Callable[[Path, Path], None]) -> None:
    made(run, tmp_path / "one")
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "one", tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "latest").symlink_to("one")
    for name in ("one", "latest"):
        found = verify_folder(tmp_path / "elsewhere" / name)
        assert not found.differences
        assert found.name.endswith(" one")


@pytest.mark.parametrize(("made", "document"), [(cross_check, "cross-check.json"), (repetitions, "hashes.json")])
def test_what_was_changed_afterwards_is_found(
    run: Path, tmp_path: Path, made: Callable[[Path, Path], None], document: str
) -> None:
    made(run, tmp_path / "honest")
    assert not verify_folder(tmp_path / "honest").differences
    file = tmp_path / "honest" / document
    text = file.read_text()
    if made is cross_check:
        forged = text.replace('"same": true', '"same": false', 1)
    else:
        forged = text.replace(digests(run)["telemetry.lp"], "0" * 64, 1)
    assert forged != text
    file.write_text(forged)
    told = verify_folder(tmp_path / "honest").differences
    assert any("[startup]" in place for place in places(told, "difference.value")), told


def test_runs_that_are_elsewhere_are_told_of(run: Path, tmp_path: Path) -> None:
    for made in (cross_check, repetitions):
        folder = tmp_path / made.__name__
        made(run, folder)
        shutil.rmtree(folder / "cells")
        found = verify_folder(folder)
        assert not found.differences
        (elsewhere,) = found.unchecked
        assert elsewhere.code == "study.runs-elsewhere"


def test_an_empty_list_of_repetitions_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "hashes.json").write_text("[]")
    assert verify_folder(tmp_path).verdict != "pass"


def test_a_recorded_difference_counts_where_its_runs_are_gone(run: Path, tmp_path: Path) -> None:
    cross_check(run, tmp_path)
    assert verify_folder(tmp_path).verdict == "pass"
    document = json.loads((tmp_path / "cross-check.json").read_text())
    document["scenarios"].append(document["scenarios"][0] | {"scenario": "elsewhere", "verdict": "fail"})
    (tmp_path / "cross-check.json").write_text(json.dumps(document))
    assert verify_folder(tmp_path).verdict == "fail"
