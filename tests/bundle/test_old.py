"""Results that earlier code made stay readable: kind, verdict, no difference, and exactly what can't be checked."""

import copy
import shutil
from pathlib import Path
from typing import get_args

import pytest

from testbed.archive import kinds, pack, provenance_check, verify
from testbed.archive.kinds import drawn_again
from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.judge.checks import derived
from testbed.judge.history import git
from testbed.message import Message
from tests.bundle import made, old_bundles
from tests.bundle.made import verify_folder
from tests.bundle.old_bundles import COMMAND, complaints, expected, found_today, opened
from tests.raises import raises
from tests.said import Saying, codes

MADE_BY = "bf9c9d2cd8758abd06ec859c49a9b032dd2c61cc"
"""The commit that made all but the oldest one."""
OLDEST = "schema-1.zip"
FILES = {file.name: file for file in old_bundles.files()}
RUN = ("virtual-time.zip", "runs/startup/sim-092652a44137")

# A transfer of a few packets leaves some plots with no room for their axes.
pytestmark = pytest.mark.filterwarnings("ignore:constrained_layout not applied")


@pytest.mark.parametrize("name", FILES)
def test_it_is_confirmed_as_it_was(name: str) -> None:
    wrong = complaints(expected()[name], found_today(FILES[name]))
    assert not wrong, "\n".join([*wrong, f"What can't be checked, if nothing else: {COMMAND}"])


def test_no_text_decides_how_it_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every text reworded, verdict and kinds stay, and nothing differs."""
    said = Message.__str__
    with opened(FILES[RUN[0]]) as place:
        before = verify_folder(place / RUN[1])
        monkeypatch.setattr(Message, "__str__", lambda message: said(message)[::-1])
        again = verify_folder(place / RUN[1])
    assert again.verdict == before.verdict
    assert again.differences == []
    assert {one.code for one in again.unchecked} >= {one.code for one in before.unchecked}
    assert "verify.of-its-time" in {one.code for one in again.unchecked}, "nothing was reworded"


def test_every_kind_is_there() -> None:
    found = [one for results in expected().values() for one in results.values()]
    there = {one["kind"] for one in found if "kind" in one}
    assert there == set(get_args(kinds.Kind))
    assert expected().keys() == FILES.keys()
    assert any(one.get("signed") for one in found)
    assert {one["verdict"] for one in found if one.get("kind") == "run"} == {"pass", "fail", "untrusted"}


def test_of_the_interop_matrix_there_is_nothing_that_verify_reads() -> None:
    assert expected()["interop.zip"] == {"folder": {"refused": "is not a result folder"}}
    with opened(FILES["interop.zip"]) as place:
        assert read_json(place / "interop.json")["summary"] == "2 of 2 cells pass"


@pytest.mark.parametrize("name", [name for name in FILES if name != "interop.zip"])
def test_its_schema_and_commit_are_known(name: str) -> None:
    schemas = {"bundle": 1, "result": 1 if name == OLDEST else 2}
    with opened(FILES[name]) as place:
        assert read_json(place / pack.DESCRIPTION)["schema"] == schemas["bundle"]
        recorded = [read_json(path) for path in place.rglob("provenance.json")]
    assert recorded
    for one in recorded:
        assert provenance_check.schema_of(one) == schemas["result"]
        if name != OLDEST:
            assert provenance_check.schema_of({**one, "schema": 1}) == 2, "it can't pretend to be older than its commit"
            assert (one["commit"], one["uncommitted_changes"]) == (MADE_BY, False)
    if name != OLDEST:
        assert git("cat-file", "-e", f"{MADE_BY}^{{commit}}").returncode == 0


@pytest.mark.parametrize("name", [name for name in FILES if name != "interop.zip"])
def test_its_pages_can_be_drawn(name: str, tmp_path: Path) -> None:
    with opened(FILES[name]) as place:
        for number, entry in enumerate(read_json(place / pack.DESCRIPTION)["runs"]):
            if entry["kind"] == "repetitions":  # hashes alone have no page
                continue
            drawn = tmp_path / str(number)
            drawn_again(place / entry["path"], drawn)
            page = (drawn / "report.html").read_text(encoding="utf-8")
            assert page.rstrip().endswith("</html>"), entry
            assert "<svg" in page, entry


def test_its_commit_is_asked(tmp_path: Path) -> None:
    bundle, path = RUN
    with opened(FILES[bundle]) as place:
        run = shutil.copytree(place / path, tmp_path / Path(path).name)
    assert verify_folder(run).differences == []
    kept = run / "scenario.yaml"
    kept.write_text(kept.read_text().replace("tolerance: 0.03", "tolerance: 0.3"))
    found = verify_folder(run).differences
    assert Saying("scenario.not-the-commit-s", file="scenarios/startup.yaml", commit=MADE_BY[:12]) in found
    made.edit(run / "provenance.json", commit="0" * 40)
    assert "scenario.of-unknown-origin" in codes(verify_folder(run).unchecked)


def test_a_change_of_what_is_derived_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "COLUMNS", ("at_s", *derived.COLUMNS[1:]))
    told = complaints(expected()[OLDEST], found_today(FILES[OLDEST]))
    assert any("windows.csv, line 1: " in text for text in told), told


def test_one_that_is_no_longer_read_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "SCHEMA", 0)
    with raises(BadInput, "bundle.newer-schema", schema=1, newest=0):
        found_today(FILES[OLDEST])


RECORDED: dict[str, old_bundles.Found] = {
    "run": {"kind": "run", "verdict": "pass", "differences": [], "unchecked": ["a"]},
    "bundle": {},
}


@pytest.mark.parametrize(
    ("key", "value", "never"),
    [
        ("verdict", "fail", True),
        ("kind", "table", True),
        ("signed", ["signed by an unknown key"], True),
        ("differences", ["duration_s: 1 is recorded, 2 by the data"], True),
        ("unchecked", [], False),
        ("unchecked", ["a", "b"], False),
    ],
)
def test_whatever_changed_is_told(key: str, value: object, never: bool) -> None:
    found = copy.deepcopy(RECORDED)
    assert not complaints(RECORDED, found)
    found["run"][key] = value
    assert complaints(RECORDED, found)[0].startswith(f"run: {key}: ")
    assert bool(complaints(RECORDED, found, never_only=True)) is never


def test_a_result_that_is_gone_or_new_is_told() -> None:
    assert complaints(RECORDED, {"bundle": {}}, never_only=True) == ["run: is not there"]
    assert complaints({"bundle": {}}, RECORDED) == ["run: is not recorded"]
    assert complaints({"bundle": {}}, RECORDED, never_only=True) == []
