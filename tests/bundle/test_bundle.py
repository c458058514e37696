"""Bundles: what was packed is confirmed elsewhere, and what was changed is found and named."""

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from rocrate.rocrate import ROCrate

from testbed.archive import kinds
from testbed.archive.kinds import verify_folders
from testbed.archive.pack import CRATE, DESCRIPTION, pack
from testbed.archive.signature import MANIFEST
from testbed.archive.verify import unpacked, verify_bundle
from testbed.cli.app import main
from testbed.errors import BadInput
from testbed.message import Message
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file as tables
from tests.bundle.made import verify_folder
from tests.raises import raises
from tests.ready import simulated as prepare
from tests.said import Saying, codes, places


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, Path]:
    """A run and a table in virtual time."""
    place = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(place))
        patch.setenv("NCP_TESTBED_STATE", str(place / "state"))
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
        loaded = load("startup", ["ncp.transfer=1MiB"])
        simulation = prepare(loaded, Progress(), seed=None, quick=False)
        simulation.execute()
        table = tables.load("speed-table", ["ncp.transfer=1MiB"])
        asked = table_run.TableRequest(repeat=1, rows="1,2", columns="nkp24,mptcp", engine="sim")
        table_run.run(table, asked)
    table_folder: Path = (place / "speed-table" / "latest").resolve()
    return {"run": simulation.folder, "table": table_folder}


@pytest.fixture(scope="module")
def bundle(results, tmp_path_factory) -> Path:
    file: Path = tmp_path_factory.mktemp("bundle") / "both.zip"
    pack([results["run"], results["table"]], file)
    return file


@pytest.fixture(scope="module")
def single(results, tmp_path_factory) -> Path:
    file: Path = tmp_path_factory.mktemp("bundle") / "single.zip"
    pack([results["run"]], file)
    return file


def changed(bundle: Path, to: Path, end: str, change, *, cover: bool = False) -> Path:
    """A copy whose file with that end is changed; ``cover``: and its checksum made to fit."""
    with zipfile.ZipFile(bundle) as before:
        files = {name: before.read(name) for name in before.namelist()}
    (name,) = (name for name in files if name.endswith(end))
    files[name] = change(files[name])
    if cover:
        lines = files[MANIFEST].decode().splitlines()
        digest = hashlib.sha256(files[name]).hexdigest()
        lines = [f"{digest}  {name}" if line.endswith(f"  {name}") else line for line in lines]
        files[MANIFEST] = ("\n".join(lines) + "\n").encode()
    with zipfile.ZipFile(to, "w") as after:
        for place, data in files.items():
            after.writestr(place, data)
    return to


def differences(file: Path) -> list[Message]:
    with unpacked(file) as place:
        return [said for verified in verify_bundle(place) for said in verified.differences]


def test_what_was_packed_is_confirmed_and_plots_are_drawn_again(bundle) -> None:
    with unpacked(bundle) as place:
        found = verify_bundle(place)
    assert [v.differences for v in found] == [[], [], []]
    assert found[1].name.startswith("startup sim-")
    assert Saying("verify.runs-judged-again", runs=2) in found[2].notes
    assert Saying("plots.drawn-again", drawn=7) in found[1].notes


def test_the_same_results_make_the_same_bytes(bundle, results, tmp_path) -> None:
    again = tmp_path / "again.zip"
    pack([results["run"], results["table"]], again)
    assert again.read_bytes() == bundle.read_bytes()


def test_it_has_what_is_needed_to_check_it(bundle) -> None:
    with zipfile.ZipFile(bundle) as archive:
        names = set(archive.namelist())
        description = json.loads(archive.read(DESCRIPTION))
    assert {"LICENSE", "source/uv.lock", "source/go.sum", CRATE, MANIFEST} <= names
    run = description["runs"][0]
    assert {
        f"{run['path']}/{file}" for file in ("telemetry.lp", "plan.json", "scenario.yaml", "provenance.json")
    } <= names
    assert not any("latest" in name for name in names)


def test_other_tools_read_its_metadata(bundle, tmp_path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(tmp_path)
    crate = ROCrate(tmp_path)
    actions = [entity for entity in crate.contextual_entities if entity.type == "CreateAction"]
    assert len(actions) == 2
    for action in actions:
        assert action["instrument"]["name"] == "ncp-testbed"
        assert action["object"]
        for part in (*action["object"], *action["result"]):
            data = (tmp_path / part.id).read_bytes()
            assert part["sha256"] == hashlib.sha256(data).hexdigest()
    assert crate.license.id.endswith("Apache-2.0")
    context, graph = crate.metadata.generate().values()
    assert "w3id.org/ro/crate" in str(context)
    ids = [entity["@id"] for entity in graph]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("cover", [False, True])
def test_a_changed_number_is_found_and_named(single, tmp_path, cover) -> None:
    def faster(data: bytes) -> bytes:
        document = json.loads(data)
        document["duration_s"] += 1.0
        return json.dumps(document).encode()

    (run,) = [
        n for n in zipfile.ZipFile(single).namelist() if n.startswith("runs/startup/") and n.endswith("/verdict.json")
    ]
    found = differences(changed(single, tmp_path / "changed.zip", run, faster, cover=cover))
    assert "duration_s" in places(found, "difference.value"), found
    assert (Saying("bundle.file-changed", file=run, manifest=MANIFEST) in found) is not cover


def test_changed_telemetry_of_a_cell_changes_the_table(bundle, tmp_path) -> None:
    names = zipfile.ZipFile(bundle).namelist()
    (cell,) = (n for n in names if "/cells/1/nkp24/" in n and n.endswith("-receiver.json"))

    def doubled(data: bytes) -> bytes:
        document = json.loads(data)
        document["goodput_bps"] *= 2
        document["duration_s"] /= 2
        return json.dumps(document).encode()

    found = differences(changed(bundle, tmp_path / "changed.zip", cell, doubled, cover=True))
    assert any(place.startswith("cells/1/nkp24/1/") and "goodput_mib_s" in place for place in places(found)), found


def test_a_changed_plot_is_found(single, tmp_path) -> None:
    found = differences(
        changed(single, tmp_path / "c.zip", "plots/rtt.svg", lambda d: d.replace(b"path", b"poth", 1), cover=True)
    )
    assert Saying("plot.differs", plot="plots/rtt.svg") in found
    assert "bundle.file-changed" not in codes(found)


def test_files_added_or_gone_are_named(single, tmp_path) -> None:
    def without(data: bytes) -> bytes:
        return b"".join(line + b"\n" for line in data.splitlines() if not line.endswith(b"LICENSE")) + (
            b"0" * 64 + b"  gone.txt\n"
        )

    found = differences(changed(single, tmp_path / "c.zip", MANIFEST, without))
    assert found == [
        Saying("bundle.file-missing", file="gone.txt", manifest=MANIFEST),
        Saying("bundle.file-not-listed", file="LICENSE", manifest=MANIFEST),
    ]


def test_a_cell_of_another_setting_is_found(bundle, tmp_path) -> None:
    """Its own files fit each other; the table asked for something else."""
    with unpacked(bundle) as place:
        (cell,) = (run for run in place.rglob("cells/1/nkp24/1/*") if run.is_dir())
        (other,) = (run for run in place.rglob("cells/2/nkp24/1/*") if run.is_dir())
        shutil.rmtree(cell)
        shutil.copytree(other, cell.with_name(other.name))
        (verified,) = verify_folders([next(place.glob("runs/speed-table/*"))])
    assert any("scenario.yaml.links" in place for place in places(verified.differences)), verified.differences


def test_a_tables_page_and_its_copies_are_made_again(results, tmp_path) -> None:
    table = tmp_path / "table"
    shutil.copytree(results["table"], table, symlinks=True)
    for name in ("table.csv", "report.html"):
        path = table / name
        path.write_text(path.read_text().replace("nkp24", "nkp42", 1))
    found = verify_folder(table).differences
    assert set(places(found)) == {"table.csv", "report.html"}


def test_metadata_that_other_tools_read_are_made_again(single, tmp_path) -> None:
    found = differences(
        changed(single, tmp_path / "c.zip", CRATE, lambda d: d.replace(b"judged it: ", b"judged it: not "), cover=True)
    )
    assert found
    assert all(place.startswith(CRATE) for place in places(found))


def test_folders_of_which_one_begins_with_the_others_name(results, tmp_path) -> None:
    # As text "7-three/" comes before "7/", as folders it comes after.
    run = next(path.parent for path in results["table"].rglob("telemetry.lp"))
    for cell in ("7", "7-three"):
        shutil.copytree(run, tmp_path / "results" / cell)
    pack([tmp_path / "results" / "7", tmp_path / "results" / "7-three"], tmp_path / "both.zip")
    assert differences(tmp_path / "both.zip") == []


def test_of_runs_that_are_shared_out_the_changed_one_is_found(results, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(kinds, "SHARES", 1)
    folders = [tmp_path / str(number) / results["run"].name for number in range(kinds.FEW + 2)]
    for folder in folders:
        shutil.copytree(results["run"], folder)
    verdict = folders[3] / "verdict.json"
    told = json.loads(verdict.read_text())
    verdict.write_text(json.dumps(told | {"duration_s": told["duration_s"] + 1}))
    found = verify_folders(folders)
    assert [bool(verified.differences) for verified in found] == [False, False, False, True, False]


def test_a_result_that_is_kept_quiet_about_is_found(bundle, tmp_path) -> None:
    def fewer(data: bytes) -> bytes:
        return json.dumps({"schema": 1, "runs": []}).encode()

    found = differences(changed(bundle, tmp_path / "c.zip", DESCRIPTION, fewer, cover=True))
    assert Saying("bundle.nothing-to-confirm", file=DESCRIPTION) in found
    assert any(place.endswith("/plan.json") for place in places(found, "bundle.of-no-result"))


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/outside.txt"])
def test_a_name_that_leads_out_is_refused(tmp_path, name) -> None:
    file = tmp_path / "bad.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "x")
    with raises(BadInput, "bundle.bad-name"), unpacked(file):
        pass


def test_a_newer_schema_is_refused(single, tmp_path) -> None:
    newer = changed(single, tmp_path / "n.zip", DESCRIPTION, lambda d: d.replace(b'"schema": 1', b'"schema": 99'))
    with raises(BadInput, "bundle.newer-schema", schema=99), unpacked(newer):
        pass


def test_a_truncated_bundle_is_refused(single, tmp_path, monkeypatch, capsys) -> None:
    cut = tmp_path / "cut.zip"
    cut.write_bytes(single.read_bytes()[:-1000])
    monkeypatch.setattr("sys.argv", ["run.sh", "verify", str(cut)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "neither a result folder nor a bundle" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["bundle", "/no/such"], ["verify", "/no/such"], ["bundle", "/tmp"]])
def test_what_is_no_result_is_named(monkeypatch, capsys, arguments) -> None:
    monkeypatch.setattr("sys.argv", ["run.sh", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert arguments[1] in capsys.readouterr().err
