"""A scenario that is run several times: a table of one cell, whose checks are the scenario's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from testbed import confine
from testbed.errors import BadInput
from testbed.judge.status import Status
from testbed.scenario import load as scenarios
from testbed.scenario.load import validated
from testbed.study.tables.load import Cell, LoadedTable
from testbed.study.tables.model import Table
from testbed.study.tables.outcome import read_table

ROW, COLUMN = "repeated", "runs"


def repeated(name: str, assignments: Sequence[str], *, quick: bool, repeat: int, seed: int | None) -> LoadedTable:
    """The table of ``repeat`` runs of a scenario; raises :class:`BadInput` as the scenario itself does."""
    scenario = scenarios.load(name, assignments, quick=quick).scenario  # its own words for what is wrong
    path, document, applied = scenarios.document_of(name, assignments, quick=quick)
    if repeat < 2:
        raise BadInput("table.too-few-runs", "--repeat: at least 2 runs make a repetition")
    cells = CommentedMap(
        (key, value)
        for key, value in document.items()
        if key not in ("name", "title", "source", "description", "quick")
    )
    table = CommentedMap(
        name=scenario.name,
        title=scenario.title,
        source=scenario.source,
        description=scenario.description,
        repeat=repeat,
        seed=scenario.seed if seed is None else seed,
        cells=cells,
        rows=CommentedSeq([CommentedMap(name=ROW)]),
        columns=CommentedSeq([CommentedMap(name=COLUMN)]),
        checks=CommentedSeq(
            [CommentedMap(name=check.name, judge="each_run", check=check.name) for check in scenario.checks]
        ),
    )
    return LoadedTable(validated(Table, path, table), path, table, tuple(applied), bool(assignments))


def first_run(folder: Path) -> Path | None:
    """The first trusted run of a repeated scenario's result folder; None for any other table, or without one."""
    table = read_table(folder)
    if table["columns"] != [COLUMN]:
        return None
    runs = [
        confine.inside(folder, Cell(found["row"], found["column"], found["repetition"]).folder, found["run"])
        for found in table["outcomes"]
        if found["verdict"] in (Status.PASS, Status.FAIL)
    ]
    return runs[0] if runs else None
