"""Verifies a study: its kind writes its documents anew from the runs in its result folder, and here these are compared
with the recorded ones, beside all that every study has.

A kind has ``DOCUMENTS``, how each of its documents is read, whichever version wrote it, and ``write_again(request)``,
which writes them, and maybe the page, and returns a :class:`Verification` of what it alone knows.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from testbed.documents import read_json
from testbed.engines.engine import Engine, Programs
from testbed.judge.checks.result import Verdict
from testbed.judge.verify import differences, text_differences
from testbed.message import Message, Messages
from testbed.plan.engines import is_exact
from testbed.runtime.progress import QuietProgress
from testbed.study import ledger
from testbed.study.hosts import fitness

MODULES: Mapping[str, str] = {
    "table": "testbed.study.kinds.table",
    "sweep": "testbed.study.kinds.sweep",
    "comparison": "testbed.study.kinds.compare",
    "cross-check": "testbed.study.kinds.cross_check",
    "repetitions": "testbed.study.kinds.same_bytes",
    "claims": "testbed.study.kinds.claims",
}
"""Module of each kind that is verified; imported when it is needed, as it imports the plots."""
Documents = Mapping[str, Callable[[Path], Any]]
"""Readers of documents, by name: text is compared line by line, all else value by value."""


class VerifyRequest(NamedTuple):
    """A study's result folder to verify."""

    folder: Path
    into: Path
    """An empty folder, which its documents and page are written into."""
    rerun: bool
    """Whether figures without data are checked by repeated runs."""
    same_code: bool
    """Whether this checkout made it, so that its words are the same, too."""
    programs: Callable[[Engine], Programs] = lambda engine: engine.build(QuietProgress())
    """The programs of its runs."""


@dataclass(frozen=True)
class Verification:
    """A verified result folder. ``differences`` are from its contents; ``unchecked`` has the parts that can't be
    rederived, and why: with any of them it is incomplete; ``notes`` say what was done; ``checks`` is a line each, for
    people."""

    name: str
    verdict: str
    differences: Messages = field(default_factory=Messages)
    notes: Messages = field(default_factory=Messages)
    checks: list[str] = field(default_factory=list)
    unchecked: Messages = field(default_factory=Messages)
    unreadable: bool = False
    """Whether a file that all else is made of is missing or broken: the only difference says which."""
    parts: list[tuple[str, Path]] | None = None
    """Studies that it is made of, by name, and their folders; None where it is made of runs."""
    scope: list[str] = field(default_factory=list)
    """Notes for the last line of what it is about: a selection, something of the user's own."""
    has_page: bool = True
    """Whether its page can be drawn again."""

    @classmethod
    def of(cls, verdict: Verdict, **found: Any) -> Verification:
        """The verification of a run, table or sweep by its verdict."""
        checks = [f"{check.word:<11} {check.name}: {check.reason}" for check in verdict.checks]
        return cls(f"{verdict.scenario} {verdict.run}", verdict.verdict, checks=checks, **found)

    @property
    def word(self) -> str:
        """``CONFIRMED``, ``NOT CONFIRMED`` or, where it is confirmed but for something unchecked, ``INCOMPLETE``."""
        return "NOT CONFIRMED" if self.differences else "INCOMPLETE" if self.unchecked else "CONFIRMED"

    def take(self, other: Verification, where: str = "") -> None:
        """Add the verification of a part; ``where`` names the part."""
        self.differences.extend(found.at(where) if where else found for found in other.differences)
        self.unchecked.extend(found.at(where) if where else found for found in other.unchecked)
        self.scope.extend(note for note in other.scope if note not in self.scope)


def verify(request: VerifyRequest) -> Verification:
    """The verification, but for its page and its runs; BadInput where a file is missing or broken."""
    kind = importlib.import_module(MODULES[ledger.kind_of(request.folder)])
    request.into.mkdir()
    found: Verification = kind.write_again(request)
    for name, read in kind.DOCUMENTS.items():
        found.differences.extend(_of_document(name, read, request))
    found.differences.extend(ledger.differences_of(request.folder))
    found.differences.extend(fitness.verify_measurements(request.folder, _made_on(request.folder)))
    return found


def elsewhere(name: str) -> Message:
    """Message that the runs of a part are not in the folder, and unchecked."""
    return Message("study.runs-elsewhere", f"{name}: its runs are not in the folder; what they showed is as recorded")


def draw(folder: Path, into: Path) -> None:
    """The page and plots of a study whose kind draws them with its documents."""
    into.mkdir()
    importlib.import_module(MODULES[ledger.kind_of(folder)]).write_again(
        VerifyRequest(folder, into, rerun=False, same_code=True)
    )


def _of_document(name: str, read: Callable[[Path], Any], request: VerifyRequest) -> Iterator[Message]:
    there, again = request.folder / name, request.into / name
    if not again.is_file():
        return  # the kind has said why
    if not there.is_file():
        yield Message("file.not-there", f"{name}: is not there")
        return
    recorded, made = read(there), read(again)
    if isinstance(recorded, str):
        yield from text_differences(name, recorded, made)
    else:
        yield from differences("" if name == "verdict.json" else name, recorded, made)


def _made_on(folder: Path) -> set[str]:
    """The hosts of a cluster that made its runs in real time."""
    made = map(read_json, sorted(folder.glob("cells/**/provenance.json")))
    return {run["worker"] for run in made if run.get("worker") and not is_exact(run)}
