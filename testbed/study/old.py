"""Result folders of studies before they had ``study.json``. They are read, verified and compared, and not resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from testbed.documents import read_json
from testbed.errors import BadInput

Kind = Literal["table", "sweep", "comparison", "cross-check", "repetitions", "claims"]
"""Studies that are verified."""
SWEEP_REQUEST = "asked.json"
REQUESTS = ("matrix.json", SWEEP_REQUEST, "all.json", "repeatable.json")
"""Documents of what was requested."""
MARKS: tuple[tuple[str, Kind], ...] = (
    ("matrix.json", "table"),
    ("sweep.yaml", "sweep"),
    ("compare.json", "comparison"),
    ("cross-check.json", "cross-check"),
    ("hashes.json", "repetitions"),
    ("claims.json", "claims"),
)
"""Documents by which a study's kind is known."""


def request_of(folder: Path) -> dict[str, Any]:
    """The request of a study; BadInput where no document has it."""
    return read_json(folder / next((name for name in REQUESTS if (folder / name).is_file()), "study.json"))


def kind_of(folder: Path) -> str:
    """The kind of a study; "" where no document has it."""
    return next((kind for name, kind in MARKS if (folder / name).is_file()), "")


def refuse_to_resume(folder: Path, resume: str) -> None:
    """Raise BadInput for an earlier version's study."""
    for name in REQUESTS:
        if (folder / name).is_file():
            raise BadInput(
                "resume.older-version",
                f"--resume {resume}: {folder} was made by an earlier version, which has {name} and no study.json: it "
                "can be verified, and not resumed; start a new one",
            )
