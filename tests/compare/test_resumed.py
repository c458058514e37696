"""Comparisons that go on where they were stopped, and tables that are parts of a cross-check."""

import json
import shutil
from pathlib import Path

import pytest

from testbed.cli.app import main
from testbed.engines.engine import Options
from testbed.judge.status import Status
from testbed.scenario.load import load
from testbed.study.cell import ScenarioCell
from testbed.study.kinds import same_bytes
from testbed.study.kinds import table_file as tables
from testbed.study.kinds.cross_check import WORDS, of_tables
from testbed.study.ledger import LEDGER, Ledger
from testbed.study.report import page
from tests.bundle.made import verify_folder

TABLE = ("speed-table", "--rows", "1", "--columns", "nkp24", "--repeat", "1", "--set", "ncp.transfer=512KiB")

ELSEWHERE = "study.runs-elsewhere"


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    return tmp_path / "results"


def ask(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["run.sh", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_comparison_keeps_what_is_finished(results, monkeypatch, capsys) -> None:
    command = ("compare", "--scenario", "startup", "--set", "ncp.transfer=512KiB", "base:", "new:policy=previous")
    ask(monkeypatch, *command, "--seeds", "2")
    folder = (results / "compare" / "latest").resolve()
    before = {path.name for path in folder.glob("cells/*/*/sim-*")}
    assert len(before) == 4
    document = (folder / "compare.json").read_text()
    (gone,) = folder.glob("cells/new/2/sim-*")
    shutil.rmtree(gone)
    capsys.readouterr()
    ask(monkeypatch, *command, "--seeds", "2", "--resume", "latest")
    assert "3 of 4 runs are finished already, and kept" in capsys.readouterr().err
    assert len(list(folder.glob("cells/*/*/sim-*"))) == 4
    figures = [[run["figures"] for run in group["runs"]] for group in json.loads(document)["groups"]]
    again = json.loads((folder / "compare.json").read_text())
    assert [[run["figures"] for run in group["runs"]] for group in again["groups"]] == figures
    assert ask(monkeypatch, *command, "--seeds", "3", "--resume", "latest") == 2
    assert "another value of seeds" in capsys.readouterr().err
    assert ask(monkeypatch, "compare", *map(str, sorted((folder / "cells").iterdir())), "--resume", "latest") == 2
    assert "none of these groups is run" in capsys.readouterr().err


def test_equal_runs_that_were_removed_are_known_by_the_ledger(results, monkeypatch) -> None:
    """With the simulator in place of the guest kernel."""
    monkeypatch.setattr(same_bytes, "REPEATABLE", "sim")
    asked = {"startup": load("startup", ["ncp.transfer=512KiB"])}
    options = Options(seed=1)
    (first,), folder = same_bytes.run(asked, options, 3, results)
    assert first.holds
    assert sorted(path.name for path in folder.glob("cells/startup/*")) == ["1", "4"]
    monkeypatch.setattr(ScenarioCell, "run", None)  # nothing is run
    (again,), same = same_bytes.run(asked, options, 3, results, resume=folder.name)
    assert (again, same) == (first, folder)


@pytest.mark.nightly
def test_a_table_of_a_cross_check_goes_on_in_its_folder(results, monkeypatch, capsys) -> None:
    assert ask(monkeypatch, "table", *TABLE, "--engine", "sim") in (0, 1)
    recorded = ("--results", f"vkernel={results / 'speed-table' / 'latest'}")
    command = ("cross-check", "--engines", "sim,vkernel", *TABLE, *recorded)
    assert ask(monkeypatch, *command[:5], "--columns", "no-such", *recorded) == 2
    assert not (results / "cross-check").exists()
    assert ask(monkeypatch, *command) == 0
    folder = (results / "cross-check" / "latest").resolve()
    document = (folder / "cross-check.json").read_text()
    (run,) = folder.glob("parts/sim/speed-table/2*/cells/1/nkp24/1/sim-*")
    shutil.rmtree(run)
    capsys.readouterr()
    assert ask(monkeypatch, *command, "--resume", "latest") == 0
    (part,) = folder.glob("parts/sim/speed-table/2*")
    assert [path.parent.parent for path in part.glob("cells/*/*/*/sim-*/plan.json")] == [run.parent]
    assert (folder / "cross-check.json").read_text() == document
    assert ask(monkeypatch, *command, "--resume", "latest") == 0
    said = capsys.readouterr()
    assert "1 of 1 runs are finished already, and kept" in said.err
    assert said.out.endswith(" (a selection: rows 1, columns nkp24)\n")


@pytest.mark.nightly
def test_a_table_is_a_part_of_its_cross_check(results, monkeypatch) -> None:
    assert ask(monkeypatch, "table", *TABLE, "--engine", "sim") in (0, 1)
    there = list((results / "speed-table").iterdir())
    recorded = f"vkernel={results / 'speed-table' / 'latest'}"
    assert ask(monkeypatch, "cross-check", "--engines", "sim,vkernel", *TABLE, "--results", recorded) == 0
    assert list((results / "speed-table").iterdir()) == there, "nothing was run outside of the study"
    folder = (results / "cross-check" / "latest").resolve()
    (part,) = (path.parent for path in folder.glob("parts/sim/speed-table/2*/table.json"))
    (line,) = Ledger(folder / LEDGER).read()
    assert line.cell == "speed-table/sim/1/nkp24/1", "its runs are in the cross-check's queue"
    assert (folder / line.folder).parent == part / "cells" / "1" / "nkp24" / "1"
    assert not (part / LEDGER).exists()
    assert ELSEWHERE in [one.code for one in verify_folder(folder).unchecked], "one of the two is"

    other = folder / "parts" / "vkernel" / "speed-table" / part.name
    shutil.copytree(part, other, symlinks=True)
    runs = {WORDS["sim"]: part, WORDS["vkernel"]: other}
    page.write_cross_check(folder, [of_tables(tables.load(str(part / tables.KEPT_AS)).table, runs)], {})
    assert [one.code for one in verify_folder(folder).differences] == ["cross-check.other-run"]
    monkeypatch.setattr("testbed.study.kinds.cross_check._other_runs", lambda *_: ())
    found = verify_folder(folder)
    assert (found.verdict, found.differences) == (Status.PASS, [])
    assert ELSEWHERE not in [one.code for one in found.unchecked]
    document = json.loads((other / "table.json").read_text())
    figures = document["outcomes"][0]["figures"]
    figures["goodput_mib_s"] *= 1.01
    (other / "table.json").write_text(json.dumps(document))
    assert any("vkernel" in str(one) for one in verify_folder(folder).differences)
