"""What a machine has that a cluster asks for: ``python -m testbed.cluster.here STATE [EXPECTED]``, called on each host
by ``cluster up``.

Prints JSON; ends with 1 and says what differs where ``EXPECTED`` (JSON, the submitter's own) is not the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from testbed import engines, paths
from testbed.build import PROGRAMS
from testbed.doctor import guest_kernel, missing
from testbed.doctor.machine import pinned
from testbed.history import git
from testbed.plan.engines import named

LOCKS = ("requirements-setup.lock", "requirements.lock", "requirements-cluster.lock")
"""The packages of a host."""
SAME = ("commit", "python", "architecture", "packages", "programs", "kernel")
"""What all hosts of a cluster have in common, and the submitter."""


def versions() -> dict[str, str]:
    """What decides what a run gives, by the names in :data:`SAME`; digests are SHA-256, "" where there is none."""
    kernel = guest_kernel.built()
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "packages": _packages(),
        "programs": _digest(*(paths.BINARIES / name for name in sorted(PROGRAMS))),
        "kernel": _digest(kernel) if kernel else "",
    }


def differing(there: dict[str, Any], expected: dict[str, str]) -> list[str]:
    """What of a host is not as expected, in words."""
    return [
        f"{key} ({there.get(key) or 'none'} there, {expected[key] or 'none'} here)"
        for key in SAME
        if there.get(key) != expected[key]
    ]


def carries() -> dict[str, Any]:
    """``cores`` that may be used, ``can`` by engine, and ``why_not``."""
    why_not = {}
    for engine in engines.every():
        lacks = [finding.name for finding in missing(engine.needs())]
        facts = named(engine.name)
        if facts.kernel and facts.virtual_time and guest_kernel.built() is None:
            lacks.append("the guest kernel with virtual time")
        if lacks:
            why_not[engine.name] = f"missing: {', '.join(lacks)}"
    can = {engine.name: engine.name not in why_not for engine in engines.every()}
    return {"cores": len(os.sched_getaffinity(0)), "can": can, "why_not": why_not}


def _commit() -> str:
    """40 hexadecimal digits, and ``-dirty`` behind them where a file of it was changed."""
    return git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty").stdout.decode().strip()


def _packages() -> str:
    """A digest of the locks where all that they pin is installed, else what is not."""
    probed = pinned(*LOCKS)()
    return _digest(*(paths.CHECKOUT / lock for lock in LOCKS)) if probed.ok else probed.detail


def _digest(*files: Path) -> str:
    digest = hashlib.sha256()
    for path in files:
        if not path.exists():
            return ""
        digest.update(sha256(path).encode())
    return digest.hexdigest()[:16]


def sha256(path: Path) -> str:
    """Of a file's bytes, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(arguments: list[str]) -> int:
    """Print what there is; returns the exit code."""
    os.environ["NCP_TESTBED_NO_BUILD"] = "1"
    kernel = Path(arguments[0]) / "linux"
    if kernel.exists():
        os.environ["NCP_TESTBED_VKERNEL"] = str(kernel)
    found = versions()
    if len(arguments) > 1 and (differs := differing(found, json.loads(arguments[1]))):
        print(f"differs from the machine that makes the cluster in {'; '.join(differs)}", file=sys.stderr)
        return 1
    print(json.dumps({**found, **carries()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
