"""Files that no step makes are named, wherever they are, and change nothing else of what is confirmed."""

import shutil
from pathlib import Path

import pytest

from testbed.archive.pack import pack
from testbed.archive.strays import strays
from testbed.archive.verify import unpacked, verify_bundle
from tests.bundle.made import simulated, verify_folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated(tmp_path_factory.mktemp("run"))


FOREIGN = ["report2.html", "verdict.json.bak", "more/verdict.json", "more/plots/x.svg", ".hidden"]


def test_of_a_run(run: Path, tmp_path: Path) -> None:
    assert list(strays(run)) == []
    folder = shutil.copytree(run, tmp_path / run.name)
    for name in FOREIGN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    found = verify_folder(folder)
    assert not found.differences
    said = [str(note) for note in found.notes if note.code == "verify.stray-file"]
    assert sorted(text.partition(": ")[0] for text in said) == sorted(FOREIGN)
    pack([folder], tmp_path / "results.zip")
    with unpacked(tmp_path / "results.zip") as place:
        (place / "other.html").touch()
        bundle, inside = verify_bundle(place)
    assert "other.html" in [str(note).partition(": ")[0] for note in bundle.notes]
    assert sum(note.code == "verify.stray-file" for note in inside.notes) == len(FOREIGN)


@pytest.mark.parametrize("name", ["plots/x.svg", "plots/more/x.svg"])
def test_a_plot_that_the_data_do_not_give(run: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(run, tmp_path / run.name)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("<svg/>")
    assert [f"{one}" for one in verify_folder(folder).differences] == [f"{name}: is not what the data give"]


def test_of_a_study(tmp_path: Path) -> None:
    known = [
        "table.json",
        "cells/1/a/1/run/plan.json",
        "cells/1/a/1/run/agents/s1-sender.json",
        "cells/1/a/1/cell.json",
    ]
    foreign = ["cells/1/report.html", "cells/1/a/1/run/report.html.old", "verdict/verdict.json"]
    for name in (*known, *foreign):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list(strays(tmp_path)) == sorted(foreign)


def test_of_a_table_in_claims_whose_plot_has_the_name_of_its_data(tmp_path: Path) -> None:
    table = "runs/speed/speed/1"
    for name in (
        "claims.json",
        *(f"{table}/{file}" for file in ("table.json", "table.csv", "plots/table.csv", "plots/table.svg")),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list(strays(tmp_path)) == []


def test_of_repetitions_which_have_no_page(tmp_path: Path) -> None:
    for name in ("hashes.json", "report.html", "plots/windows.svg", "cells/startup/1/run/plan.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "cells/startup/1/run/report.html").touch()
    assert list(strays(tmp_path)) == ["plots/windows.svg", "report.html"]
