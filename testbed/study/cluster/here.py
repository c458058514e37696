"""What a machine has that a cluster asks for: ``python -m testbed.study.cluster.here STATE [EXPECTED]``, called on each
host by ``cluster up``.

Prints JSON; ends with 1 and says what differs where ``EXPECTED`` (JSON, the submitter's own) is not the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from testbed import engines, paths
from testbed.machine import guest_kernel, missing
from testbed.machine.build import PROGRAMS
from testbed.study.cluster import alike
from testbed.study.cluster.model import WORDS
from testbed.study.executor import Way

WAYS = {
    "containers": Way("mininet", "docker"),
    "processes": Way("mininet", "process"),
    "vkernel": Way("vkernel"),
    "sim": Way("sim"),
}
"""What each word of :class:`testbed.study.cluster.model.Can` asks of a host."""


def versions() -> dict[str, Any]:
    """What decides what a run gives: what :mod:`alike` compares, and SHA-256 of the Go ``programs`` and the guest
    ``kernel``, "" where there is none."""
    kernel = guest_kernel.built()
    return {
        **alike.common(),
        "programs": _digest(*(paths.BINARIES / name for name in sorted(PROGRAMS))),
        "kernel": _digest(kernel) if kernel else "",
    }


def carries() -> dict[str, Any]:
    """``cores`` that may be used, what it ``can`` make runs in, and ``why_not``."""
    why_not = {}
    for name, way in WAYS.items():
        engine = engines.named(way.engine)
        lacks = [finding.name for finding in missing(engine.needs(way.runtime))]
        facts = engine.facts
        if facts.kernel and facts.virtual_time and guest_kernel.built() is None:
            lacks.append("the guest kernel with virtual time")
        if lacks:
            why_not[name] = f"missing: {', '.join(lacks)}"
    can = {name: name not in why_not for name in WORDS}
    return {"cores": len(os.sched_getaffinity(0)), "can": can, "why_not": why_not}


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
    if len(arguments) > 1 and (differs := alike.differences(json.loads(arguments[1]), found)):
        print(f"differs from the machine that makes the cluster: {'; '.join(differs)}", file=sys.stderr)
        return 1
    print(json.dumps({**found, **carries()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
