"""The machines that the tests of clusters run on."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cluster import machines
from tests.emulation.conftest import left_behind

pytestmark = [
    pytest.mark.packets,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for network namespaces"),
    pytest.mark.skipif(bool(machines.why_not()), reason=machines.why_not()),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not in /tmp's own file system where that is kept in memory: an overlay's changes are many."""
    path = Path(tempfile.mkdtemp(prefix="ncp-machines-", dir="/var/tmp"))
    yield path
    shutil.rmtree(path)


def interfaces() -> set[str]:
    return set(psutil.net_if_addrs())


def test_each_has_its_own_address_files_and_processes(folder: Path) -> None:
    before = interfaces()
    with machines.machines(2, folder) as made:
        first, second = made.each
        assert made.ssh(first, "hostname").stdout == "m1\n"
        assert made.ssh(first, f"ping -c 1 -W 5 {second.address}").returncode == 0
        assert made.ssh(first, "touch /etc/of-the-first; ls /etc/of-the-first").returncode == 0
        assert made.ssh(second, "ls /etc/of-the-first").returncode != 0
        assert not Path("/etc/of-the-first").exists()
        assert int(made.ssh(second, "ls -d /proc/[0-9]* | wc -l").stdout) < 20
        assert made.ssh(first, "ls /opt/ncp-testbed /var/lib/ncp-testbed").returncode != 0
        assert made.ssh(second, "id -un; sudo -n id -un", user="someone").stdout == "someone\nroot\n"
        first.unplug()
        assert made.ssh(second, f"ping -c 1 -W 1 {first.address}").returncode != 0
        first.unplug(out=False)
        assert made.ssh(second, f"ping -c 1 -W 5 {first.address}").returncode == 0
    assert left_behind(before, interfaces) == set()
    assert not list(folder.glob("m*/"))
    mounted = subprocess.run(["mount"], capture_output=True, text=True, check=True).stdout
    assert str(folder) not in mounted
