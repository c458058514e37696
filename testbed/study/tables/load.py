"""Reads a table file, and makes the scenario of each of its cells."""

from __future__ import annotations

import copy
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from testbed.errors import BadInput
from testbed.scenario import files
from testbed.scenario.load import LoadedScenario, parse, plain, validated
from testbed.scenario.model import Scenario
from testbed.scenario.overrides import apply_override, split_assignment
from testbed.scenario.quick import apply_quick
from testbed.study.cell import folder_of
from testbed.study.tables.model import Column, Row, Table

KEPT_AS = "table.yaml"
"""A table in its result folder, as it was run: with what ``--quick`` and ``--set`` changed."""


@dataclass(frozen=True)
class LoadedTable:
    """A validated table, its file, and its document with what ``--quick`` and ``--set`` changed."""

    table: Table
    path: Path
    document: CommentedMap
    overrides: tuple[str, ...]
    changed: bool = False
    """Whether ``--set`` changed it, beyond what ``--quick`` does."""


@dataclass(frozen=True)
class Contender:
    """A column as it is run: ``policies: all`` has become one for each."""

    name: str
    column: Column
    set: dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One run to be made: a place in the table and its repetition from 1."""

    row: str
    column: str
    repetition: int

    @property
    def place(self) -> tuple[str, str, int]:
        """All of it."""
        return self.row, self.column, self.repetition

    @property
    def at(self) -> dict[str, str]:
        """Its points in the study that the table is."""
        return {"row": self.row, "column": self.column, "repetition": str(self.repetition)}

    @property
    def folder(self) -> Path:
        """Where its runs go, in the table's result folder."""
        return folder_of(*self.at.values())


@dataclass(frozen=True)
class Selection:
    """The rows, columns and repetitions that are run."""

    rows: Mapping[str, Row]
    columns: Mapping[str, Contender]
    repeat: int
    whole: bool

    def cells(self) -> list[Cell]:
        """In the order that they are run in: whole tables one after the other, so that what changes on the machine
        meanwhile meets all rows and columns alike."""
        return sorted(self.by_place(), key=lambda cell: cell.repetition)

    def by_place(self) -> list[Cell]:
        """Row by row, the repetitions of a place one after the other."""
        return [
            Cell(row.name, column, repetition)
            for row in self.rows.values()
            for column in self.columns
            for repetition in range(1, min(row.repeat or self.repeat, self.repeat) + 1)
        ]


def load(name: str, assignments: Sequence[str] = (), *, quick: bool = False) -> LoadedTable:
    """Read, override and validate; raises :class:`BadInput`. ``assignments`` change the cells' scenario."""
    path = files.find(name, "table", files.tables())
    document = parse(path, files.read(path), "a table is a mapping with name, cells, rows, columns")
    applied = apply_quick(path, document, Table.model_fields) if quick else []
    table = validated(Table, path, document, applied)
    split = [split_assignment(text) for text in assignments]
    for row in document["rows"]:
        # After what the row sets, so that --set has the last word.
        row.setdefault("set", CommentedMap())
        for key, value in split:
            row["set"][key] = value
    return LoadedTable(table, path, document, (*applied, *assignments), bool(assignments))


def keep(loaded: LoadedTable, folder: Path) -> None:
    """Write the table into its result folder, to be judged again by what it asked when it was run."""
    with (folder / KEPT_AS).open("w", encoding="utf-8") as file:
        YAML().dump(loaded.document, file)  # in its own order, which tables keep to


def contenders(table: Table, policies: Sequence[str]) -> list[Contender]:
    """The columns, with one for each policy where all are asked for."""
    found = []
    for column in table.columns:
        if column.policies:
            found += [Contender(name, column, {**column.set, "ncp.policy": name}) for name in policies]
        else:
            found.append(Contender(str(column.name), column, dict(column.set)))
    names = [contender.name for contender in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise BadInput(
            "table.column-twice", "two columns are named {column!r}; give each a name of its own", column=twice.pop()
        )
    return found


def scenario_of(loaded: LoadedTable, row: Row, contender: Contender) -> LoadedScenario:
    """The scenario of a cell; raises :class:`BadInput` that names row and column."""
    document = copy.deepcopy(loaded.document["cells"])
    if not isinstance(document, CommentedMap):
        raise BadInput("table.bad-cells", "{path}: cells should be a scenario without name and title", path=loaded.path)
    row_document = next(r for r in loaded.document["rows"] if str(r["name"]) == row.name)
    origin = f"{loaded.path}: row {row.name}, column {contender.name}"
    applied = []
    changes: list[tuple[str, Any]] = [*(row_document.get("set") or {}).items(), *contender.set.items()]
    for key, value in changes:
        apply_override(document, str(key), value, origin=origin)
        if not isinstance(value, (list, dict)):
            applied.append(f"{key}={value}")
    document["name"] = loaded.table.name
    document["title"] = f"{loaded.table.title}: {row.label or row.name}, {contender.name}"
    document["source"] = loaded.table.source
    try:
        scenario = validated(Scenario, loaded.path, document)
    except BadInput as error:
        cell = {"row": row.name, "column": contender.name}
        raise error.at("", f" (row {row.name}, column {contender.name})", **cell) from error
    text = io.StringIO()
    YAML(typ="safe").dump(plain(document), text)
    return LoadedScenario(scenario, loaded.path, text.getvalue(), tuple(applied))


def select(what: str, asked: str, known: Sequence[str]) -> list[str]:
    """``1,3`` of what there is, in the table's order; all without anything. BadInput names what there is not."""
    wanted = [part.strip() for part in asked.split(",") if part.strip()]
    for name in wanted:
        if name not in known:
            raise BadInput(
                "table.no-such-part",
                "--{what}: there is no {kind} {name!r}; {what}: {known}",
                what=what,
                kind=what.removesuffix("s"),
                name=name,
                known=", ".join(known),
            )
    return [name for name in known if not wanted or name in wanted]
