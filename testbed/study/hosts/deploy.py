"""``cluster up`` and ``cluster down``: playbooks over the hosts of an inventory, and the cluster's file.

Hosts need to reach neither a forge nor a registry: the commit goes along as a bundle, the packages as wheels, the Go
programs and the guest kernel as they were built here.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.errors import CannotRun
from testbed.judge.history import git
from testbed.machine import guest_kernel, packages
from testbed.machine import inventory as inventories
from testbed.machine.build import build_programs
from testbed.machine.provisioning import LOG, make_ready, play
from testbed.message import Lines
from testbed.runtime.progress import Progress
from testbed.study.hosts import cluster as clusters
from testbed.study.hosts import fitness
from testbed.study.hosts.cluster import Cluster

TIME_LIMIT_S = 3600.0
INVENTORY = "inventory.json"
"""Hosts with their variables, beside the cluster's file: ``down`` needs it, also after an ``up`` that failed. It has
login data, so only its owner may read it."""
COMMIT = "commit"


def up(
    file: Path, progress: Progress, *, go_on: bool = False, check: bool = False
) -> tuple[Cluster | None, int, dict[str, str]]:
    """Install the same testbed on all hosts, start scheduler and workers, and write the cluster's file. Returns the
    cluster, the number of tasks that changed something, and hosts that are left out, with reasons.

    ``file`` is an Ansible inventory; ``go_on`` leaves out hosts that can't be reached, differ or fail; ``check``
    changes nothing, and returns no cluster. Go programs, a bundle of the commit and an archive of wheels are made here.

    Raises:
        BadInput: the inventory is wrong.
        CannotRun: a host can't be reached, differs or fails, and is named; or there is none left; or the checkout has
            uncommitted changes, or the registry of packages can't be reached.
    """
    inventory = inventories.read(file)
    make_ready(progress, "cluster")
    own = clusters.file().parent
    push, facts, tls = own / "push", own / "push" / "hosts", own / "tls"
    shutil.rmtree(facts, ignore_errors=True)
    for folder in (own, tls, push, facts):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    commit, bundle = head_commit(), push / "commit.bundle"
    with progress.step("bundle of the commit") as step:
        _git("bundle", "create", "--quiet", str(bundle), "HEAD")
        step.note = f"{commit[:12]}, {bundle.stat().st_size / 2**20:.1f} MiB"
    with progress.step("wheels of the packages") as step:
        wheels = _wheels()
        step.note = f"{wheels.stat().st_size / 2**20:.0f} MiB"
    with progress.step("Go programs"):
        build_programs()
    _refuse_another(own, inventory, commit)
    hosts_file = (push if check else own) / INVENTORY
    inventory.write(hosts_file)
    if not check:
        (own / COMMIT).write_text(commit)
    variables = {
        "commit": commit,
        "wheels": str(wheels),
        "own": str(own),
        "programs": str(paths.BINARIES),
        "kernel": str(guest_kernel.built() or ""),
        "expected": fitness.versions(),
        "wanted_scheduler": inventory.scheduler,
    }
    off, changed = _play("cluster.yml", hosts_file, variables, progress, *["--check"] * check, all_or_none=not go_on)
    left = [name for name in inventory.hosts if name not in off]
    if off and not (go_on and (left or check)):
        raise CannotRun(
            "cluster.hosts-failed",
            f"{_lines(off)}",
            f"--keep-going makes the cluster without them, if any host is left. Log: {LOG}",
        )
    if check:
        return None, changed, off
    hosts = [json.loads((facts / f"{name}.json").read_text()) for name in left]
    files = {"ca": tls / "ca.crt", "cert": tls / "submitter.crt", "key": tls / "submitter.key"}
    every = [one["host"] for one in hosts]
    cluster = Cluster(commit=commit, scheduler=hosts[0]["scheduler"], **files, hosts=every)
    clusters.write(cluster)
    return cluster, changed, off


def down(progress: Progress, *, go_on: bool = False) -> int:
    """Stop the services on all hosts, remove files that ``up`` put there, also where it failed, then the cluster's own
    files here; returns the number of tasks that changed something.

    Raises:
        CannotRun: there is no cluster; or some hosts could not be cleaned. Files here stay then, to try again, unless
            ``go_on``.
    """
    own = clusters.file().parent
    inventory, authority = own / INVENTORY, own / "tls" / "ca.crt"
    if not inventory.exists():
        clusters.read()  # raises where there is none
        raise CannotRun("cluster.no-inventory", f"{inventory} does not exist, so the hosts are not known")
    variables = {
        "commit": (own / COMMIT).read_text(),
        "authority": fitness.sha256(authority) if authority.exists() else "",
    }
    off, changed = _play("cluster-down.yml", inventory, variables, progress)
    if off and not go_on:
        raise CannotRun(
            "cluster.hosts-not-cleaned",
            f"{_lines(off)}",
            f"They still have files of `cluster up`: try again, or give them up with --keep-going. Log: {LOG}",
        )
    shutil.rmtree(own)
    return changed


def _play(
    playbook: str, inventory: Path, variables: dict[str, Any], progress: Progress, *more: str, all_or_none: bool = False
) -> tuple[dict[str, str], int]:
    """Run a playbook; returns unreachable and failed hosts with their last message, and the number of tasks that
    changed something. Raises CannotRun where the playbook failed, but on no host."""
    arguments = ["-i", str(inventory), "-e", json.dumps(variables), *more]
    played = play(progress, playbook, arguments, TIME_LIMIT_S, all_or_none=all_or_none)
    said = {failure.host: failure.said for failure in played.errors}
    off = {name: said.get(name, "failed") for name, end in played.hosts.items() if end.unreachable or end.failed}
    if played.code and not off:
        words = Lines(played.errors) or f"ansible-playbook ended with {played.code}"
        raise CannotRun("cluster.playbook-failed", f"{words}", f"Log: {LOG}")
    return off, sum(end.changed for end in played.hosts.values())


def _lines(off: dict[str, str]) -> Lines:
    return Lines(f"{name}: {reason}" for name, reason in off.items())


def _refuse_another(own: Path, inventory: inventories.Inventory, commit: str) -> None:
    """Raise CannotRun where there is a cluster of another commit, or with other hosts, which would stay on them."""
    if not (own / COMMIT).exists():
        return
    there, gone = (own / COMMIT).read_text(), sorted(inventories.names(own / INVENTORY) - set(inventory.hosts))
    if there != commit or gone:
        what = f"of commit {there[:12]}" if there != commit else f"with {', '.join(gone)}"
        raise CannotRun(
            "cluster.exists", f"there is a cluster {what} already", "Take it down first: ./run.sh cluster down"
        )


def head_commit() -> str:
    """Full name of the checkout's commit; raises :class:`CannotRun` where the checkout has uncommitted changes."""
    if changed := _git("status", "--porcelain", "--untracked-files=no"):
        names = ", ".join(line.split()[-1] for line in changed.splitlines()[:3])
        raise CannotRun(
            "cluster.uncommitted-changes",
            f"the checkout has uncommitted changes ({names}), and hosts get a commit",
            "Commit them.",
        )
    return _git("rev-parse", "HEAD")


def _wheels() -> Path:
    """Archive of the packages for these locks and this Python, downloaded once."""
    key = hashlib.sha256(sys.version.encode() + packages.OF_UV.read_bytes() + packages.LOCK.read_bytes()).hexdigest()
    archive = guest_kernel.own_cache() / "wheels" / f"{key[:16]}.tar"
    if archive.exists():
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        listed = Path(folder, "packages.txt")
        listed.write_text(packages.export(*fitness.GROUPS, hashes=True))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", f"{folder}/wheels"]
        command += ["--only-binary", ":all:", "--require-hashes", "--disable-pip-version-check", "--retries", "2"]
        command += ["--requirement", str(packages.OF_UV), "--requirement", str(listed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            why = done.stderr.strip()[-300:]
            raise CannotRun("cluster.packages-not-fetched", f"the packages could not be fetched: {why}")
        Path(shutil.make_archive(f"{folder}/packed", "tar", folder, "wheels")).rename(archive)
    return archive


def _git(*arguments: str) -> str:
    """Output of Git in this checkout; raises :class:`CannotRun` where Git fails."""
    done = git(*arguments)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise CannotRun("cluster.git-failed", f"git {arguments[0]}: {said}", "A cluster is made from a clone with Git.")
    return done.stdout.decode().strip()
