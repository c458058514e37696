"""The checkout's history, as git has it."""

from __future__ import annotations

import os
import subprocess

from testbed import paths


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What git says of this checkout; raises ``FileNotFoundError`` where it is not installed."""
    # A user who may read this checkout may read its history, whoever owns it.
    command = ["git", "-c", f"safe.directory={paths.CHECKOUT}", *arguments]
    # A hook of another repository names that one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(command, cwd=paths.CHECKOUT, env=environment, capture_output=True, check=False)
