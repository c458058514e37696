"""run.sh: how it starts the command line, and what it says when this machine is not set up."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed import paths
from testbed.machine import packages

SHOW = """\
import os, sys
print(*sys.argv[1:], sep="|")
print(os.getcwd())
print(os.environ.get("NCP_TESTBED_NO_SETUP"))
print(os.environ["HOME"])
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """run.sh, locks and playbooks, with a command line that shows how it was called; no environment yet."""
    copy = tmp_path / "check out"  # a space, as in many a home folder
    copy.mkdir()
    for name in ("run.sh", "pyproject.toml", "uv.lock"):
        shutil.copy2(paths.CHECKOUT / name, copy)
    shutil.copytree(paths.CHECKOUT / "playbooks", copy / "playbooks")
    (copy / "testbed" / "doctor").mkdir(parents=True)
    (copy / "testbed" / "__init__.py").touch()
    shutil.copy2(packages.__file__, copy / "testbed" / "doctor")
    (copy / "testbed" / "__main__.py").write_text(SHOW)
    return copy


@pytest.fixture
def ready(checkout: Path) -> Path:
    """The same with the environment that these tests run in."""
    (checkout / ".venv").symlink_to(paths.CHECKOUT / ".venv")
    return checkout


def call(
    program: Path, *arguments: str, cwd: Path | None = None, settings: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("NCP_TESTBED_NO_SETUP", "PYTHONPATH")}
    return subprocess.run(
        [str(program), *arguments],
        cwd=cwd or program.parent,
        env=environment | (settings or {}),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=200,
    )


def test_arguments_and_folder_reach_the_command_line(ready: Path, tmp_path: Path) -> None:
    done = call(ready / "run.sh", "show", "a b", "", "--set=x=*", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:3] == ["show|a b||--set=x=*", str(tmp_path), "None"]


def test_it_works_through_a_symbolic_link(ready: Path, tmp_path: Path) -> None:
    link = tmp_path / "ncp"
    link.symlink_to(ready / "run.sh")
    assert call(link, "list", cwd=tmp_path).stdout.startswith("list\n")


def test_whatever_the_locale_output_is_utf_8(ready: Path) -> None:
    for settings in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "POSIX", "LANG": "C"}):
        assert call(ready / "run.sh", "±", settings=settings).stdout.startswith("±\n")


def test_no_setup_is_told_to_the_command_line_wherever_it_stands(ready: Path) -> None:
    for arguments in (("--no-setup", "run", "startup"), ("run", "startup", "--no-setup")):
        assert call(ready / "run.sh", *arguments).stdout.splitlines()[:3:2] == ["run|startup", "1"]


def test_without_a_home_folder_caches_go_into_the_checkout(ready: Path, tmp_path: Path) -> None:
    done = call(ready / "run.sh", "list", settings={"HOME": str(tmp_path / "none")})
    own = str(ready / ".build" / "home")
    assert done.stdout.splitlines()[-1] == own
    assert len(done.stderr.splitlines()) == 1
    assert str(tmp_path / "none") in done.stderr
    assert own in done.stderr


def test_a_home_folder_is_left_as_it_is(ready: Path, tmp_path: Path) -> None:
    done = call(ready / "run.sh", "list", settings={"HOME": str(tmp_path)})
    assert (done.stdout.splitlines()[-1], done.stderr) == (str(tmp_path), "")


def test_no_setup_names_what_is_missing_and_changes_nothing(checkout: Path) -> None:
    before = sorted(checkout.rglob("*"))
    done = call(checkout / "run.sh", "list", "--no-setup")
    assert done.returncode == 4
    assert str(checkout / ".venv") in done.stderr
    assert "uv.lock" in done.stderr
    assert "--no-setup" in done.stderr
    assert done.stdout == ""
    assert sorted(checkout.rglob("*")) == before


@pytest.mark.parametrize("file", ["uv.lock", "playbooks/files/uv.txt"])
def test_a_changed_lock_makes_the_environment_out_of_date(ready: Path, file: str) -> None:
    with (ready / file).open("a") as lock:
        lock.write("# changed\n")
    assert call(ready / "run.sh", "list", "--no-setup").returncode == 4


def test_an_unreachable_registry_is_one_message_with_the_log(checkout: Path) -> None:
    # Port 9 of the loopback address: nothing listens there, so the answer comes at once.
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_FIND_LINKS": "", "PIP_NO_CACHE_DIR": "1"}
    done = call(checkout / "run.sh", "list", settings=nowhere)
    assert done.returncode == 4
    last = done.stderr.splitlines()[-1]
    assert '"uv" failed' in last
    assert "registry could not be reached" in last
    log = checkout / ".build" / "setup.log"
    assert last.endswith(f"Log: {log}")
    assert "127.0.0.1" in log.read_text()
    assert not (checkout / ".venv" / "stamp").exists()
