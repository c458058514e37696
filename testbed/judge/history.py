"""The checkout's history, as git has it, and what a result says of its own place in it."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.documents import read_json


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Runs git in this checkout and returns its output; raises ``FileNotFoundError`` where it is not installed."""
    # A user who may read this checkout may read its history, whoever owns it.
    # Without its locks: one that is ended in between would leave them to who commits next.
    command = ["git", "--no-optional-locks", "-c", f"safe.directory={paths.CHECKOUT}", *arguments]
    # A hook of another repository names that one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(command, cwd=paths.CHECKOUT, env=environment, capture_output=True, check=False)


def answer(*arguments: str) -> bytes | None:
    """The output of :func:`git`; None where it refuses, or is not installed."""
    try:
        done = git(*arguments)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def here() -> dict[str, Any]:
    """This checkout's commit, "" where git knows none, and whether it has changes, None where git does not know; as a
    result's provenance has it."""
    changes = answer("status", "--porcelain")
    commit = (answer("rev-parse", "HEAD") or b"").decode().strip()
    return {"commit": commit, "uncommitted_changes": None if changes is None else bool(changes)}


def provenance_of(folder: Path) -> dict[str, Any]:
    """A result folder's; empty where it has none."""
    path = folder / "provenance.json"
    return read_json(path) if path.is_file() else {}


def commit_of(recorded: Mapping[str, Any]) -> str:
    """The commit that a result names; "" for none, and for what is no commit's name but would be an option of git's."""
    commit = str(recorded.get("commit") or "")
    return commit if re.fullmatch(r"[0-9a-f]{4,64}", commit) else ""
