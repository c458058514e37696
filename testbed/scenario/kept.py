"""What a result folder keeps of the scenario: the whole of it as YAML, and of one in Python the file as well."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

TEXT, PROGRAM = "scenario.yaml", "scenario.py"


class Kept(Protocol):
    """A scenario as it was read."""

    @property
    def text(self) -> str: ...
    @property
    def program(self) -> str | None: ...


def keep(scenario: Kept, folder: Path) -> None:
    """Write it into a result folder."""
    (folder / TEXT).write_text(scenario.text, encoding="utf-8")
    if scenario.program is not None:
        (folder / PROGRAM).write_text(scenario.program, encoding="utf-8")
