"""A user's own code: its name by what it is, what is refused, and where files and plans have it."""

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from testbed import confine
from testbed.engines import named
from testbed.errors import BadInput
from testbed.plan import codes
from testbed.planning.program import not_built
from testbed.planning.resolve import Choices
from testbed.planning.resolve import resolve as resolved
from testbed.planning.traffic import needs_of, runtime_of
from testbed.scenario.load import load
from testbed.study.kinds.table import TableRequest, select
from testbed.study.kinds.table_file import columns_of, repeated, scenario_of
from testbed.study.kinds.table_file import load as load_table
from tests.golden import text
from tests.plan.test_resolve import POLICIES
from tests.raises import raises

MACHINE = Path("/proc/self/exe").read_bytes()[:20]


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(codes, "KEPT", tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "kept"


def program(place: Path, content: bytes = b"#!/bin/sh\nexit 1\n", mode: int = 0o700) -> Path:
    place.write_bytes(content)
    place.chmod(mode)
    return place


def package(place: Path, main: str = "index.js") -> Path:
    place.mkdir()
    (place / "package.json").write_text(f'{{"name": "mine", "version": "0.0.1", "main": "{main}"}}')
    (place / "index.js").write_text("module.exports = {};")
    return place


def plan_of(*assignments: str, scenario: str = "startup") -> Any:
    return resolved(load(scenario, assignments), POLICIES, Choices(), "RUN")


def code_of(*assignments: str, scenario: str = "startup") -> str:
    return str(plan_of(*assignments, scenario=scenario)["sessions"][0]["code"]["sender"])


def test_a_plan_has_its_name_and_no_path(tmp_path: Path, kept: Path) -> None:
    program(tmp_path / "My_Agent")
    plan = plan_of("code=./My_Agent")
    name = plan["sessions"][0]["code"]["sender"]
    assert name.startswith("my-agent@")
    assert codes.is_own(name)
    assert text.changes(plan_of(), plan) == {
        "overrides": [f"ncp.code={name}"],
        "runtime": "process",
        "sessions.0.code": {"sender": name, "receiver": name},
        "variant": "changed",
    }
    assert str(tmp_path) not in str(plan)
    assert plan == plan_of(f"code={name}"), "by which verify and reproduce read it again"
    assert not_built(plan) == ""
    assert (kept / name / codes.PROGRAM).stat().st_mode & stat.S_IXOTH, "the agents' user runs it"


def test_another_build_is_another_code_and_a_copy_elsewhere_is_not(tmp_path: Path) -> None:
    first = code_of(f"code={program(tmp_path / 'mine')}")
    (tmp_path / "else").mkdir()
    assert code_of(f"code={program(tmp_path / 'else' / 'mine')}") == first
    assert code_of(f"code={program(tmp_path / 'mine', b'#!/bin/sh')}") != first


def test_a_package_is_all_that_it_requires_but_for_its_history(tmp_path: Path, kept: Path) -> None:
    folder = package(tmp_path / "mine")
    first = code_of("code=./mine")
    assert codes.files_of(first) == (codes.FOLDER, kept / first)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("main")
    assert code_of("code=./mine") == first
    (folder / "node_modules" / "heap").mkdir(parents=True)
    (folder / "node_modules" / "heap" / "index.js").write_text("")
    assert code_of("code=./mine") != first


def test_ends_may_differ(tmp_path: Path) -> None:
    program(tmp_path / "mine")
    (session,) = plan_of("code={sender: ./mine, receiver: ours}")["sessions"]
    assert list(session["code"]) == ["sender"]
    (session,) = plan_of("code={sender: ours, receiver: ours}", "ncp.code.receiver=./mine")["sessions"]
    assert list(session["code"]) == ["receiver"]


@pytest.mark.parametrize("form", ["code: ./mine", "code: {sender: ./mine}"])
def test_a_files_path_is_relative_to_it(tmp_path: Path, form: str) -> None:
    there = tmp_path / "there"
    there.mkdir()
    own = code_of(f"code={program(there / 'mine')}")
    file = there / "one.yaml"
    file.write_text(
        "name: one\ntitle: One\nlinks: [{name: a, rate: 100pps, delay: 1ms}]\n"
        f"ncp: {{policy: nkp24, transfer: 1MiB, {form}}}\nchecks: [{{name: payload, judge: payload_intact}}]\n"
    )
    plan = plan_of(scenario=str(file))
    assert plan["sessions"][0]["code"]["sender"] == own
    assert plan["variant"] == "changed", "the file is the same with another build"
    (there / "mine").unlink()
    with raises(BadInput, "code.unfit", place=f"{file}:4: ncp.code"):
        plan_of(scenario=str(file))
    with confine.to(there):  # as verify reads it, by what the run's plan has
        assert plan_of(*plan["overrides"], scenario=str(file)) == plan
        assert "./mine" in not_built(plan_of(scenario=str(file)))
        with raises(BadInput, "result.program"):
            plan_of("code=./mine", scenario=str(file))


def test_a_policy_may_be_its_own_where_both_ends_know_it(tmp_path: Path) -> None:
    program(tmp_path / "mine")
    plan = plan_of("code=./mine", "policy=mine", "checks.payload.policy=[mine]")
    assert plan["sessions"][0]["policy_facts"] == {"name": "mine", "rule": "its own code's"}
    for assignments in (["policy=mine"], ["policy=mine", "code={sender: ./mine, receiver: ours}"]):
        with raises(BadInput, "scenario.no-such-policy"):
            plan_of(*assignments)


def elf(machine: int) -> bytes:
    return MACHINE[:18] + machine.to_bytes(2, "little") + b"\0" * 40


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (None, 0, "not there"),
        (b"#!/bin/sh\n", 0o600, "chmod +x"),
        (b"just text", 0o700, "neither an ELF"),
        (b"", 0o700, "neither an ELF"),
        (elf(243), 0o700, "ELF for"),
    ],
)
def test_what_is_no_program_of_this_machine_is_refused(
    tmp_path: Path, content: bytes | None, mode: int, why: str, kept: Path
) -> None:
    if content is not None:
        program(tmp_path / "mine", content, mode)
    with raises(BadInput, "code.unfit", path=str(tmp_path / "mine"), option="--set code", why=why):
        plan_of("code=./mine")
    assert not kept.exists()


def test_an_elf_of_this_machine_is_taken(tmp_path: Path) -> None:
    assert code_of(f"code={program(tmp_path / 'mine', MACHINE + bytes(40))}")


@pytest.mark.parametrize("main", ["lib/none.js", "{", '1", "main": 2, "x": "'])
def test_a_folder_that_is_no_package_is_refused(tmp_path: Path, main: str) -> None:
    package(tmp_path / "mine", main)
    (tmp_path / "empty").mkdir()
    for name in ("mine", "empty"):
        with raises(BadInput, "code.unfit", path=str(tmp_path / name)):
            plan_of(f"code=./{name}")


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "mine")
    monkeypatch.setattr("testbed.documents.MOST_FILES", 1)
    with raises(BadInput, "program.folder-too-large"):
        plan_of("code=./mine")


def test_a_word_without_a_slash_is_no_path(tmp_path: Path) -> None:
    program(tmp_path / "mine")
    with raises(BadInput, "ncp.no-such-code", hint="./PATH"):
        plan_of("code=mine")


def test_what_is_not_kept_as_its_name_says_is_not_run(tmp_path: Path, kept: Path) -> None:
    program(tmp_path / "mine")
    plan = plan_of("code=./mine")
    name = plan["sessions"][0]["code"]["sender"]
    program(kept / name / codes.PROGRAM, b"#!/bin/sh\nexit 2\n")
    assert name in not_built(plan)
    shutil.rmtree(kept / name)
    assert name in not_built(plan)
    assert plan_of("code=./mine") == plan
    assert not_built(plan) == ""


def test_it_needs_nothing_installed_and_the_simulator_refuses(tmp_path: Path) -> None:
    program(tmp_path / "mine")
    scenario = load("startup", ["code=./mine"]).scenario
    assert not needs_of(scenario)
    assert runtime_of(scenario, "docker") == "process"
    assert named("sim").unsupported(plan_of("code=./mine")) == ["ncp.code: the simulator runs our own code alone"]


def test_repetitions_go_on_with_the_build_that_they_began_with(tmp_path: Path) -> None:
    program(tmp_path / "mine")
    first = repeated("startup", ["code=./mine"], quick=True, repeat=2, seed=None)
    program(tmp_path / "mine", b"#!/bin/sh\nexit 2\n")
    second = repeated("startup", ["code=./mine"], quick=True, repeat=2, seed=None)
    identities = [select(one, TableRequest(), POLICIES).identity for one in (first, second)]
    assert identities[0] != identities[1], "so that the first can't be resumed as the second"
    (row,), column = first.table.rows, columns_of(first.table, POLICIES)["runs"]
    assert scenario_of(first, row, column).scenario.ncp.code.sender in str(identities[0])  # type: ignore[union-attr]


def test_a_tables_columns_have_paths_relative_to_its_file(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    program(there / "old")
    program(there / "new", b"#!/bin/sh\nexit 2\n")
    file = there / "builds.yaml"
    file.write_text(
        "name: builds\ntitle: Builds\ncells:\n  links: [{name: a, rate: 100pps, delay: 1ms}]\n"
        "  ncp: {policy: nkp24, transfer: 1MiB}\n  checks: [{name: payload, judge: payload_intact}]\n"
        "rows: [{name: one}]\n"
        "columns:\n  - {name: old, set: {ncp.code: ./old}}\n  - {name: new, set: {ncp.code: ./new}}\n"
        "checks: [{name: payload, judge: each_run, check: payload}]\n"
    )

    def names(*assignments: str) -> list[str]:
        loaded = load_table(str(file), assignments)
        columns = columns_of(loaded.table, POLICIES)
        scenarios = [scenario_of(loaded, loaded.table.rows[0], columns[name]).scenario for name in ("old", "new")]
        return [str(each.ncp and each.ncp.code.sender) for each in scenarios]

    old, new = names()
    assert (old[:4], new[:4]) == ("old@", "new@")
    identity = select(load_table(str(file)), TableRequest(), POLICIES).identity
    assert identity["codes"] == sorted([old, new])
    assert str(tmp_path) not in str(identity)
    program(there / "new", b"#!/bin/sh\nexit 3\n")
    assert select(load_table(str(file)), TableRequest(), POLICIES).identity["codes"] != identity["codes"]
    (there / "new").unlink()
    with raises(BadInput, "code.unfit", file=str(file)):
        load_table(str(file))
