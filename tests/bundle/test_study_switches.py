"""No line of a study's documents decides what is checked of it, nor does a file that is missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.history import git
from testbed.scenario.files import TABLES
from testbed.study.kinds import sweep, table
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table_file as tables
from testbed.study.verify import VerifyRequest
from tests.bundle.made import edit, verify_folder
from tests.bundle.old_bundles import FOLDER, opened
from tests.said import codes

HEAD = git("rev-parse", "HEAD").stdout.decode().strip()
UNKNOWN = "0" * 40
NOT_CONFIRMED, INCOMPLETE, CONFIRMED = "NOT CONFIRMED", "INCOMPLETE", "CONFIRMED"
Change = Callable[[Path], None]

pytestmark = pytest.mark.skipif(not HEAD, reason="this checkout has no history")


@pytest.fixture(autouse=True)
def _without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are drawn of what else is in a folder: whoever forges that draws it again."""
    for name in ("check", "compare"):
        monkeypatch.setattr(f"testbed.archive.page.{name}", lambda *_, **__: None)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A selection of a table, and a sweep, that say to be of HEAD; a table whose checks can't fail."""
    place, found = tmp_path_factory.mktemp("studies"), {}
    weak = place / "speed-table.yaml"
    text = (TABLES / "speed-table.yaml").read_text()
    weak.write_text(text.replace("min: 1}", "min: 0}", 1))
    assert weak.read_text() != text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("testbed.study.report.page.write_table", lambda *_: None)
        patch.setattr("testbed.engines.judging.leave_report", lambda *_: None)
        for name, file in (("table", "speed-table"), ("weak", str(weak))):
            patch.setenv("NCP_TESTBED_RESULTS", str(place / name))
            loaded = tables.load(file, ["ncp.transfer=256KiB"])
            request = table.TableRequest(repeat=1, rows="1", columns="nkp24,previous", engine="sim")
            found[name] = table.run(loaded, request)[1]
        patch.setattr("testbed.study.report.page.write_sweep", lambda *_: None)
        found["sweep"] = sweep.run(sweeps.load("connections", ["ncp.transfer=64KiB"], quick=True))[1]
    of_all(commit=HEAD, uncommitted_changes=False)(place)
    return found


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / folder.name, symlinks=True))


def cell(folder: Path) -> Path:
    """A table's run."""
    return next(path for path in folder.glob("cells/1/nkp24/1/sim-*") if not path.is_symlink())


def rewritten(folder: Path, *, same_code: bool = True) -> None:
    """The table's documents made to fit, without the lines of its ledger."""
    into = folder.parent / "into"
    into.mkdir()
    table.write_again(VerifyRequest(folder, into, rerun=False, same_code=same_code))
    for name in ("table.json", "table.csv", "verdict.json"):
        shutil.copy(into / name, folder / name)
    (folder / "runs.jsonl").unlink()


def a_cell_without_a_plan(folder: Path) -> None:
    verdict = cell(folder) / "verdict.json"
    figures = {name: 2 * value for name, value in json.loads(verdict.read_text())["figures"].items()}
    edit(verdict, figures=figures)
    (cell(folder) / "plan.json").unlink()
    rewritten(folder)


def a_cell_that_broke(folder: Path) -> None:
    edit(cell(folder) / "verdict.json", broken="It broke.", broken_code="sim.ended", verdict="fail", checks=[])
    rewritten(folder)


def another_engine(folder: Path) -> None:
    edit(folder / "table.json", engine="mininet")
    rewritten(folder)


def no_selection(folder: Path) -> None:
    """By the rule of earlier code."""
    study = folder / "study.json"
    document = {key: value for key, value in json.loads(study.read_text()).items() if key != "as_selection"}
    study.write_text(json.dumps(document))
    rewritten(folder, same_code=False)


def no_selection_by_other_code(folder: Path) -> None:
    no_selection(folder)
    of_all(code="0" * 16)(folder)


def of_all(**changes: Any) -> Change:
    """Of all provenances in a folder."""

    def change(folder: Path) -> None:
        for file in folder.rglob("provenance.json"):
            edit(file, **changes)

    return change


def weaker(file: str, text: str, to: str, **changes: Any) -> Change:
    def change(folder: Path) -> None:
        before = (folder / file).read_text()
        (folder / file).write_text(before.replace(text, to, 1))
        assert (folder / file).read_text() != before
        of_all(**changes)(folder)

    return change


def nothing(folder: Path) -> None:
    """A sound result."""


OTHER, ORIGIN = "scenario.not-the-commit-s", "scenario.of-unknown-origin"
FORGERIES: dict[str, tuple[str, Change, str, str]] = {
    "a sound selection": ("table", nothing, CONFIRMED, ""),
    "a sound sweep": ("sweep", nothing, CONFIRMED, ""),
    "a cell without a plan": ("table", a_cell_without_a_plan, NOT_CONFIRMED, "file.not-in-result"),
    "a cell that says it broke down": ("table", a_cell_that_broke, INCOMPLETE, "verify.run-broke-down"),
    "a table that says it is of real packets": ("table", another_engine, NOT_CONFIRMED, "difference.value"),
    "a selection that says it is none": ("table", no_selection, NOT_CONFIRMED, "difference.value"),
    "a selection by other code": ("table", no_selection_by_other_code, INCOMPLETE, "verify.selection"),
    "weak checks of a table": ("weak", nothing, NOT_CONFIRMED, "difference.value"),
    "weak checks with uncommitted changes": ("weak", of_all(uncommitted_changes=True), INCOMPLETE, ORIGIN),
    "weak checks of an unknown commit": ("weak", of_all(commit=UNKNOWN), INCOMPLETE, ORIGIN),
    "a sweep's parameters": ("sweep", weaker("sweep.yaml", "title:", "title: Any"), NOT_CONFIRMED, OTHER),
    "a sweep's scenario": ("sweep", weaker("scenario.yaml", "tolerance: 0.03", "tolerance: 1"), NOT_CONFIRMED, OTHER),
    "a sweep's scenario of an unknown commit": (
        *("sweep", weaker("scenario.yaml", "tolerance: 0.03", "tolerance: 1", commit=UNKNOWN)),
        *(INCOMPLETE, ORIGIN),
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_no_switch_makes_a_forged_study_confirmed(results: dict[str, Path], tmp_path: Path, name: str) -> None:
    base, change, word, code = FORGERIES[name]
    folder = copied(results[base], tmp_path)
    change(folder)
    verified = verify_folder(folder)
    found = codes([*verified.differences, *verified.unchecked])
    assert verified.word == word, verified
    assert code in found if code else not found


def test_a_cell_by_itself_is_held_to_its_table(results: dict[str, Path], tmp_path: Path) -> None:
    run = copied(cell(results["table"]), tmp_path)
    assert verify_folder(run).word == CONFIRMED
    weaker("scenario.yaml", "1024", "1025")(run)
    assert "scenario.of-a-cell" in codes(verify_folder(run).unchecked)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Studies that need a guest, or long, as earlier code made them."""
    place, found = tmp_path_factory.mktemp("old"), {}
    for file, name in (("guest", "cross-check"), ("guest", "repeatable"), ("virtual-time", "compare")):
        with opened(FOLDER / f"{file}.zip") as bundle:
            (folder,) = (bundle / "runs" / name).glob("*")
            found[name] = copied(folder, place)
    with opened(FOLDER / "virtual-time.zip") as bundle:
        (claims,) = (path.parent for path in bundle.rglob("claims.json"))
        found["claims"] = copied(claims, place)
    return found


def both_of_the_simulator(folder: Path) -> None:
    cells = folder / "cells" / "startup"
    (guest,) = (path for path in (cells / "vkernel").glob("vk-*") if not path.is_symlink())
    (simulated,) = (path for path in (cells / "sim").glob("sim-*") if not path.is_symlink())
    shutil.rmtree(guest)
    shutil.copytree(simulated, guest)


def without_the_first(folder: Path) -> None:
    shutil.rmtree(folder / "cells" / "startup" / "1")


def without_its_runs(folder: Path) -> None:
    """With facts that only a run that is there has."""
    document = json.loads((folder / "compare.json").read_text())
    for one in (one for group in document["groups"] for one in group["runs"]):
        one |= {"folder": f"../gone/{one['folder']}", "facts": {"scenario": "startup"}}
    edit(folder / "compare.json", **document)
    shutil.rmtree(folder / "cells")


def a_claim_less(folder: Path) -> None:
    document = json.loads((folder / "claims.json").read_text())
    edit(folder / "claims.json", claims=document["claims"][1:])


def a_run_that_is_called_unsupported(folder: Path) -> None:
    runs = json.loads((folder / "claims.json").read_text())["runs"]
    runs["startup"] |= {"folder": "", "state": "unsupported", "why": "This machine lacks something."}
    edit(folder / "claims.json", runs=runs)


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("cross-check", both_of_the_simulator, "cross-check.other-run"),
        ("repeatable", without_the_first, "study.runs-elsewhere"),
        ("compare", without_its_runs, "study.runs-elsewhere"),
        ("claims", a_claim_less, "claims.other-claims"),
        ("claims", a_run_that_is_called_unsupported, "claims.no-run"),
    ],
)
def test_what_is_not_there_is_told(old: dict[str, Path], tmp_path: Path, name: str, change: Change, code: str) -> None:
    folder = copied(old[name], tmp_path)
    assert code not in codes([*verify_folder(folder).differences, *verify_folder(folder).unchecked])
    change(folder)
    verified = verify_folder(folder)
    assert code in codes([*verified.differences, *verified.unchecked]), verified
