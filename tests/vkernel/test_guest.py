"""What goes into a guest and what comes out, with either kernel."""

import os
from pathlib import Path

import pytest

from testbed.engines.vkernel import guest
from testbed.errors import RunFailed
from testbed.machine import guest_kernel as kernel
from testbed.machine.guest_kernel import Kernel
from tests.conftest import GUEST_LIMIT_S
from tests.raises import raises


@pytest.fixture(params=["with virtual time", "Debian's"])
def either_kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    if request.param == "with virtual time":
        found: Kernel = request.getfixturevalue("exact_kernel")
        return found
    if kernel.stock() is None:
        pytest.skip("user-mode-linux is not installed, or no gcc for its shim")
    monkeypatch.setattr(kernel, "built", lambda: None)
    return kernel.chosen()


def boot(kernel: Kernel, folder: Path, command: str, seed: int = 1, limit_s: float = GUEST_LIMIT_S) -> guest.Ended:
    (folder / "job").mkdir(parents=True, exist_ok=True)
    (folder / "out").mkdir(exist_ok=True)
    return guest.boot(
        kernel,
        folder / "job",
        f"{guest.ENVIRONMENT} bash -c '{command}'",
        out=folder / "out",
        seed=seed,
        limit_s=limit_s,
    )


def test_results_come_out_and_nothing_else_is_touched(either_kernel: Kernel, tmp_path: Path) -> None:
    told = (
        "mkdir -p /results/run && id -u > /results/run/user; pwd; touch /checkout/x /usr/x; ls /home /root /tmp; exit 7"
    )
    ended = boot(either_kernel, tmp_path, told)
    assert ended.code == 7
    assert (tmp_path / "out" / "user").read_text() == "0\n"
    said = (tmp_path / "job" / "stderr").read_text()
    assert said.count("Read-only file system") == 2
    stdout = (tmp_path / "job" / "stdout").read_text().split()
    assert stdout == ["/results", "/home:", "/root:", "/tmp:"], "this machine's users have no files there"
    assert not [path for path in tmp_path.rglob("*") if path.is_symlink()], "a result leads nowhere on this machine"


def test_it_is_another_kernel_with_netem_and_what_goes_with_it(either_kernel: Kernel, tmp_path: Path) -> None:
    ask = (
        "import os, sys; from topologies.capabilities import has_netem, kernel_has; "
        "print(os.uname().release, has_netem(), *map(kernel_has, sys.argv[1:]))"
    )
    ended = boot(either_kernel, tmp_path, f'/checkout/.venv/bin/python -c "{ask}" htb codel nonesuch')
    assert ended.code == 0, (tmp_path / "job" / "stderr").read_text()
    release, *has = (tmp_path / "job" / "stdout").read_text().split()
    assert release != Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert has == ["True", "True", "True", "False"]


def test_a_guest_that_takes_too_long_is_ended(exact_kernel: Kernel, tmp_path: Path) -> None:
    with raises(RunFailed, "vkernel.timeout", limit_s=4):
        boot(exact_kernel, tmp_path, "while read -t 0.01 x </dev/zero; do :; done; while :; do :; done", limit_s=4)


def test_virtual_time_does_not_wait(exact_kernel: Kernel, tmp_path: Path) -> None:
    ended = boot(exact_kernel, tmp_path, "sleep 3600")
    assert ended.uptime_s >= 3600 > 10 * ended.wall_s


def test_everything_of_chance_and_time_is_the_seeds(exact_kernel: Kernel, tmp_path: Path) -> None:
    ask = 'date +%s.%N; cat /proc/sys/kernel/random/uuid; python3 -c "import os; print(os.urandom(8), id(os))"'
    said = {}
    for place, seed in (("a", 1), ("a/much/deeper/down", 1), ("other", 2)):
        boot(exact_kernel, tmp_path / place, ask, seed=seed)
        said[place] = (tmp_path / place / "job" / "stdout").read_text().splitlines()
    assert len(said["a"]) == 3
    assert said["a"] == said["a/much/deeper/down"]
    assert said["a"][1] != said["other"][1]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to others")
def test_whose_files_they_are_does_not_show(exact_kernel: Kernel, tmp_path: Path) -> None:
    # Python takes more memory to hold another owner than 0, and the page that it gets takes time.
    (tmp_path / "job").mkdir()
    for name in ("mine", "theirs"):
        (tmp_path / "job" / name).touch()
    os.chown(tmp_path / "job" / "theirs", 12345, 12346)
    boot(exact_kernel, tmp_path, "stat -c %u:%g /job/mine /job/theirs")
    assert (tmp_path / "job" / "stdout").read_text().split() == ["0:0", "0:0"]
