"""Machines on this one, for tests of what is done to many: each has an address, a file system, processes and an SSH
daemon of its own.

A machine is an init, a shell or systemd, in namespaces of its own. Its file system is this machine's, copied on write
(an overlay), without what the testbed has kept here. Root may log in, and ``someone``, who may do all by sudo. All of
it is gone when the init is. Outside there is the folder that was given, a namespace with the switch that joins the
machines, and this machine's cable to it; and of one with systemd a control group.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

MOST = 8
"""So many machines at once."""
START_S = 60.0
OWN = ("sshd", "/usr/sbin/sshd", "sleep", "/lib/systemd/systemd", "(sd-pam)")
"""How the command lines of a machine's own processes begin."""

INIT = r"""
set -euo pipefail
folder=$1 name=$2 address=$3 systemd=$4 lock=$5
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
cd "$folder/root"
rm -rf opt/ncp-testbed var/lib/ncp-testbed
if [[ -d var/cache/ncp-testbed ]]; then mount -t tmpfs -o mode=755 tmpfs var/cache/ncp-testbed; fi
mount -t proc proc proc
mount -t sysfs sysfs sys
if [[ -d /sys/fs/cgroup ]]; then mount --rbind /sys/fs/cgroup sys/fs/cgroup; fi
mount --bind /dev dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs run
mkdir run/before run/sshd
if [[ $lock ]]; then
    install -D /dev/null run/ncp-testbed/lock
    mount --bind "$lock" run/ncp-testbed/lock
fi
if [[ $systemd ]]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount --bind /dev/null dev/console
    # None of this machine's services, and nothing that sets up a kernel that is not its own.
    rm -rf etc/systemd/system usr/lib/systemd/system/{sysinit,multi-user}.target.wants
    mkdir -p etc/systemd/system/multi-user.target.wants
    echo "$name" >etc/hostname
fi
useradd --root "$PWD" --create-home --password '*' someone
echo 'someone ALL=(ALL) NOPASSWD: ALL' >etc/sudoers.d/someone
cp "$folder/host" run/sshd/host_key
cp "$folder/authorized" run/sshd/authorized
pivot_root . run/before
umount -l /run/before
hostname "$name"
read -r _ # the interface is there
ip link set lo up
ip link set eth0 up
ip address add "$address/24" dev eth0
sshd=(/usr/sbin/sshd -D -e -f /dev/null -o HostKey=/run/sshd/host_key -o AuthorizedKeysFile=/run/sshd/authorized
    -o UsePAM=no -o PasswordAuthentication=no -o PidFile=none -o "Subsystem=sftp internal-sftp" -o MaxStartups=50)
if [[ $systemd ]]; then
    printf '[Service]\nExecStart=%s\n' "${sshd[*]@Q}" >/etc/systemd/system/test-sshd.service
    ln -s ../test-sshd.service /etc/systemd/system/multi-user.target.wants/
    exec env -i container=test PATH="$PATH" /lib/systemd/systemd --system --unit=multi-user.target --show-status=no
fi
"${sshd[@]}" &
while true; do wait -n || sleep 0.2; done # reaps what lost its parent, too
"""


def why_not() -> str:
    """What this machine lacks for it; "" where nothing."""
    lacking = [
        name
        for name in (
            "unshare",
            "ip",
            "ssh",
            "ssh-keygen",
            "/usr/sbin/sshd",
            "pivot_root",
            "sudo",
            "/lib/systemd/systemd",
        )
        if shutil.which(name) is None
    ]
    packages = "openssh-server, openssh-client, iproute2, util-linux, sudo, systemd"
    return f"not here: {', '.join(lacking)} (Debian: {packages})" if lacking else ""


@dataclass
class Machine:
    """One of them while it is on."""

    name: str
    address: str
    folder: Path
    """With its file system's changes in ``upper``; a log of its init and daemon."""
    switch: str
    """The namespace where its cable ends."""
    process: subprocess.Popen[str]
    init: psutil.Process
    group: Path | None
    """The control group of one whose init is systemd."""

    def off(self) -> None:
        """Turn it off as a power cut does."""
        with_it = self.init.children(recursive=True) if self.init.is_running() else []
        self.process.kill()  # and its init with it
        self.process.communicate(timeout=START_S)
        psutil.wait_procs([self.init, *with_it], timeout=START_S)
        if self.group:
            for folder in sorted(self.group.rglob("*/"), reverse=True):
                folder.rmdir()
            self.group.rmdir()

    def unplug(self, *, out: bool = True) -> None:
        """Take its cable out, or put it in again."""
        do("ip", "-n", self.switch, "link", "set", self.name, "down" if out else "up")

    def processes(self) -> list[str]:
        """Command lines of all that runs on it, besides its init, the journal and its SSH daemon."""
        found = []
        for process in self.init.children(recursive=True):
            try:
                found.append(" ".join(process.cmdline()))
            except psutil.NoSuchProcess:
                continue
        return [line for line in found if line and not line.startswith(OWN)]


@dataclass
class Machines:
    """Those of a test. ``key`` lets in, ``known_hosts`` names the machines' own keys."""

    folder: Path
    key: Path
    known_hosts: Path
    each: list[Machine] = field(default_factory=list)

    def ssh_options(self) -> str:
        """Options of ssh by which they are known and no others."""
        return f"-o UserKnownHostsFile={self.known_hosts} -o StrictHostKeyChecking=yes -o ConnectTimeout=5"

    def ssh(
        self, machine: Machine, command: str, given: str = "", *, user: str = "root"
    ) -> subprocess.CompletedProcess[str]:
        """A command on one of them, with ``given`` as its input."""
        options = ["-i", str(self.key), "-o", "BatchMode=yes", *self.ssh_options().split()]
        called = ["ssh", *options, f"{user}@{machine.address}", command]
        return subprocess.run(called, input=given, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def machines(number: int, folder: Path, *, systemd: int = 0, lock: Path | None = None) -> Iterator[Machines]:
    """So many machines, m1, m2, …, at a switch of their own at which this machine is, too; all of it is removed again.

    The last ``systemd`` of them have systemd as init, the others a shell. ``folder`` has to be on a file system that an
    overlay can be kept on (no overlay itself). With ``lock``, a file of this machine, their runs on real packets are in
    turn: they share its cores, and would starve each other.
    """
    assert 1 <= number <= MOST
    switch, network = f"ncpt-{secrets.token_hex(2)}", free_network()
    for name in ("login", *(f"m{i}-host" for i in range(1, number + 1))):
        do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name))
    made = Machines(folder, folder / "login", folder / "known_hosts")
    try:
        join(switch, f"{network}.254")
        for i in range(1, number + 1):
            with_systemd = i > number - systemd
            made.each.append(_started(f"m{i}", f"{network}.{i}", switch, folder, systemd=with_systemd, lock=lock))
        keys = (f"{one.address} {(folder / f'{one.name}-host.pub').read_text()}" for one in made.each)
        made.known_hosts.write_text("".join(keys))
        for one in made.each:
            _wait_for_ssh(one)
        yield made
    finally:
        for one in made.each:
            one.off()
        subprocess.run(["ip", "link", "delete", switch], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "delete", switch], capture_output=True, check=False)
        for path in folder.glob("m*/"):
            shutil.rmtree(path)


def join(switch: str, address: str) -> None:
    """A switch that this machine is at, with that address. In a namespace of its own it knows no packet filter."""
    do("ip", "netns", "add", switch)
    do("ip", "-n", switch, "link", "add", "switch", "type", "bridge")
    do("ip", "-n", switch, "link", "set", "switch", "up")
    do("ip", "link", "add", switch, "type", "veth", "peer", "name", "here", "netns", switch)
    do("ip", "-n", switch, "link", "set", "here", "master", "switch", "up")
    do("ip", "address", "add", f"{address}/24", "dev", switch)
    do("ip", "link", "set", switch, "up")


def _started(name: str, address: str, switch: str, folder: Path, *, systemd: bool, lock: Path | None) -> Machine:
    own = folder / name
    group = _control_groups() / f"{switch}-{name}" if systemd else None
    if group:
        group.mkdir()
    for part in ("upper", "work", "root"):
        (own / part).mkdir(parents=True)
    shutil.copy(folder / f"{name}-host", own / "host")
    shutil.copy(folder / "login.pub", own / "authorized")
    apart = ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child"]
    if group:
        apart = ["bash", "-c", 'echo $$ >"$0/cgroup.procs"; exec "$@"', str(group), *apart]
    with (own / "log").open("w") as log:
        process = subprocess.Popen(
            [
                *apart,
                "bash",
                "-c",
                INIT,
                "init",
                str(own),
                name,
                address,
                "systemd" if systemd else "",
                str(lock or ""),
            ],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        init = _init_of(process)
        cable = ["link", "add", name, "netns", switch, "type", "veth", "peer", "name", "eth0", "netns", str(init.pid)]
        do("ip", *cable)
        do("ip", "-n", switch, "link", "set", name, "master", "switch", "up")
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    except BaseException:
        process.kill()
        process.wait()
        raise
    return Machine(name, address, own, switch, process, init, group)


def _control_groups() -> Path:
    """Where this machine has those of version 2."""
    return next(Path(one.mountpoint) for one in psutil.disk_partitions(all=True) if one.fstype == "cgroup2")


def _init_of(process: subprocess.Popen[str]) -> psutil.Process:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        if children := psutil.Process(process.pid).children():
            return children[0]
        time.sleep(0.02)
    raise RuntimeError(f"the init did not start: unshare ended with {process.poll()}")


def _wait_for_ssh(one: Machine) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((one.address, 22), timeout=1.0) as connection:
                if connection.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{one.name} has no SSH daemon after {START_S:.0f} s: {(one.folder / 'log').read_text()[-500:]}")


def free_network() -> str:
    """The first three numbers of addresses that this machine has not."""
    used = {address.address.rpartition(".")[0] for each in psutil.net_if_addrs().values() for address in each}
    return next(found for number in range(20, 250) if (found := f"10.213.{number}") not in used)


def do(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
