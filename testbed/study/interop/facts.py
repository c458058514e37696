"""What the peers are, for provenance: Node, the packages as installed, the capturing program."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from testbed.study.interop.cells import PEERS
from testbed.study.interop.plans import FOLDER


def versions() -> dict[str, Any]:
    """Versions by name, and the integrity of each package by the lock file."""
    lock = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    return {
        "node": _said("node", "--version"),
        "tcpdump": _said("tcpdump", "--version"),
        "packages": {
            name: {key: lock[f"node_modules/{package}"][key] for key in ("name", "version", "integrity")}
            for name, package in PEERS.items()
        },
    }


def _said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return ((done.stdout or done.stderr).strip().splitlines() or ["not known"])[0]
