"""A Linux kernel of its own, with netem, for tests on machines whose kernel has none (images/vkernel)."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import paths

WAIT_S = 120.0
"""For a core that has no other guest."""
BOOT = paths.CHECKOUT / "images" / "vkernel" / "boot.sh"


@dataclass(frozen=True)
class Ended:
    """A command that was run in a guest."""

    code: int
    stdout: str
    stderr: str

    def document(self) -> Any:
        """The JSON that it printed; fails with what it said instead."""
        assert self.code == 0, f"the guest's command ended with {self.code}: {self.stderr[-3000:]}"
        return json.loads(self.stdout)


def missing() -> str | None:
    """Why there can be no guest on this machine, or None."""
    if not shutil.which("linux.uml"):
        return "user-mode-linux is not installed (apt-get install user-mode-linux)"
    if not shutil.which("gcc"):
        return "gcc is not installed; user-mode-linux needs a shim that is compiled here"
    return None


def run_in_guest(
    shared: Path, *command: str, limit_s: float = 120.0, memory: str = "512M", writable: bool = False
) -> Ended:
    """Boot a guest, run a command in it as root, end it. ``shared`` is the folder that both sides may write.

    The guest sees this machine's files as they are, read-only unless ``writable``, and then what it writes
    outside of ``shared`` is gone with it.
    """
    options = ["-d", str(shared), "-t", f"{limit_s:g}", "-m", memory, *(["-o"] if writable else [])]
    done = subprocess.run(
        [str(BOOT), *options, "--", *command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s + WAIT_S, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def run_module_in_guest(shared: Path, module: str, *arguments: str, limit_s: float = 120.0) -> Ended:
    """Run a module of this checkout in a guest, with this Python."""
    environment = ["env", f"PYTHONPATH={paths.CHECKOUT}", "PYTHONDONTWRITEBYTECODE=1"]
    return run_in_guest(shared, *environment, sys.executable, "-m", module, *arguments, limit_s=limit_s)
