"""Calls the simulator."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from testbed.documents import read_json


def call(program: Path, *arguments: str, leaves: str, **environment: str) -> dict[str, Any]:
    """The program's document of that name, from a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as results:
        command = [str(program), *arguments, "--dir", results]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
        return read_json(Path(results) / leaves)
