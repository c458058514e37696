"""A sweep as an Indexed Job of Kubernetes: each index makes a part of the runs and keeps it on a volume that all share.

No part knows of another, and nothing is scheduled here: Kubernetes makes a part that failed again. The submitter puts
the parts together by their lists of finished runs, and knows by them what is finished.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import Template

from testbed.errors import BadInput

TEMPLATE = Path(__file__).with_suffix(".yaml")
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


RULES = {
    "claim": (r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", "a claim's name: small letters, digits, '-' and '.'"),
    "memory": (r"[1-9][0-9]*([kMGT]i?)?", "an amount of memory, as 512Mi or 2Gi"),
    "image": (r"\S+", "the name of an image"),
}
"""What Kubernetes takes, and how that is said."""


def manifest(sweep: str, options: Sequence[str], commit: str, request: Request) -> str:
    """The Job, in YAML, with what the submitter does with it as comments.

    Args:
        sweep: its name.
        options: more of the command line, as the submitter will give them, too.
        commit: 40 hexadecimal digits.
        request: what the site gives.

    Raises:
        BadInput: a name or an amount that Kubernetes would refuse, or an option of several lines.
    """
    values = asdict(request)
    for name, (pattern, should_be) in RULES.items():
        if not re.fullmatch(pattern, values[name]):
            raise BadInput(
                "cluster.bad-manifest-value",
                "--{name}: {value!r} should be {should_be}",
                name=name,
                value=values[name],
                should_be=should_be,
            )
    command = shlex.join(["./run.sh", "sweep", sweep, *options])
    if "\n" in command:
        raise BadInput("cluster.several-lines", "{command!r}: should be one line", command=command)
    values |= {"image": json.dumps(request.image), "sweep": sweep, "commit": commit, "command": command}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(values)
