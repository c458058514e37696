"""The scenario in a result folder: all of it as YAML, and the Python of it or its topology."""

import shutil
from pathlib import Path
from typing import Protocol

TEXT, PROGRAM, TOPOLOGY = "scenario.yaml", "scenario.py", "topology.py"


class Kept(Protocol):
    """A scenario as it was read."""

    @property
    def text(self) -> str: ...
    @property
    def program(self) -> str | None: ...


def keep(scenario: Kept, folder: Path, topology: str | None = None) -> None:
    """Write it into a result folder; ``topology`` is the file of one that is a program."""
    (folder / TEXT).write_text(scenario.text, encoding="utf-8")
    if scenario.program is not None:
        (folder / PROGRAM).write_text(scenario.program, encoding="utf-8")
    if topology is not None:
        shutil.copyfile(topology, folder / TOPOLOGY)
