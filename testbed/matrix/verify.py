"""Judges a table again: its runs from their raw data, and its figures and verdict from its runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.checks.result import Verdict
from testbed.checks.verify import differences, read_json, read_verdict, verify
from testbed.errors import BadInput
from testbed.matrix import load as table_file
from testbed.matrix import outcome, table_run
from testbed.matrix.load import KEPT_AS, LoadedTable
from testbed.matrix.outcome import Outcome


def verify_table(folder: Path) -> tuple[Verdict, list[str], int]:
    """The verdict by the table's runs, every difference from what is recorded, in words, and the number of runs.

    Cells that this machine could not run are taken from the record. Raises BadInput where a file is missing or
    broken.
    """
    recorded, document = read_verdict(folder), read_json(folder / "table.json")
    runs = sorted(path.parent for path in folder.glob("cells/*/*/*/*/verdict.json"))
    runs = [run for run in runs if not run.is_symlink()]
    found = [text for run in runs for text in _of_run(folder, run)]
    again, figures = _again(folder, document)
    found += differences("table.json", document, figures)
    found += differences("", recorded.to_json(), again.to_json())
    return again, found, len(runs)


def _of_run(folder: Path, run: Path) -> Iterator[str]:
    if read_verdict(run).broken:
        return  # it has no figures, and its table says so
    _, found = verify(run)
    yield from (f"{run.relative_to(folder)}: {text}" for text in found)


def _again(folder: Path, document: dict[str, Any]) -> tuple[Verdict, dict[str, Any]]:
    loaded, asked, selection = _asked(folder, document)
    outcomes = list(_outcomes(folder, document, selection))
    bounds = {row["name"]: row["bounds"] for row in document["rows"]}
    with tempfile.TemporaryDirectory(prefix="ncp-verify-") as place:
        verdict = table_run.write(loaded, asked, selection, bounds, Path(place), document["run"], outcomes)
        return verdict, read_json(Path(place) / "table.json")


def _asked(
    folder: Path, document: dict[str, Any]
) -> tuple[LoadedTable, table_run.Asked, table_run.Selection]:
    file, matrix = folder / KEPT_AS, read_json(folder / "matrix.json")
    if not file.is_file():
        raise BadInput(
            f"{folder}: has no {KEPT_AS}, so what was asked of the table is not known",
            f"Verify its runs: {folder}/cells/*/*/*/*-*",
        )
    loaded = table_file.load(str(file))
    loaded = LoadedTable(loaded.table, file, loaded.document, tuple(document["overrides"]))
    own = {str(column.name) for column in loaded.table.columns if column.name}
    columns = table_file.contenders(loaded.table, [name for name in matrix["columns"] if name not in own])
    rows = {row.name: row for row in loaded.table.rows}
    asked = table_run.Asked(engine=document["engine"], quick=document["quick"])
    return loaded, asked, table_run.Selection(
        {name: rows[name] for name in matrix["rows"]},
        {column.name: column for column in columns if column.name in matrix["columns"]},
        int(matrix["repeat"]),
        whole=bool(matrix["whole"]),
    )  # fmt: skip


def _outcomes(folder: Path, document: dict[str, Any], selection: table_run.Selection) -> Iterator[Outcome]:
    kept = {(o["row"], o["column"], o["repetition"]): o for o in document["outcomes"]}
    for cell in selection.cells():
        recorded = kept.get((cell.row, cell.column, cell.repetition))
        found = outcome.read_standing(cell.row, cell.column, cell.repetition, folder / cell.folder)
        if found:
            yield found
        elif recorded and recorded["verdict"] == "unsupported":
            yield Outcome(**recorded)
