"""The agents of the versions that are compared: of the checkout as it is, or built from a commit."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from testbed import build, paths
from testbed.errors import BadInput, CannotRun
from testbed.history import git
from testbed.plan.sessions import PolicyFacts

COMMITS = paths.CHECKOUT / ".build" / "commits"
KEPT = 12
"""Commits whose sources and programs stay; the least recently used go first."""


@dataclass(frozen=True)
class Programs:
    """What one version runs with. ``sources`` is the folder that its agent was built from, ``commit`` its full name
    (empty: the checkout with what is not committed)."""

    binaries: dict[str, Path]
    policies: PolicyFacts
    sources: Path
    commit: str

    @property
    def facts(self) -> dict[str, object]:
        """What provenance says of them beyond the checkout's own."""
        return {"commit": self.commit, "of_commit": True} if self.commit else {}

    def digest(self, program: str) -> str:
        """Of a program's bytes."""
        return hashlib.sha256(self.binaries[program].read_bytes()).hexdigest()


def programs(revision: str | None, engine: str) -> Programs:
    """Built where they are not yet; BadInput for a revision that there is not.

    Only the end points are the commit's: plan, links, collectors and judge stay those of this checkout, so that
    both versions meet the same network and the same rules.
    """
    agent = "ncp-sim" if engine == "sim" else "ncp-agent"
    binaries = {} if engine == "sim" else build.build_programs()
    if revision is None or revision == ".":
        binaries |= build.build_programs(agent)
        return Programs(binaries, build.policy_facts(binaries[agent]), paths.CHECKOUT, "")
    commit = _full_name(revision)
    sources = _sources(commit)
    binaries |= build.build_programs(agent, source=sources, into=sources / ".build" / "bin")
    return Programs(binaries, build.policy_facts(binaries[agent]), sources, commit)


def programs_of_sources(sources: Path) -> Programs:
    """The simulator of a tree of sources that is no commit, for virtual time."""
    binaries = build.build_programs("ncp-sim", source=sources, into=sources / ".build" / "bin")
    return Programs(binaries, build.policy_facts(binaries["ncp-sim"]), sources, "")


def _full_name(revision: str) -> str:
    done = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode:
        raise BadInput(
            f"commit {revision!r}: this checkout has no such commit",
            "A branch, tag or commit; a dot is the checkout as it is.",
        )
    return done.stdout.decode().strip()


def _sources(commit: str) -> Path:
    """The commit's files, whole or not at all, in a folder of its own: the checkout and its git are left alone."""
    folder = COMMITS / commit[:16]
    if not folder.is_dir():
        COMMITS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=COMMITS, prefix=".new-") as place:
            unpacked = Path(place) / "sources"
            unpacked.mkdir()
            archive = _git("archive", "--format=tar", commit).stdout
            subprocess.run(["tar", "-x", "-C", str(unpacked)], input=archive, check=True)
            unpacked.rename(folder)
    os.utime(folder)
    for old in sorted(COMMITS.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return git(*arguments)
    except FileNotFoundError:
        raise CannotRun("commits are compared by git, which is not installed", "apt-get install git") from None
