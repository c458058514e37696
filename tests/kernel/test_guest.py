"""The guest itself: what goes in, what comes out, and what it can't touch."""

from pathlib import Path

import pytest

from testbed import paths
from tests.kernel.guest import run_in_guest

pytestmark = pytest.mark.usefixtures("guest_available")


def test_a_command_runs_in_another_kernel(tmp_path: Path) -> None:
    ended = run_in_guest(tmp_path, "sh", "-c", "uname -r; echo 'to stderr' >&2; exit 7")
    assert ended.code == 7
    assert ended.stderr == "to stderr\n"
    assert ended.stdout.strip() != Path("/proc/sys/kernel/osrelease").read_text().strip()


def test_it_has_netem_and_what_goes_with_it(tmp_path: Path) -> None:
    ask = (
        "from topologies.capabilities import has_netem, kernel_has; "
        "print(has_netem(), kernel_has('htb'), kernel_has('codel'), kernel_has('nonesuch'))"
    )
    ended = run_in_guest(tmp_path, "env", f"PYTHONPATH={paths.CHECKOUT}", "python3", "-B", "-c", ask)
    assert ended.stdout.split() == ["True", "True", "True", "False"], ended.stderr


@pytest.mark.parametrize("writable", [False, True])
def test_it_changes_nothing_here_but_the_shared_folder(tmp_path: Path, writable: bool) -> None:
    shared, other = tmp_path / "shared", Path.cwd() / "written-by-a-guest"
    shared.mkdir()
    ended = run_in_guest(
        shared, "sh", "-c", f"echo kept > {shared}/kept; echo gone > {other}; cat {other}", writable=writable
    )
    assert (shared / "kept").read_text() == "kept\n"
    assert not other.exists()
    assert ("gone" in ended.stdout) == writable


def test_a_guest_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    assert run_in_guest(tmp_path, "sleep", "600", limit_s=6).code == 124
