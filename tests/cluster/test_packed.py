"""What goes over the network: paths by name, folders whole, damage noticed."""

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from testbed import paths
from testbed.study.hosts.transfer import Damaged, Packed, dumps, loads, pack, unpack


def test_paths_are_those_of_the_other_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "CHECKOUT", Path("/a"))
    monkeypatch.setenv("NCP_TESTBED_RESULTS", "/a/results")
    sent = dumps([Path("/a/results/t/1"), Path("/a/.build/bin/ncp-sim"), Path("/etc/hosts"), "/a/results"])
    monkeypatch.setattr(paths, "CHECKOUT", Path("/opt/y"))
    monkeypatch.setenv("NCP_TESTBED_RESULTS", "/tmp/x")
    assert loads(sent) == [Path("/tmp/x/t/1"), Path("/opt/y/.build/bin/ncp-sim"), Path("/etc/hosts"), "/a/results"]


def test_one_bit_is_noticed() -> None:
    sound = Packed.of(b"a result")
    assert sound.checked() == b"a result"
    with pytest.raises(Damaged, match="SHA-256"):
        replace(sound, body=b"a resulu").checked()


def run_in(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(text)
    (folder.parent / "latest").unlink(missing_ok=True)
    (folder.parent / "latest").symlink_to(folder.name)
    return folder


def test_a_folder_comes_beside_what_is_there(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    run_in(there / "table/1/cells/a/1/run-2", "new")
    run_in(here / "table/1/cells/a/1/run-1", "old")
    (here / "table/1/matrix.json").write_text("{}")
    unpack(pack(there), here)
    cell = here / "table/1/cells/a/1"
    assert {run.name: (run / "plan.json").read_text() for run in cell.glob("run-*")} == {"run-1": "old", "run-2": "new"}
    assert (cell / "latest").readlink() == Path("run-2")
    assert (here / "table/1/matrix.json").read_text() == "{}"
    assert not list(here.glob(".arriving*"))


def test_a_run_takes_the_place_of_one_of_its_name_as_a_whole(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    run_in(there / "x/sim-1", "new")
    (run_in(here / "x/sim-1", "old") / "left-over").write_text("")
    unpack(pack(there), here)
    assert [path.name for path in (here / "x/sim-1").iterdir()] == ["plan.json"]
    assert (here / "x/sim-1/plan.json").read_text() == "new"


@pytest.mark.parametrize(
    ("name", "link"), [("../out", ""), ("/etc/out", ""), ("latest", "/etc"), ("latest", "../.."), ("latest", "..")]
)
def test_what_leads_out_of_the_results_is_refused(tmp_path: Path, name: str, link: str) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
        tar.addfile(member)
    with pytest.raises(Damaged, match="not a file of a run"):
        unpack(file.getvalue(), tmp_path / "here")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() or path.is_symlink()]
