"""The checkout's history, as git has it."""

from __future__ import annotations

import subprocess

from testbed import paths


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What git says of this checkout; raises ``FileNotFoundError`` where it is not installed."""
    # A user who may read this checkout may read its history, whoever owns it.
    command = ["git", "-c", f"safe.directory={paths.CHECKOUT}", *arguments]
    return subprocess.run(command, cwd=paths.CHECKOUT, capture_output=True, check=False)
