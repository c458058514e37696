"""Checks that the scenario, table or sweep in a result is the one that is known by its name: this checkout's, the
recorded commit's, or an earlier one of that commit's history.

Documents are compared as they are read, with what they extend and without comments. Nothing that the result says of
itself decides whether that is checked.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from testbed import confine, paths
from testbed.archive.provenance_check import known_commit, text_at
from testbed.errors import BadInput
from testbed.judge.history import answer
from testbed.message import Message, Messages
from testbed.plan.model import Plan
from testbed.scenario.extended import extended
from testbed.scenario.files import LINKS, is_path, read
from testbed.scenario.kept import TEXT
from testbed.scenario.load import parse, plain
from testbed.study.kinds import table_file
from testbed.study.kinds.table import differences_from
from testbed.study.kinds.table_file import KEPT_AS
from testbed.study.kinds.table_result import COLUMN, ROW
from testbed.study.ledger import is_plain_name
from testbed.study.verify import Verification

FOLDERS = ("scenarios", f"scenarios/{LINKS}", "scenarios/tables", "scenarios/sweeps")
OF_A_SCENARIO = ("scenario.not-the-commit-s", "scenario.of-unknown-origin", "scenario.of-a-cell")
"""Codes of what is found of a run's scenario. A table's cell is held to the table instead, where that is verified."""


@dataclass(frozen=True)
class Version:
    """A file of the checkout (``commit`` is "") or of a commit, at its ``place``."""

    commit: str
    place: str
    text: bytes

    @cached_property
    def document(self) -> dict[str, Any]:
        """All of it, with what it extends; raises BadInput."""
        return plain(extended(Path(self.place), _parsed(self.place, self.text), self._base))  # type: ignore[no-any-return]

    def _base(self, name: str, file: Path) -> tuple[Path, dict[str, Any]]:
        named = [str(file.parent / name)] if is_path(name) else [f"{folder}/{name}.yaml" for folder in FOLDERS[:2]]
        for place in map(os.path.normpath, named):
            if (text := _text(self.commit, place)) is not None:
                return Path(place), _parsed(place, text)
        raise BadInput("extends.not-at-its-commit", f"{file}: {name}: there is no such scenario file")

    def cells(self, plan: Plan) -> Iterator[tuple[dict[str, Any], str | None]]:
        """The scenarios, each with the traffic in NCP's place, that it has for a table's cell with the plan's title: of
        a table with the plan's overrides, of a scenario that is repeated with those of ``--quick`` alone."""
        quick, title, given = bool(plan["quick"]), str(plan["title"]), [str(text) for text in plan["overrides"]]
        with tempfile.TemporaryDirectory(prefix="ncp-verify-") as scratch, confine.to(Path(scratch)):
            file = self.kept_in(Path(scratch))
            for assignments in ([], given) if "rows" in self.document else ([],):
                if "rows" in self.document:
                    loaded = table_file.load(file, assignments, quick=quick)
                else:
                    loaded = table_file.repeated(file, assignments, quick=quick, repeat=2, seed=None)
                columns = table_file.columns_of(loaded.table, {session["policy"]: 0 for session in plan["sessions"]})
                for row in loaded.table.rows:
                    for column in columns.values():
                        if title == f"{loaded.table.title}: {row.label or row.name}, {column.name}":
                            text = table_file.scenario_of(loaded, row, column).text
                            yield plain(parse(Path(file), text, "")), column.carrier

    def kept_in(self, folder: Path) -> str:
        """Write the document into a folder; returns the file's path."""
        file = folder / Path(self.place).name
        YAML(typ="safe").dump(self.document, file)
        return str(file)


def check_scenario(folder: Path, plan: Plan, recorded: Mapping[str, Any], verified: Verification) -> None:
    """A run's scenario, or that of a table's cell by its table."""
    try:
        there, carrier, name = _kept(folder / TEXT), plan["sessions"][0].get("carrier"), str(plan["scenario"])
    except BadInput:
        return  # no plan can be made of it, which is a difference
    is_cell = str(plan["title"]).endswith(f": {ROW}, {COLUMN}")

    of_a_cell = Message(
        "scenario.of-a-cell",
        f"{TEXT}: is that of a cell of {name}, which does not follow from it alone; verify the whole result",
    )

    def differing(version: Version) -> Sequence[Message]:
        nonlocal is_cell
        is_cell = is_cell or "rows" in version.document
        if is_cell and (there, carrier) in version.cells(plan):
            return ()
        return [*_differing(TEXT, there, version), *([] if carrier is None else [of_a_cell])]

    found = Verification("", "")
    _check("scenario", name, differing, recorded, found)
    if (is_cell and (found.differences or found.unchecked)) or (carrier and found.scope):
        verified.unchecked.append(of_a_cell)
    else:
        verified.take(found)
        verified.notes.extend(found.notes)


def check_table(folder: Path, recorded: Mapping[str, Any], verified: Verification) -> None:
    """A table, or a scenario that is repeated, with the overrides that are recorded."""
    name = str(_kept(folder / KEPT_AS).get("name"))

    def differing(version: Version) -> Sequence[Message]:
        with tempfile.TemporaryDirectory(prefix="ncp-verify-") as scratch, confine.to(Path(scratch), folder):
            found = differences_from(version.kept_in(Path(scratch)), folder)
        return [one.at(f"commit {version.commit:.12}, {version.place}") for one in found]

    _check("table", name, differing, recorded, verified)


def check_sweep(folder: Path, recorded: Mapping[str, Any], verified: Verification) -> None:
    """A sweep, and the scenario that it is of, as they were before overrides."""
    sweep = _kept(folder / "sweep.yaml")
    files = {"sweep.yaml": ("sweep", str(sweep.get("name")), sweep)}
    if (folder / TEXT).is_file():  # earlier folders have none
        scenario, base = _kept(folder / TEXT), str(sweep.get("scenario"))
        files[TEXT] = ("scenario", str(scenario.get("name")) if is_path(base) else base, scenario)
    for file, (what, name, there) in files.items():
        _check(what, name, partial(_differing, file, there), recorded, verified)


def _kept(file: Path) -> dict[str, Any]:
    return plain(parse(file, read(file), "should be a mapping"))  # type: ignore[no-any-return]


def _differing(file: str, there: Mapping[str, Any], version: Version) -> Sequence[Message]:
    if there == version.document:
        return ()
    by = f"the recorded commit {version.commit:.12}" if version.commit else "this checkout"
    return [Message("scenario.not-the-commit-s", f"{file}: is not the {version.place} of {by}")]


def _check(
    what: str,
    name: str,
    differing: Callable[[Version], Sequence[Message]],
    recorded: Mapping[str, Any],
    verified: Verification,
) -> None:
    """Take what is found where no version of that name agrees."""
    commit, theirs, is_known = known_commit(recorded), Messages(), False
    for version in _versions(name, recorded):
        is_known = True
        try:
            found = differing(version)
        except BadInput:  # this checkout can't read it
            continue
        if not found:
            if version.commit not in ("", commit):
                verified.notes.add_message(
                    "scenario.of-an-earlier-commit",
                    f"{what} {name}: is that of the earlier commit {version.commit:.12}",
                )
            return
        if version.commit == commit and not theirs:
            theirs.extend(found)
    if not is_known:
        verified.scope.append(f"a {what} of the user's own")
    elif commit and theirs and recorded.get("uncommitted_changes") is False and not recorded.get("of_commit"):
        verified.differences.extend(theirs)
    else:
        verified.unchecked.add_message(
            "scenario.of-unknown-origin",
            f"{what} {name}: is not this checkout's of that name, nor one of a commit that it would have to be of",
        )


def _versions(name: str, recorded: Mapping[str, Any]) -> Iterator[Version]:
    """Versions that are known by a name, as far as this checkout has them, each once: its own, the recorded commit's,
    earlier ones. That of the agent's commit is not that of the scenario, which may be of any commit."""
    places = [f"{folder}/{name}.yaml" for folder in FOLDERS] if is_plain_name(name) else []
    commit, seen = known_commit(recorded), set()
    newest = "HEAD" if recorded.get("of_commit") else commit
    log = answer("log", "--format=%H", newest, "--", *places) if commit and places else None
    for one in dict.fromkeys(["", *filter(None, [commit]), *(log or b"").decode().split()]):
        for place in places:
            content = _text(one, place)
            if content is not None and (one == commit or content not in seen):
                seen.add(content)
                yield Version(one, place, content)


def _text(commit: str, place: str) -> bytes | None:
    if commit:
        return text_at(commit, place)[1]
    file = paths.CHECKOUT / place
    return file.read_bytes() if file.is_file() else None


def _parsed(place: str, text: bytes) -> dict[str, Any]:
    return parse(Path(place), text.decode("utf-8", "replace"), "a mapping")
