"""Paths of the checkout, built programs, results and the machine's own state."""

import errno
import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
SCENARIOS = CHECKOUT / "scenarios"
BINARIES = CHECKOUT / ".build" / "bin"
MOVED = {"interop": "peers/npm-ncp", "published": "data/published", "reference": "data/reference"}
"""Folders of the checkout by their former names, which tables and commands of users may still have."""


def of_checkout(name: str) -> Path:
    """A file or folder of the checkout, by its path in there.

    Raises:
        FileNotFoundError: it is not there; a search in it would find nothing, and nobody would notice.
    """
    path = CHECKOUT / name
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "should be in the checkout, and is not", str(path))
    return path


def renamed(name: str) -> str:
    """A path in the checkout by the name that its folder has today."""
    first, slash, rest = name.partition("/")
    return f"{MOVED[first]}/{rest}" if slash and first in MOVED else name


def results() -> Path:
    """The folder of result folders; ``NCP_TESTBED_RESULTS`` moves it."""
    return Path(os.environ.get("NCP_TESTBED_RESULTS") or CHECKOUT / "results")


def live_runs() -> Path:
    """Lock, records of live runs and control sockets (lost at reboot, as the runs are)."""
    return Path(os.environ.get("NCP_TESTBED_RUN") or "/run/ncp-testbed")
