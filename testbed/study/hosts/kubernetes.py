"""A sweep as an Indexed Job of Kubernetes: each index makes a part of the runs and stores it on a shared volume.

No part knows of another, and nothing is scheduled here: Kubernetes repeats a part that failed. The submitter joins the
ledgers of the parts, and resumes by them.
"""

import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template

from testbed.errors import BadInput

TEMPLATE = Path(__file__).with_suffix(".yaml")
IMAGE = f"python:{sys.version_info.major}.{sys.version_info.minor}-bookworm"
"""Has git and Python; the testbed sets up all else."""
RULES = {
    "claim": (r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", "a claim's name: small letters, digits, '-' and '.'"),
    "memory": (r"[1-9][0-9]*([kMGT]i?)?", "an amount of memory, as 512Mi or 2Gi"),
    "image": (r"\S+", "the name of an image"),
}
"""Patterns of Kubernetes, and their descriptions."""


def manifest(
    sweep: str, options: Sequence[str], commit: str, *, parts: int, cores: int, memory: str, claim: str, image: str
) -> str:
    """Returns the Job, in YAML, with the submitter's part as comments.

    ``options`` are more of the command line, the same for the submitter; ``cores`` and ``memory`` are for each pod;
    ``claim`` is of a volume that many may write to (ReadWriteMany). Raises BadInput for a name or an amount that
    Kubernetes would refuse, and for an option of several lines.
    """
    values = {"memory": memory, "claim": claim, "image": image}
    for name, (pattern, expected) in RULES.items():
        if not re.fullmatch(pattern, value := values[name]):
            raise BadInput("cluster.bad-manifest-value", f"--{name}: {value!r} should be {expected}")
    command = shlex.join(["./run.sh", "sweep", sweep, *options])
    if "\n" in command:
        raise BadInput("cluster.several-lines", f"{command!r}: should be one line")
    values |= {"image": json.dumps(image), "sweep": sweep, "commit": commit, "command": command}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(values, parts=parts, cores=cores)
