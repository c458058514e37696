"""What can be checked of a recorded commit without running anything."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.archive import origin, provenance_check
from testbed.engines import virtual_run
from testbed.engines.sim import run as sim
from testbed.judge.history import git
from testbed.study.kinds import table_file as tables
from testbed.study.kinds.table_file import repeated
from testbed.study.verify import Verification
from tests.said import Saying, codes, places

HEAD = git("rev-parse", "HEAD").stdout.decode().strip()
AT_HEAD = {"commit": HEAD, "uncommitted_changes": False}
PLAN: Any = {"scenario": "startup", "title": "Any", "engine": "mininet", "run": "r", "sessions": [{}]}

pytestmark = pytest.mark.skipif(not HEAD, reason="this checkout has no history")


def scenario_at_head(folder: Path) -> Path:
    file = folder / "scenario.yaml"
    file.write_bytes(git("show", "HEAD:scenarios/startup.yaml").stdout)
    return file


def checked(folder: Path, recorded: dict[str, Any]) -> Verification:
    verified = Verification("", "")
    provenance_check.check_commit(folder, PLAN, recorded, verified)
    origin.check_scenario(folder, PLAN, recorded, verified)
    return verified


def test_the_commits_scenario_is_the_folders(tmp_path: Path) -> None:
    file = scenario_at_head(tmp_path)
    assert checked(tmp_path, AT_HEAD) == Verification("", "")
    file.write_text(file.read_text().replace("48MiB", "24MiB"))
    (found,) = checked(tmp_path, AT_HEAD).differences
    assert found == Saying("scenario.not-the-commit-s", file="scenarios/startup.yaml", commit=HEAD[:12])


@pytest.mark.parametrize(
    ("recorded", "code"),
    [
        ({}, "commit.not-recorded"),
        ({"commit": "0" * 40, "uncommitted_changes": False}, "commit.not-known"),
        ({"commit": "--help", "uncommitted_changes": False}, "commit.not-known"),
        ({"commit": HEAD, "uncommitted_changes": True}, ""),
    ],
)
def test_what_can_not_be_checked_is_told(tmp_path: Path, recorded: dict[str, Any], code: str) -> None:
    file = scenario_at_head(tmp_path)
    verified = checked(tmp_path, recorded)
    assert verified.differences == []
    assert codes(verified.unchecked) == [code] * bool(code)
    file.write_text(file.read_text().replace("48MiB", "24MiB"))
    verified = checked(tmp_path, recorded)
    assert verified.differences == []
    assert "scenario.of-unknown-origin" in codes(verified.unchecked)


@pytest.mark.parametrize(
    ("recorded", "changed", "is_here"),
    [
        (AT_HEAD, False, True),
        (AT_HEAD, True, False),
        (AT_HEAD | {"uncommitted_changes": True}, False, False),
        (AT_HEAD | {"uncommitted_changes": True}, True, False),
        (AT_HEAD | {"commit": HEAD[:-1] + "x"}, False, False),
        ({}, False, False),
    ],
)
def test_a_result_is_of_this_checkout_by_its_whole_commit(
    monkeypatch: pytest.MonkeyPatch, recorded: dict[str, Any], changed: bool, is_here: bool
) -> None:
    monkeypatch.setattr(provenance_check, "here", lambda: {"commit": HEAD, "uncommitted_changes": changed})
    assert provenance_check.made_here(recorded) is is_here


@pytest.mark.parametrize("lacks", ["", '"internal/cubic",', "place.is_file()"])
def test_a_commit_that_names_runs_by_another_rule_is_not_checked_by_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    rule = {place: (paths.CHECKOUT / place).read_text() for place, _ in provenance_check.RULE_OF_NAMES}
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    monkeypatch.setattr(provenance_check, "_sources_at", provenance_check._sources_at.__wrapped__)
    for name in sim.SOURCES:
        write(tmp_path / (name if "." in name else f"{name}/a.go"), "package a\n")
    for place, text in rule.items():
        write(tmp_path / place, text.replace(lacks, "False" if "(" in lacks else "") if lacks else text)
    made = commit_all()
    at_commit = {"commit": made, "uncommitted_changes": False}
    for place, text in rule.items():
        write(tmp_path / place, text)
    by_commit: Any = {**PLAN, "engine": "sim"}
    named: Any = {**by_commit, "run": sim.run_id(by_commit, virtual_run.texts.__wrapped__(sim.SOURCES))}
    other: Any = {**by_commit, "run": "sim-0"}
    for plan, found in ((named, 0), (other, 1)):
        verified = Verification("", "")
        provenance_check.check_commit(tmp_path, plan, at_commit, verified)
        assert len(verified.differences) == (0 if lacks else found), verified.differences
        other_rule = [said for said in verified.unchecked if said.code == "commit.other-rule"]
        assert other_rule == ([Saying("commit.other-rule", commit=made[:12])] if lacks else [])


def test_each_part_of_the_rule_is_in_its_files() -> None:
    files = [(paths.CHECKOUT / place).read_bytes() for place, _ in provenance_check.RULE_OF_NAMES]
    assert {name for file in files for name in provenance_check._rule_in(file)} == provenance_check.PARTS_OF_THE_RULE


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def commit_all() -> str:
    """In a new repository, the checkout of a test; returns the commit."""
    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "All")
    return git("rev-parse", "HEAD").stdout.decode().strip()


@pytest.mark.parametrize(("changed", "same"), [("agent/a_test.go", True), ("agent/a.go", False), ("other.go", True)])
def test_tests_of_the_sources_are_no_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, same: bool
) -> None:
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    (tmp_path / "agent").mkdir()
    for name in ("agent/a.go", "agent/a_test.go", "other.go"):
        (tmp_path / name).write_text("before")
    recorded = {"commit": commit_all(), "uncommitted_changes": False}
    (tmp_path / changed).write_text("after")
    assert provenance_check.may_be_ours(recorded, ["agent"]) is same


def test_a_folder_can_not_pretend_to_be_older_than_its_commit() -> None:
    written = git("show", "HEAD:testbed/engines/provenance.py").stdout
    (least,) = re.findall(rb"^SCHEMA = (\d+)$", written, re.MULTILINE)
    assert int(least) >= 2
    assert provenance_check.schema_of({**AT_HEAD, "schema": 1}) == int(least)
    assert provenance_check.schema_of({"commit": "0" * 40}) == 1
    assert provenance_check.schema_of({"commit": "0" * 40, "schema": 2}) == 2


def table_folder(place: Path, name: str, *, is_scenario: bool) -> Path:
    place.mkdir()
    if is_scenario:
        loaded = repeated(name, ["ncp.transfer=1MiB"], quick=True, repeat=3, seed=7)
    else:
        loaded = tables.load(name, ["ncp.transfer=1MiB"], quick=True)
    tables.keep(loaded, place)
    rows, columns = ([row.name for row in loaded.table.rows], [str(c.name) for c in loaded.table.columns])
    (place / "matrix.json").write_text(json.dumps({"rows": rows, "columns": columns, "repeat": 3}))
    table = {"name": loaded.table.name, "quick": True, "columns": columns, "overrides": list(loaded.overrides)}
    (place / "table.json").write_text(json.dumps(table))
    return place


@pytest.mark.parametrize(("name", "is_scenario"), [("startup", True), ("speed-table", False)])
def test_the_commits_table_is_the_folders(tmp_path: Path, name: str, is_scenario: bool) -> None:
    place = Path("scenarios" if is_scenario else "scenarios/tables", f"{name}.yaml")
    if git("show", f"HEAD:{place}").stdout != (paths.CHECKOUT / place).read_bytes():
        pytest.skip(f"not committed as it is: {place}")
    folder = table_folder(tmp_path / "table", name, is_scenario=is_scenario)
    verified = Verification("", "")
    origin.check_table(folder, AT_HEAD, verified)
    assert verified == Verification("", "")
    shutil.copytree(folder, tmp_path / "other")
    kept = tmp_path / "other" / "table.yaml"
    kept.write_text(kept.read_text().replace("1024", "1025", 1))
    origin.check_table(tmp_path / "other", AT_HEAD, verified)
    assert any(f"{place}: table.yaml" in found for found in places(verified.differences)), verified.differences
