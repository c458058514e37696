"""Runs in virtual time, made again: the same bytes, whoever made them; anything else is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from testbed.archive import provenance_check
from testbed.judge.history import here
from testbed.machine.guest_kernel import Kernel
from testbed.runtime.progress import Progress
from testbed.scenario.files import sweeps as sweep_files
from testbed.scenario.load import load
from testbed.study.kinds import sweep as sweep_run
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file as tables
from tests.bundle import made
from tests.bundle.made import verify_folder
from tests.ready import in_a_guest as prepare
from tests.said import Saying, codes, places


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.simulated(tmp_path_factory.mktemp("sim"))


@pytest.fixture
def copy(simulated: Path, tmp_path: Path) -> Path:
    place = tmp_path / simulated.name
    shutil.copytree(simulated, place)
    return place


def test_the_same_bytes_come_of_it(simulated: Path) -> None:
    verified = verify_folder(simulated, rerun=True)
    assert verified.differences == []
    assert verified.unchecked == []  # the commit is ours: the bytes are
    assert "rerun.same-bytes" in codes(verified.notes)


def forge(folder: Path) -> None:
    """Raw data, with all that is derived of them."""
    from testbed.results.report.render import write_report

    made.forge_telemetry(folder)
    write_report(folder)


def test_raw_data_that_were_forged_with_all_that_is_derived_of_them_are_found(copy: Path) -> None:
    forge(copy)
    assert verify_folder(copy).differences == []  # nothing in the folder convicts it
    found = verify_folder(copy, rerun=True).differences
    assert Saying("rerun.other-bytes", file="telemetry.lp") in found
    assert Saying("rerun.other-bytes", file="windows.csv") in found


def test_a_file_of_data_too_many_and_one_too_few_are_named(copy: Path) -> None:
    (copy / "capture-sender.pcap").write_bytes(b"")
    (copy / "agents" / "s1-sender.json").unlink()
    found = verify_folder(copy, rerun=True).differences
    assert Saying("rerun.not-made", file="capture-sender.pcap") in found
    assert Saying("rerun.not-there", file="agents/s1-sender.json") in found


def test_what_a_simulation_cost_may_differ(copy: Path) -> None:
    path = copy / "sim.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "cpu_s": 99.0, "peak_bytes": 1}))
    assert verify_folder(copy, rerun=True).differences == []
    path.write_text(json.dumps({**json.loads(path.read_text()), "packets": 1}))
    assert [*verify_folder(copy, rerun=True).differences] == [Saying("rerun.other-bytes", file="sim.json")]


def test_bytes_of_another_commit_are_refused_with_both_commits(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forge(copy)
    path = copy / "provenance.json"
    recorded = {**json.loads(path.read_text()), "commit": "f" * 40, "uncommitted_changes": False}
    path.write_text(json.dumps(recorded))
    found = verify_folder(copy, rerun=True).differences
    assert Saying("rerun.other-checkout", made_by="commit ffffffffffff", here=provenance_check.told_of(here())) in found


def test_real_packets_have_no_rerun(tmp_path: Path) -> None:
    verified = verify_folder(made.emulated(tmp_path), rerun=True)
    assert verified.differences == []
    assert "rerun.real-packets" in codes(verified.notes)


def test_a_table_is_made_again_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path))
    table = tables.load("speed-table", ["ncp.transfer=1MiB"])
    table_run.run(table, table_run.TableRequest(repeat=2, rows="1", columns="nkp24,previous", engine="sim"))
    folder = (tmp_path / "speed-table" / "latest").resolve()
    verified = verify_folder(folder, rerun=True)
    assert verified.differences == []
    assert Saying("verify.runs-made-again", runs=4) in verified.notes
    (receiver,) = folder.glob("cells/1/nkp24/2/sim-*/agents/*-receiver.json")
    receiver.write_text(receiver.read_text().replace('"bytes": 1', '"bytes": 2', 1))
    found = verify_folder(folder, rerun=True).differences
    assert any(place.endswith("agents/s1-receiver.json") for place in places(found, "rerun.other-bytes")), found


@pytest.mark.nightly
def test_a_sweeps_figures_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path))
    name = sweep_files()[0].stem
    _, folder = sweep_run.run(sweeps.load(name, ["ncp.transfer=1MiB"], quick=True))
    verified = verify_folder(folder, rerun=True)
    assert verified.differences == []
    assert "sweep.made-again" in codes(verified.notes)
    page = folder / "report.html"
    page.write_text(page.read_text() + "<p>and more</p>\n")
    assert "report.html" in places(verify_folder(folder).differences)


def test_a_run_in_a_guest_is_the_same_bytes(exact_kernel: Kernel, tmp_path: Path) -> None:
    loaded = load("startup", ["ncp.transfer=1MiB"], quick=True)
    run = prepare(loaded, Progress(), seed=None, quick=True, results=tmp_path)
    run.execute()
    verified = verify_folder(run.folder, rerun=True)
    assert verified.differences == []
    assert "rerun.same-bytes" in codes(verified.notes)
    for forged, code in (("links.csv", "difference.line"), ("host_load.csv", "host-load.not-the-telemetry-s")):
        path = run.folder / forged
        before = path.read_text()
        path.write_text(before[:-3] + "9" + before[-2:])
        differences = verify_folder(run.folder).differences
        assert forged in places(differences, code), differences
        path.write_text(before)
