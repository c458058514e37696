"""The end points' code: of the checkout as it is, or built from a commit."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed import paths
from testbed.documents import whole
from testbed.engines.engine import Engine, Programs
from testbed.engines.virtual_run import is_source
from testbed.errors import BadInput, CannotRun
from testbed.judge import changes
from testbed.judge.history import git
from testbed.machine import build
from testbed.runtime import lock
from testbed.runtime.progress import Progress

COMMITS = paths.CHECKOUT / ".build" / "commits"
KEPT = 12
"""Commits whose sources and programs stay; the least recently used go first."""


@dataclass(frozen=True)
class OfCommit(Programs):
    """Programs with the end points of a commit. Plan, links, collectors and judge stay those of this checkout, so that
    all versions meet the same network and the same rules."""

    commit: str = ""
    """The commit's full name."""


def programs(revision: str | None, engine: Engine, progress: Progress) -> Programs:
    """Programs of a commit, or of the checkout as it is (without one or for a dot); built where they are missing.
    BadInput for an unknown revision."""
    if revision is None or revision == ".":
        return engine.build(progress)
    done = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode:
        raise BadInput(
            "commit.unknown",
            f"commit {revision!r}: this checkout has no such commit",
            "A branch, tag or commit; a dot is the checkout as it is.",
        )
    commit = done.stdout.decode().strip()
    theirs = of_sources(sources_of(commit), engine)
    others = build.build_programs(*engine.programs) if engine.programs != (engine.agent,) else {}
    return OfCommit({**others, **theirs.binaries}, theirs.policies, theirs.code, commit)


@cache
def of_changes(commit: str, diff: str, engine: Engine) -> Programs:
    """All programs of a commit with a diff; raises BadInput where that does not apply."""
    with lock.held(COMMITS.parent / "commits.flock", f"the programs of commit {commit[:12]}"):
        sources = sources_of(commit, diff)
        binaries = build.build_programs(*engine.programs, source=sources, into=sources / ".build" / "bin")
    # As virtual_run.texts() has it of the checkout; that is part of the rule that names runs, and stays as it is.
    own = {path.relative_to(sources): path for path in sources.rglob("*.*") if path.is_file()}
    texts = (
        str(name).encode() + b"\0" + own[name].read_bytes() for name in sorted(own) if is_source(name, engine.sources)
    )
    return Programs(binaries, build.policy_facts(binaries[engine.agent]), b"".join(texts))


def build_missing(programs: Programs) -> None:
    """Programs for a run of a study that another machine planned: a commit's end points that this one lacks are built.

    Raises:
        CannotRun: the checkout has no such commit.
    """
    if not isinstance(programs, OfCommit):
        return
    if missing := [name for name, path in programs.binaries.items() if not path.exists()]:
        COMMITS.mkdir(parents=True, exist_ok=True)
        with lock.held(COMMITS.parent / "commits.flock", f"the programs of commit {programs.commit[:12]}"):
            if _git("cat-file", "-e", f"{programs.commit}^{{commit}}").returncode:
                raise CannotRun(
                    "commit.not-here", f"commit {programs.commit[:12]}: this machine's checkout has no such commit"
                )
            sources = sources_of(programs.commit)
            build.build_programs(*missing, source=sources, into=sources / ".build" / "bin")


def of_sources(sources: Path, engine: Engine) -> Programs:
    """The end points alone, of a tree of sources."""
    binaries = build.build_programs(engine.agent, source=sources, into=sources / ".build" / "bin")
    digest = hashlib.sha256(binaries[engine.agent].read_bytes()).hexdigest()
    return Programs(binaries, build.policy_facts(binaries[engine.agent]), digest.encode())


def sources_of(commit: str, diff: str = "") -> Path:
    """The commit's files, changed by a diff, whole or not at all, in a folder of its own: the checkout and its git are
    left alone."""
    folder = COMMITS / (f"{commit[:16]}-{hashlib.sha256(diff.encode()).hexdigest()[:16]}" if diff else commit[:16])
    if not folder.is_dir():
        with whole(folder) as unpacked:
            archive = _git("archive", "--format=tar", commit).stdout
            subprocess.run(["tar", "-x", "-C", str(unpacked)], input=archive, check=True)
            if diff:
                changes.apply(diff, unpacked)
    os.utime(folder)
    for old in sorted(COMMITS.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return git(*arguments)
    except FileNotFoundError:
        raise CannotRun(
            "commit.no-git", "commits are compared by git, which is not installed", "apt-get install git"
        ) from None
