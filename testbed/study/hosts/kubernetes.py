"""A sweep as an Indexed Job of Kubernetes: each index makes a part of the runs and keeps it on a volume that all share.

No part knows of another, and nothing is scheduled here: Kubernetes makes a part that failed again. The submitter puts
the parts together by their lists of finished runs, and knows by them what is finished.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testbed.errors import BadInput

SHARED, OWN = "/shared", "/testbed"
"""In a container: the volume of all parts, and what is a pod's own."""
PARTS, BUNDLE = "parts", "commit.bundle"
"""On the volume."""
ALLOWED_FAILURES = 3
"""So often a part may fail before the Job has."""
IMAGE = f"python:{sys.version_info.major}.{sys.version_info.minor}-bookworm"
"""Has git and Python; the testbed sets up all else."""


@dataclass(frozen=True)
class Request:
    """For the pods of a Job."""

    parts: int = 8
    cores: int = 1
    """Of each part."""
    memory: str = "1Gi"
    image: str = IMAGE
    claim: str = "ncp-testbed"
    """A claim of a volume that many may write to (ReadWriteMany)."""


def job(sweep: str, options: Sequence[str], commit: str, request: Request) -> dict[str, Any]:
    """The document.

    Args:
        sweep: its name.
        options: more of the command line, as the submitter will give them, too.
        commit: 40 hexadecimal digits.
        request: what the site gives.

    Raises:
        BadInput: a claim's name or an amount that Kubernetes would refuse.
    """
    _check(request)
    labels = {"app.kubernetes.io/name": "ncp-testbed", "app.kubernetes.io/component": sweep}
    resources = {"cpu": str(request.cores), "memory": request.memory}
    container = {
        "name": "part",
        "image": request.image,
        "command": ["bash", "-c", script(sweep, options, commit, request)],
        "resources": {"requests": resources, "limits": {**resources}},
        "volumeMounts": [{"name": "shared", "mountPath": SHARED}, {"name": "own", "mountPath": OWN}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"ncp-testbed-{sweep}", "labels": labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": request.parts,
            "parallelism": request.parts,
            "backoffLimitPerIndex": ALLOWED_FAILURES,
            "template": {
                "metadata": {"labels": {**labels}},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "containers": [container],
                    "volumes": [
                        {"name": "shared", "persistentVolumeClaim": {"claimName": request.claim}},
                        {"name": "own", "emptyDir": {}},
                    ],
                },
            },
        },
    }


def script(sweep: str, options: Sequence[str], commit: str, request: Request) -> str:
    """What a container does: the commit from the volume, set-up, and its part of the runs."""
    command = ["./run.sh", "sweep", sweep, *options, f"--cluster=part:of={request.parts},cores={request.cores}"]
    return "\n".join(
        [
            "set -eu",
            f"git clone --quiet --no-checkout {SHARED}/{BUNDLE} {OWN}/checkout",
            f"cd {OWN}/checkout",
            f"git checkout --quiet --detach {commit}",
            f"export HOME={OWN} NCP_TESTBED_RESULTS={SHARED}/{PARTS}/$JOB_COMPLETION_INDEX",
            f"exec {shlex.join(command)}",
        ]
    )


def how_to(sweep: str, options: Sequence[str], commit: str) -> str:
    """What the submitter does with it, as comments."""
    again = shlex.join(["./run.sh", "sweep", sweep, *options])
    lines = [
        f"Commit {commit[:12]}. The volume of the claim has to have it:",
        f"  git bundle create {BUNDLE} HEAD",
        "Then apply this, wait for it, and put the parts together; the last command makes what is lacking:",
        f"  kubectl wait --for=condition=complete --timeout=-1s job/ncp-testbed-{sweep}",
        f"  mkdir -p results/{sweep}; cat VOLUME/{PARTS}/*/{sweep}/runs.jsonl >> results/{sweep}/runs.jsonl",
        f"  {again}",
    ]
    return "".join(f"# {line}\n" for line in lines)


def _check(request: Request) -> None:
    if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", request.claim):
        raise BadInput(
            "cluster.bad-claim-name",
            "--claim: {claim!r} should be a claim's name: small letters, digits, '-' and '.'",
            claim=request.claim,
        )
    if not re.fullmatch(r"[1-9][0-9]*([kMGT]i?)?", request.memory):
        raise BadInput(
            "cluster.bad-memory",
            "--memory: {memory!r} should be an amount of memory, as 512Mi or 2Gi",
            memory=request.memory,
        )
