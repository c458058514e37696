"""What ``cluster up`` takes along, so that hosts need to reach neither a forge nor a registry: the commit as a bundle,
the packages as wheels, the Go programs and the guest kernel as they were built here."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import CannotRun
from testbed.judge.history import git
from testbed.machine import guest_kernel, packages
from testbed.machine.build import build_programs
from testbed.runtime.progress import Progress
from testbed.study.cluster.alike import GROUPS


@dataclass(frozen=True)
class Push:
    """What there is to take along."""

    commit: str
    bundle: Path
    wheels: Path
    """An archive with the folder ``wheels``."""


def make(folder: Path, progress: Progress) -> Push:
    """Have all of it; the bundle in ``folder``, the wheels in this user's cache.

    Raises:
        CannotRun: files of the checkout are changed, so that the hosts would not run what is here; or the registry of
            packages can't be reached.
    """
    push = Push(commit(), folder / "commit.bundle", _cached_wheels())
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with progress.step("bundle of the commit") as step:
        _git("bundle", "create", "--quiet", str(push.bundle), "HEAD")
        step.note = f"{push.commit[:12]}, {push.bundle.stat().st_size / 2**20:.1f} MiB"
    with progress.step("wheels of the packages") as step:
        if not push.wheels.exists():
            _fetch(push.wheels)
        step.note = f"{push.wheels.stat().st_size / 2**20:.0f} MiB"
    with progress.step("Go programs"):
        build_programs()
    return push


def commit() -> str:
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
        wanted.write_text(packages.export(*GROUPS, hashes=True))
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
