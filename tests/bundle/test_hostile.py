"""Bundles that somebody made to do harm: refused, and nothing outside of where they are unpacked is read or written."""

import json
import os
import stat
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.archive import verify
from testbed.archive.pack import CRATE, DESCRIPTION
from testbed.archive.signature import MANIFEST
from testbed.archive.verify import unpacked, verify_bundle
from testbed.errors import BadInput
from tests.raises import raises

Files = dict[str | zipfile.ZipInfo, bytes]


def bundle(file: Path, runs: Any, more: Files | None = None) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(DESCRIPTION, json.dumps({"schema": 1, "runs": runs}))
        archive.writestr(MANIFEST, "")
        archive.writestr(CRATE, "{}")
        for name, data in (more or {}).items():
            archive.writestr(name, data)
    return file


def refusal(file: Path) -> str:
    """What is said of a bundle; "" where it is unpacked, with all of it inside of where it is to be."""
    try:
        with unpacked(file) as place:
            assert all(path.resolve().is_relative_to(place) for path in place.rglob("*"))
    except BadInput as error:
        return error.message or "nothing was said"
    return ""


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
        with unpacked(file) as place, raises(BadInput, "bundle.not-a-result"):
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
    with raises(BadInput, "bundle.grows-too-much"), unpacked(file):
        pass


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a", "2")
    with raises(BadInput, "bundle.bad-name"), unpacked(tmp_path / "twice.zip"):
        pass


def test_more_files_than_any_result_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "MOST_FILES", 100)
    more: Files = {f"runs/{n}": b"" for n in range(100)}
    file = bundle(tmp_path / "many.zip", [], more)
    with raises(BadInput, "bundle.too-many-files", files=103, most_files=100), unpacked(file):
        pass


@pytest.mark.parametrize("runs", [None, {}, 7, "runs/a", [None], ["runs/a"], [{}], [{"path": 7}], [{"path": None}]])
def test_a_description_of_another_shape_is_refused(tmp_path: Path, runs: Any) -> None:
    file = bundle(tmp_path / "odd.zip", runs)
    with raises(BadInput, "bundle.no-list-of-results"), unpacked(file):
        pass


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, '{"schema": 1e999, "runs": []}', "\udcff"])
def test_a_description_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with zipfile.ZipFile(tmp_path / "odd.zip", "w") as archive:
        archive.writestr(DESCRIPTION, text.encode(errors="surrogateescape"))
        archive.writestr(MANIFEST, "")
        archive.writestr(CRATE, "{}")
    with pytest.raises(BadInput, match=DESCRIPTION), unpacked(tmp_path / "odd.zip"):
        pass


@pytest.mark.parametrize("names", [("a", "a/b"), ("a" * 300,), ("a\x00/../b",)])
def test_names_that_no_disk_can_hold_are_refused_or_harmless(tmp_path: Path, outside: Path, names: list[str]) -> None:
    file = bundle(tmp_path / "odd.zip", [], dict.fromkeys(names, b"x"))
    before = sorted(tmp_path.rglob("*"))
    said = refusal(file)
    assert said == "" or said.startswith(str(file))
    assert sorted(tmp_path.rglob("*")) == before


@settings(
    max_examples=int(os.environ.get("NCP_TESTBED_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_a_damaged_bundle_is_refused_or_read(tmp_path: Path, data: st.DataObject) -> None:
    """Bytes are changed, put in and cut off, most of them where the archive says what is in it."""
    content = bytearray(bundle(tmp_path / "whole.zip", [{"path": "runs/a"}], {"runs/a/plan.json": b"{}"}).read_bytes())
    directory = content.rfind(b"PK\x05\x06")
    for _ in range(data.draw(st.integers(1, 8))):
        end = len(content)
        at = data.draw(st.integers(0, end) | st.integers(min(directory // 2, end), end))
        put = data.draw(st.binary(max_size=4) | st.sampled_from([b"\xff\xff\xff\xff", b"\x00\x00", b"../", b"\x01"]))
        content[at : at + data.draw(st.sampled_from([len(put), len(put), 0, 3]))] = put
    file = tmp_path / "damaged.zip"
    file.write_bytes(content)
    there = sorted(tmp_path.rglob("*"))
    said = refusal(file)
    assert said == "" or said.startswith((str(file), tempfile.gettempdir()))
    assert sorted(tmp_path.rglob("*")) == there
