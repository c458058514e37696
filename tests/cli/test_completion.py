"""Tab: what the words are completed to, and that the shells' scripts bring it there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed import paths
from testbed.cli.completion import complete

RUN_SH = paths.CHECKOUT / "run.sh"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    for run in ("20261122-000000-aaaa", "20261123-000000-bbbb"):
        (tmp_path / "results" / "startup" / run).mkdir(parents=True)
    (tmp_path / "results" / "startup" / "latest").symlink_to("20261123-000000-bbbb")
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sta", {"star", "startup", "startup-far"}),
        ("ver", {"verify"}),
        ("--", {"--help"}),
        ("startup --qu", {"--quick"}),
        ("run startup --engine ", {"mininet", "sim", "vkernel"}),
        ("startup --engine=v", {"--engine=vkernel"}),
        ("startup --link ", {"auto", "netem", "relay"}),
        ("startup --set po", {"policy="}),
        ("startup --set links.fast.", {"links.fast.name=", "links.fast.rate=", "links.fast.delay="}),
        ("run --set policy=previous st", {"star", "startup", "startup-far"}),
        ("speed-table --ro", {"--rows"}),
        ("table ini", {"initcwnd", "initcwnd-variants", "initial-burst", "initial-rwnd"}),
        ("sweep win", {"window-rtt"}),
        ("graph dumb", {"dumbbell"}),
        ("bench ", {"links", "ncp", "overlay", "sim", "telemetry"}),
        ("cluster ", {"down", "manifest", "status", "up"}),
        ("cluster up --ch", {"--check"}),
        ("startup --seed ", set()),
        ("no-such-thing ", set()),
        ("list x", set()),
    ],
)
def test_what_is_offered(typed: str, offered: set[str]) -> None:
    assert set(complete(typed.split(" "))) == offered


def test_runs_and_result_folders_are_offered(results: Path) -> None:
    assert complete(["run", "startup", "--resume", ""]) == ["20261122-000000-aaaa", "20261123-000000-bbbb", "latest"]
    assert complete(["verify", f"{results}/startup/l"]) == [f"{results}/startup/latest"]


def test_the_shell_offers_files_of_ones_own(tmp_path: Path) -> None:
    """It does where nothing else is offered."""
    (tmp_path / "mine.yaml").touch()
    for before in (["run"], ["table"], ["import"], ["run", "startup", "--hosts"]):
        assert complete([*before, f"{tmp_path}/"]) == []


IN_BASH = """
set -u
source <("$1" completion bash)
COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
compopt() { :; }
_ncp_testbed "$1"
printf '%s\\n' "${COMPREPLY[@]}"
complete -p run.sh
"""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["run.sh", "sta"], ["star", "startup", "startup-far"]),
        (["run.sh", "startup", "--engine", "=", "s"], ["sim"]),
        (["run.sh", "startup", "--set", "links.slow.d"], ["links.slow.delay="]),
    ],
)
def test_bash_completes(words: list[str], offered: list[str]) -> None:
    done = subprocess.run(
        ["bash", "-c", IN_BASH, "bash", str(RUN_SH), *words], capture_output=True, text=True, check=True, cwd="/"
    )
    *replies, registered = done.stdout.splitlines()
    assert replies == offered
    assert registered.startswith("complete -o default ")
    assert registered.endswith("run.sh")


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        ("fish", 'source (RUN completion fish | psub); complete -C "RUN speed-table --col"'),
        ("zsh", "source <(RUN completion zsh); (( $+functions[_ncp_testbed] )) && print -- --columns"),
    ],
)
def test_other_shells_take_their_script(shell: str, script: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"a shell is not here: {shell}")
    command = [shell, "-c", script.replace("RUN", str(RUN_SH))]
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["--columns"]
    assert not done.stderr


def test_tab_sets_nothing_up(tmp_path: Path) -> None:
    """A checkout without its environment offers nothing, at once."""
    shutil.copy(RUN_SH, tmp_path)
    script = (paths.CHECKOUT / "tests" / "cli" / "no_set_up.sh").read_text()
    done = subprocess.run(
        ["bash", "-c", script, "bash", str(RUN_SH), str(tmp_path / "run.sh")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0\n"
    assert not (tmp_path / ".venv").exists()
