"""A cluster from nothing: three machines with an account for SSH, on one of them not root's and one with systemd,
made a cluster, looked at, taken down again."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed import paths
from testbed.study.hosts.cluster import Cluster
from tests.cluster.machines import Machine, Machines, machines, why_not

pytestmark = [
    pytest.mark.packets,
    pytest.mark.nightly,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for network namespaces"),
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]

LEFT = "ls -d /opt/ncp-testbed /var/lib/ncp-testbed /etc/systemd/system/ncp-testbed-* 2>/dev/null"


@dataclass
class Site:
    """The machines, and a clone with a state of its own that a cluster is made from."""

    machines: Machines
    clone: Path
    inventory: Path
    state: Path

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """``./run.sh cluster …``, with the environment that these tests run in."""
        environment = {**os.environ, "PYTHONPATH": str(self.clone), "NCP_TESTBED_STATE": str(self.state)}
        return subprocess.run(
            [sys.executable, "-m", "testbed", "cluster", *arguments],
            cwd=self.clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=3600,
            check=False,
        )

    def write_inventory(self, **more: str) -> None:
        """The machines, and hosts that there are not."""
        hosts = {one.name: {"ansible_host": one.address} for one in self.machines.each}
        hosts["m2"]["ansible_user"] = "someone"
        every = {
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.machines.key),
            "ansible_ssh_common_args": self.machines.ssh_options(),
            "ncp_testbed_cores": 1,
        }
        hosts |= {name: {"ansible_host": address} for name, address in more.items()}
        self.inventory.write_text(json.dumps({"all": {"vars": every, "hosts": hosts}}))

    def left(self, machine: Machine) -> str:
        """What of the testbed is on a machine: files and processes."""
        return self.machines.ssh(machine, LEFT).stdout + "\n".join(machine.processes())


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="ncp-cluster-", dir="/var/tmp"))
    try:
        clone = folder / "clone"
        subprocess.run(["git", "clone", "--quiet", str(paths.CHECKOUT), str(clone)], check=True)
        with machines(3, folder, systemd=1) as made:
            yield Site(made, clone, folder / "hosts.json", folder / "state")
    finally:
        shutil.rmtree(folder)


def test_a_cluster_is_made_looked_at_and_taken_down(site: Site) -> None:
    site.write_inventory()
    first = site.call("up", str(site.inventory))
    assert first.returncode == 0, first.stderr
    assert "3 hosts, 3 cores" in first.stdout

    cluster = Cluster.model_validate_json((site.state / "cluster/cluster.json").read_text())
    assert [host.name for host in cluster.hosts] == ["m1", "m2", "m3"]
    assert cluster.scheduler == f"tls://{site.machines.each[0].address}:8786"
    assert all(host.can.sim for host in cluster.hosts)
    secret = [
        path for path in (site.state / "cluster").rglob("*") if path.suffix == ".key" or path.name == "cluster.json"
    ]
    assert secret
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}

    status = site.call("status")
    assert status.returncode == 0, status.stdout + status.stderr
    assert [line.split()[0] for line in status.stdout.splitlines()] == ["host", "m1", "m2", "m3", "scheduler"]

    again = site.call("up", str(site.inventory))
    assert again.returncode == 0, again.stderr
    assert "tasks that changed something: 0" in again.stdout

    # A file of the testbed that was changed on a host: told, and put right by the next pass.
    last = site.machines.each[2]
    touched = f"/opt/ncp-testbed/{cluster.commit}/README.md"
    assert site.machines.ssh(last, f"echo changed >> {touched}").returncode == 0
    mended = site.call("up", str(site.inventory))
    assert mended.returncode == 0, mended.stderr
    assert "tasks that changed something: 0" not in mended.stdout
    assert site.machines.ssh(last, f"tail -n 1 {touched}").stdout != "changed\n"

    last.unplug()
    status = site.call("status")
    assert "m1" in status.stdout
    last.unplug(out=False)

    down = site.call("down")
    assert down.returncode == 0, down.stderr
    assert [site.left(one) for one in site.machines.each] == ["", "", ""]
    assert not (site.state / "cluster").exists()
    assert "there is no cluster" in site.call("status").stderr


def test_a_host_that_cannot_be_reached_is_named_and_the_others_go_on_if_asked(site: Site) -> None:
    nobody = site.machines.each[0].address.rpartition(".")[0] + ".99"
    site.write_inventory(m9=nobody)
    refused = site.call("up", str(site.inventory))
    assert refused.returncode == 4
    assert "m9: " in refused.stderr
    made = site.call("up", "--keep-going", str(site.inventory))
    assert made.returncode == 0, made.stderr
    assert "left out: m9: " in made.stdout
    assert "3 hosts" in made.stdout
    assert site.call("down").returncode == 4  # m9 may have something
    assert site.call("down", "--keep-going").returncode == 0
    assert [site.left(one) for one in site.machines.each] == ["", "", ""]
