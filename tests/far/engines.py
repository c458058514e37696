"""Machines with a Docker engine each, on this one (tests/cluster/machines.py), and an inventory of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from testbed import paths
from tests.cluster import machines as plain
from tests.cluster.machines import Machine, Machines
from topologies.link import resolve_link
from topologies.relay_middle import links_only_plan
from topologies.units import Rate

RELAY = paths.BINARIES / "ncp-link"
START = (
    "setsid --fork dockerd --data-root /tmp/docker --exec-root /run/docker --pidfile /run/docker.pid --bridge=none "
    "--iptables=false --ip6tables=false -H unix:///var/run/docker.sock >/tmp/dockerd.log 2>&1 </dev/null"
)
READY = "docker version"
START_S = 40.0


def why_not() -> str:
    """What this machine lacks for it; "" where nothing."""
    return plain.why_not() or ("" if shutil.which("dockerd") else "not here: dockerd")


@contextmanager
def machines(number: int, folder: Path) -> Iterator[tuple[Machines, Path]]:
    """So many machines, and the inventory that names them."""
    with plain.machines(number, folder) as made:
        for one in made.each:
            said = made.ssh(one, START)
            assert said.returncode == 0, said.stderr
        for one in made.each:
            _wait_for_engine(made, one)
        inventory = folder / "inventory.yml"
        inventory.write_text(json.dumps({"all": {"hosts": {one.name: _variables(made, one) for one in made.each}}}))
        yield made, inventory


def _variables(made: Machines, one: Machine) -> dict[str, str]:
    return {
        "ansible_host": one.address,
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(made.key),
        "ansible_ssh_common_args": made.ssh_options(),
    }


def _wait_for_engine(made: Machines, one: Machine) -> None:
    deadline = time.monotonic() + START_S
    while made.ssh(one, READY).returncode:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{one.name} has no engine: {made.ssh(one, 'tail -n 5 /tmp/dockerd.log').stdout}")
        time.sleep(0.2)


def reboot(made: Machines, one: Machine) -> None:
    """All that a power cut does but to the kernel: no process is left but its own, nor what was in memory; the engine
    starts again with its disk."""
    kept = [child.pid for child in one.init.children() if "sshd" in child.name() or child.name() == "sleep"]
    for process in one.init.children(recursive=True):
        if process.pid not in kept:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    forgets = (
        "awk '$2 ~ \"^/(run|tmp)/docker/\" {print $2}' /proc/mounts | sort -r | xargs -r umount -l; "
        "rm -rf /run/docker /run/docker.pid /run/ncp-testbed-far"
    )
    assert made.ssh(one, f"{forgets}; {START}").returncode == 0
    _wait_for_engine(made, one)


@contextmanager
def full(made: Machines, one: Machine) -> Iterator[None]:
    """Its /run, where a run's folder is, has 64 KiB left."""
    used = "$(( $(df --output=used -k /run | tail -n 1) + 64 ))k"
    assert made.ssh(one, f"mount -o remount,size={used} /run").returncode == 0
    try:
        yield
    finally:
        assert made.ssh(one, "mount -o remount,size=50% /run").returncode == 0


@contextmanager
def longer(
    made: Machines, one: Machine, delay_ms: float, *, loss: float = 0.0, jitter_ms: float = 0.0
) -> Iterator[None]:
    """Put a way of so long between a machine and the switch, by the relay in the switch's namespace."""
    inner, outer = f"x{one.name}", f"y{one.name}"
    link = resolve_link(1, f"way to {one.name}", "a", "b", Rate(bps=1e9), delay_ms=delay_ms, loss=loss)
    if jitter_ms:
        link["jitter_ms"] = jitter_ms
    link["a"]["middle_interface"], link["b"]["middle_interface"] = one.name, inner
    at = ["ip", "-n", one.switch]
    plain.do(*at, "link", "set", one.name, "nomaster")
    plain.do(*at, "link", "add", inner, "type", "veth", "peer", "name", outer)
    plain.do(*at, "link", "set", inner, "up")
    plain.do(*at, "link", "set", outer, "master", "switch", "up")
    # What is left to hardware would go through the relay unfinished.
    off = ["tx", "off", "gso", "off", "tso", "off", "gro", "off"]
    for interface in (one.name, inner, outer):
        plain.do("ip", "netns", "exec", one.switch, "ethtool", "-K", interface, *off)
    plain.do("ethtool", "-K", one.switch, *off)
    plain.do("nsenter", f"--net=/proc/{one.init.pid}/ns/net", "ethtool", "-K", "eth0", *off)
    folder = one.folder / "way"
    folder.mkdir()
    plan = links_only_plan(folder, [link])
    relay = subprocess.Popen(
        ["ip", "netns", "exec", one.switch, str(RELAY), "relay", "--plan", str(plan), "--dir", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert relay.stdout is not None
        assert relay.stdout.readline().strip() == "ready"
        yield
    finally:
        relay.terminate()
        relay.communicate(timeout=10)
        plain.do(*at, "link", "delete", inner)
        plain.do(*at, "link", "set", one.name, "master", "switch")
        shutil.rmtree(folder)
