"""Bundles that somebody made to do harm: refused, and nothing outside of where they are unpacked is read or written."""

import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from testbed.bundle import verify
from testbed.bundle.pack import CRATE, DESCRIPTION
from testbed.bundle.signature import MANIFEST
from testbed.bundle.verify import unpacked, verify_bundle
from testbed.errors import BadInput

Files = dict[str | zipfile.ZipInfo, bytes]


def bundle(file: Path, runs: list[dict[str, Any]], more: Files | None = None) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(DESCRIPTION, json.dumps({"schema": 1, "runs": runs}))
        archive.writestr(MANIFEST, "")
        archive.writestr(CRATE, "{}")
        for name, data in (more or {}).items():
            archive.writestr(name, data)
    return file


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that looks like a result, and is none of the bundle's."""
    folder = tmp_path / "outside"
    (folder / "plots").mkdir(parents=True)
    (folder / "plots" / "windows.svg").write_text("<svg/>")
    (folder / "plan.json").write_text("{}")
    (folder / "verdict.json").write_text("{}")
    return folder


def test_a_result_that_is_outside_is_not_looked_at(tmp_path: Path, outside: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in outside.rglob("*")}
    for number, path in enumerate([str(outside), f"runs/../../{outside.name}", "..", ".", "", "/"]):
        file = bundle(tmp_path / f"{number}.zip", [{"path": path, "verdict": "pass", "kind": "run"}])
        with unpacked(file) as place, pytest.raises(BadInput, match="is no folder of a result in the bundle"):
            verify_bundle(place)
    assert {path: path.stat().st_mtime_ns for path in outside.rglob("*")} == before


def test_a_link_is_unpacked_as_a_file(tmp_path: Path, outside: Path) -> None:
    link = zipfile.ZipInfo("runs/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    file = bundle(tmp_path / "link.zip", [], {link: str(outside).encode()})
    with unpacked(file) as place:
        assert not (place / "runs" / "link").is_symlink()
        assert (place / "runs" / "link").is_file()


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = zipfile.ZipInfo("runs/bomb")
    bomb.compress_type = zipfile.ZIP_DEFLATED
    file = bundle(tmp_path / "bomb.zip", [], {bomb: bytes(64 << 20)})
    assert file.stat().st_size < 1 << 20
    with pytest.raises(BadInput, match="times its size"), unpacked(file):
        pass


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a", "2")
    with pytest.raises(BadInput, match="no name of a file in a bundle"), unpacked(tmp_path / "twice.zip"):
        pass


def test_more_files_than_any_result_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "MOST_FILES", 100)
    more: Files = {f"runs/{n}": b"" for n in range(100)}
    file = bundle(tmp_path / "many.zip", [], more)
    with pytest.raises(BadInput, match="has 103 files in it; 100 at most"), unpacked(file):
        pass
