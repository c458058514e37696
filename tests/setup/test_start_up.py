"""What a verb imports before it does its work: that is most of what a short command takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from testbed import paths
from testbed.cli.app import FORMS, GROUPS, VERBS, command_line, renamed, with_verb
from testbed.errors import BadInput
from testbed.scenario import files
from tests.raises import raises

HEAVY = {"matplotlib", "scipy", "pyarrow", "docker", "pandas", "numpy", "influxdb"}


def imported(*arguments: str) -> set[str]:
    """The top-level packages that a command has imported when it ends."""
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, sep='\\n', file=sys.stderr)); "
        "from testbed.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=paths.CHECKOUT, capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stderr.splitlines()}


def test_list_reads_files_and_nothing_else() -> None:
    modules = imported("list")
    assert "ruamel" in modules
    assert not modules & HEAVY


def test_a_scenario_in_the_simulator_needs_neither_docker_nor_the_tables_of_sweeps() -> None:
    modules = imported("run", "startup", "--engine", "sim", "--dry-run")
    assert "pydantic" in modules
    assert not modules & {"docker", "scipy", "pyarrow", "pandas"}


def names(verb: str | None) -> list[str | None]:
    """The verbs of a command line, those with verbs of their own last."""
    app = command_line(verb)
    return [*(one.name for one in app.registered_commands), *(one.name for one in app.registered_groups)]


def test_a_path_has_the_name_that_its_folder_has_today(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for former, today in paths.MOVED.items():
        assert (paths.CHECKOUT / today).is_dir()
        inside = next(path.name for path in (paths.CHECKOUT / today).iterdir())
        monkeypatch.chdir(paths.CHECKOUT)
        assert renamed(f"{former}/{inside}") == f"{today}/{inside}"
        assert [renamed(one) for one in (former, f"{former}/none")] == [former, f"{former}/none"]
        monkeypatch.chdir(tmp_path)
        assert renamed(f"{former}/{inside}") == f"{former}/{inside}"


def test_every_verb_is_in_one_group_and_has_a_module_that_registers_it() -> None:
    assert sum(len(verbs) for verbs in GROUPS.values()) + len(FORMS) == len(VERBS)
    assert len(next(iter(GROUPS.values()))) == 5
    assert set(names(None)) == set(VERBS)
    plain = [command.name for command in command_line(None).registered_commands]
    assert plain == [verb for verb in VERBS if verb in plain]
    for verb in VERBS:
        assert verb in names(verb)


def test_the_help_shows_the_daily_verbs_first() -> None:
    shown = CliRunner().invoke(command_line(None), ["--help"]).output
    places = [shown.index(group) for group in GROUPS]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("startup --quick", "run startup --quick"),
        ("run startup", "run startup"),
        ("speed-table --rows 1", "table speed-table --rows 1"),
        ("run speed-table --rows 1", "table speed-table --rows 1"),
        ("run --engine sim --quick speed-table", "table --engine sim --quick speed-table"),
        ("run window-rtt", "sweep window-rtt"),
        ("table speed-table", "table speed-table"),
        ("compare --engines sim,vkernel startup", "cross-check --engines sim,vkernel startup"),
        ("compare startup --engines=sim,vkernel", "cross-check startup --engines=sim,vkernel"),
        ("compare --same-bytes startup --runs 2", "repeatable startup --runs 2"),
        ("compare --scenario startup --engine vkernel a: b:", "compare --scenario startup --engine vkernel a: b:"),
        ("cross-check startup", "cross-check startup"),
        ("list", "list"),
        ("--help", "--help"),
    ],
)
def test_a_name_goes_to_its_verb_with_and_without_run(typed: str, meant: str) -> None:
    assert with_verb(typed.split()) == meant.split()


def test_a_misspelt_verb_is_told() -> None:
    with raises(BadInput, "cli.no-such-verb", near="list"):
        with_verb(["lst"])


def test_a_heading_is_the_plain_values_before_the_first_section(tmp_path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("# mine\nname: mine\ntitle: 'A: title'\nlinks: [{name: a}]\nsource: too late\n")
    assert files.heading(file) == {"name": "mine", "title": "A: title"}
    for broken in ("title: 'open\n", "\tname: x\n"):
        file.write_text(broken)
        with raises(BadInput, "file.not-yaml"):
            files.heading(file)
    file.write_text("only words\n")
    assert files.heading(file) == {}


@pytest.mark.parametrize(
    "path", [*files.scenarios(), *files.links(), *files.tables(), *files.sweeps()], ids=lambda path: path.stem
)
def test_every_shipped_file_begins_with_its_name_and_title(path) -> None:
    assert files.heading(path)["name"] == path.stem
    assert files.heading(path)["title"]
