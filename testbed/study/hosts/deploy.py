"""``cluster up`` and ``cluster down``: playbooks over the hosts of an inventory, and the cluster's file.

Hosts need to reach neither a forge nor a registry: the commit goes along as a bundle, the packages as wheels, the Go
programs and the guest kernel as they were built here.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.errors import CannotRun
from testbed.judge.history import git
from testbed.machine import guest_kernel, make_ready, packages
from testbed.machine import inventory as inventories
from testbed.machine.build import build_programs
from testbed.machine.provisioning import LOG, Played, play
from testbed.message import Lines
from testbed.runtime.progress import Progress
from testbed.study.hosts import cluster as clusters
from testbed.study.hosts import fitness
from testbed.study.hosts.cluster import Can, Cluster, Host, Ssh

PORT = 8786
"""The scheduler's."""
TIME_LIMIT_S = 3600.0
REAL = ("containers", "processes")
"""What runs on real packets are made in."""
INVENTORY = "inventory.json"
"""Beside the cluster's file, the hosts with all their variables, by which ``down`` finds them again; also where ``up``
failed. It tells how to log in, so only its owner may read it."""
COMMIT = "commit"


@dataclass(frozen=True)
class Deployed:
    """What became of the hosts. ``off`` says of each that is left out why."""

    cluster: Cluster | None
    """None where nothing was to be done, but only told (``check``)."""
    changed: int
    """Tasks that changed something, on all hosts."""
    off: dict[str, str]


def up(file: Path, progress: Progress, *, go_on: bool = False, check: bool = False) -> Deployed:
    """Have the same testbed on all hosts, with scheduler and workers on, and write the cluster's file.

    Args:
        file: an Ansible inventory.
        go_on: without the hosts that can't be reached, differ or fail.
        check: only tell what would be done.

    Raises:
        BadInput: the inventory is wrong.
        CannotRun: a host can't be reached, differs or fails, and is named; or there is none left.
    """
    inventory = inventories.read(file)
    make_ready(progress, "cluster")
    own = clusters.file().parent
    own.mkdir(parents=True, exist_ok=True, mode=0o700)
    pushed = own / "push"
    commit, wheels = _prepare(pushed, progress)
    _refuse_another(own, inventory, commit)
    kernel = guest_kernel.built()
    (own / "tls").mkdir(exist_ok=True, mode=0o700)
    told = pushed / "hosts"
    shutil.rmtree(told, ignore_errors=True)
    told.mkdir()
    variables = {
        "commit": commit,
        "push": str(pushed),
        "wheels": str(wheels),
        "own": str(own),
        "programs": str(paths.BINARIES),
        "kernel": str(kernel or ""),
        "expected": fitness.versions(),
        "port": PORT,
        "wanted_scheduler": inventory.scheduler,
    }
    hosts_file = pushed / INVENTORY if check else own / INVENTORY
    inventory.write(hosts_file)
    if not check:
        (own / COMMIT).write_text(commit)
    arguments = ["--check"] if check else []
    played = _play("cluster.yml", hosts_file, variables, progress, arguments, all_or_none=not go_on)
    off = _off(played)
    changed = sum(recap.changed for recap in played.hosts.values())
    if off and not go_on:
        raise CannotRun(
            "cluster.hosts-failed",
            "{hosts}",
            "--keep-going makes the cluster without them. Log: {log}",
            hosts=_told(off),
            log=LOG,
        )
    if played.code and not off:
        raise _failed(played)
    if check:
        return Deployed(None, changed, off)
    hosts = [json.loads((told / f"{name}.json").read_text()) for name in inventory.hosts if name not in off]
    if not hosts:
        raise CannotRun("cluster.no-host-left", "{hosts}", "No host is left. Log: {log}", hosts=_told(off), log=LOG)
    cluster = _cluster(commit, own, hosts)
    clusters.write(cluster)
    return Deployed(cluster, changed, off)


def down(progress: Progress, *, go_on: bool = False) -> int:
    """Stop the services on all hosts, remove what ``up`` put there, be it half done, then the cluster's own files here.

    Returns how many tasks changed something.

    Raises:
        CannotRun: there is no cluster; or some hosts could not be cleaned: all stays as it is here, to try again,
            unless ``go_on``.
    """
    own = clusters.file().parent
    inventory, authority = own / INVENTORY, own / "tls" / "ca.crt"
    if not inventory.exists():
        clusters.read()  # which says that there is none
        raise CannotRun(
            "cluster.no-inventory", "{inventory} does not exist, so the hosts are not known", inventory=inventory
        )
    variables = {
        "commit": (own / COMMIT).read_text(),
        "authority": fitness.sha256(authority) if authority.exists() else "",
    }
    played = _play("cluster-down.yml", inventory, variables, progress, [])
    if (off := _off(played)) and not go_on:
        raise CannotRun(
            "cluster.hosts-not-cleaned",
            "{hosts}",
            "They still have what `cluster up` put there: try again, or give them up with --keep-going. Log: {log}",
            hosts=_told(off),
            log=LOG,
        )
    if not played.hosts:
        raise _failed(played)
    shutil.rmtree(own)
    return sum(recap.changed for recap in played.hosts.values())


def _play(
    playbook: str,
    inventory: Path,
    variables: dict[str, Any],
    progress: Progress,
    more: list[str],
    *,
    all_or_none: bool = False,
) -> Played:
    arguments = ["-i", str(inventory), "-e", json.dumps(variables), *more]
    return play(progress, playbook, arguments, TIME_LIMIT_S, all_or_none=all_or_none)


def _off(played: Played) -> dict[str, str]:
    """Hosts that were not reached, or failed, with the last thing that was said of each."""
    off = {}
    for name, recap in played.hosts.items():
        if recap.unreachable or recap.failed:
            said = [failure.said for failure in played.errors if failure.host == name]
            off[name] = said[-1] if said else "failed"
    return off


def _told(off: dict[str, str]) -> Lines:
    return Lines(f"{name}: {reason}" for name, reason in off.items())


def _failed(played: Played) -> CannotRun:
    """The playbook failed, and on no host."""
    said = Lines(played.errors) or f"ansible-playbook ended with {played.code}"
    return CannotRun("cluster.playbook-failed", "{said}", "Log: {log}", said=said, log=LOG)


def _refuse_another(own: Path, inventory: inventories.Inventory, commit: str) -> None:
    """A cluster of another commit, or with other hosts, is taken down first: else it would be left on the hosts."""
    if not (own / COMMIT).exists():
        return
    there, hosts = (own / COMMIT).read_text(), inventories.names(own / INVENTORY)
    gone = sorted(hosts - set(inventory.hosts))
    if there != commit or gone:
        what = f"of commit {there[:12]}" if there != commit else f"with {', '.join(gone)}"
        raise CannotRun(
            "cluster.exists",
            "there is a cluster {what} already",
            "Take it down first: ./run.sh cluster down",
            what=what,
        )


def _cluster(commit: str, own: Path, hosts: list[dict[str, Any]]) -> Cluster:
    tls = own / "tls"
    return Cluster(
        commit=commit,
        scheduler=hosts[0]["scheduler"],
        ca=tls / "ca.crt",
        cert=tls / "submitter.crt",
        key=tls / "submitter.key",
        hosts=[_host(told) for told in hosts],
    )


def _host(told: dict[str, Any]) -> Host:
    can, why_not = dict(told["versions"]["can"]), dict(told["versions"]["why_not"])
    if not told["real_packets"]:
        for name in REAL:
            can[name], why_not[name] = False, "the inventory says ncp_testbed_real_packets: false"
    key = Path(told["key"]) if told["key"] else None
    return Host(
        name=told["name"],
        address=told["address"],
        ssh=Ssh(port=told["port"], user=told["user"], key=key),
        cores=told["cores"],
        can=Can(**can),
        why_not=why_not,
    )


def _prepare(folder: Path, progress: Progress) -> tuple[str, Path]:
    """Make a bundle of the commit in ``folder``, an archive of wheels in this user's cache, and the Go programs.

    Returns commit and archive.

    Raises:
        CannotRun: files of the checkout are changed, so that the hosts would not run what is here; or the registry of
            packages can't be reached.
    """
    own, bundle, wheels = head_commit(), folder / "commit.bundle", _cached_wheels()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with progress.step("bundle of the commit") as step:
        _git("bundle", "create", "--quiet", str(bundle), "HEAD")
        step.note = f"{own[:12]}, {bundle.stat().st_size / 2**20:.1f} MiB"
    with progress.step("wheels of the packages") as step:
        if not wheels.exists():
            _fetch(wheels)
        step.note = f"{wheels.stat().st_size / 2**20:.0f} MiB"
    with progress.step("Go programs"):
        build_programs()
    return own, wheels


def head_commit() -> str:
    """The checkout's, by its full name; raises :class:`CannotRun` where files of it are changed."""
    if changed := _git("status", "--porcelain", "--untracked-files=no"):
        names = ", ".join(line.split()[-1] for line in changed.splitlines()[:3])
        raise CannotRun(
            "cluster.uncommitted-changes",
            "the checkout has uncommitted changes ({names}), and hosts get a commit",
            "Commit them.",
            names=names,
        )
    return _git("rev-parse", "HEAD")


def _cached_wheels() -> Path:
    """Where the archive for these locks and this Python is, or will be."""
    wanted = hashlib.sha256(sys.version.encode())
    for lock in (packages.OF_UV, packages.LOCK):
        wanted.update(lock.read_bytes())
    return guest_kernel.own_cache() / "wheels" / f"{wanted.hexdigest()[:16]}.tar"


def _fetch(archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    options = ["--only-binary", ":all:", "--require-hashes", "--disable-pip-version-check", "--retries", "2"]
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        wanted, fetched, packed = Path(folder, "packages.txt"), Path(folder, "wheels"), Path(folder, "wheels.tar")
        wanted.write_text(packages.export(*fitness.GROUPS, hashes=True))
        options += ["--requirement", str(packages.OF_UV), "--requirement", str(wanted)]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(fetched), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotRun(
                "cluster.packages-not-fetched",
                "the packages could not be fetched: {stderr}",
                stderr=done.stderr.strip()[-300:],
            )
        with tarfile.open(packed, "w") as opened:
            opened.add(fetched, arcname="wheels")
        packed.rename(archive)


def _git(*arguments: str) -> str:
    """Git's answer about this checkout; raises :class:`CannotRun` where it is none of Git's."""
    done = git(*arguments)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise CannotRun(
            "cluster.git-failed",
            "git {verb}: {said}",
            "A cluster is made from a clone with Git.",
            verb=arguments[0],
            said=said,
        )
    return done.stdout.decode().strip()
