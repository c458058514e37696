"""Makes a table again from its runs: its figures, its verdict, and what each of its cells was to be."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.documents import read_json, write_json
from testbed.errors import BadInput
from testbed.judge.status import Status, current_table
from testbed.judge.verify import Difference, differences, read_verdict, unlisted
from testbed.message import Message, Messages
from testbed.plan.model import Variant
from testbed.scenario import load as scenarios
from testbed.scenario.files import read
from testbed.scenario.load import parse, plain
from testbed.scenario.quick import variant_of
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file
from testbed.study.kinds.table import TableRequest
from testbed.study.kinds.table_file import COLUMN, KEPT_AS, ROW, LoadedTable, Selection, repeated, scenario_of
from testbed.study.kinds.table_result import Place, read_cell, read_table, results_of
from testbed.study.ledger import request_of
from testbed.study.result import CellResult
from testbed.study.verify import Documents, Verification, VerifyRequest

DOCUMENTS: Documents = {
    "table.json": lambda path: read_table(path.parent),
    "table.csv": lambda path: current_table(read(path)),
    "verdict.json": lambda path: read_verdict(path.parent).to_json(),
}


def write_again(request: VerifyRequest) -> Verification:
    """Write the documents by the table's runs; cells that this machine could not run are taken from the record. Raises
    BadInput where a file is missing or broken."""
    folder = request.folder
    recorded, document = read_verdict(folder), read_table(folder)
    kept, selection = table_file.requested(folder)
    if kept is None:
        raise BadInput(
            "table.no-request",
            f"{folder}: has no {KEPT_AS}, which has the request",
            f"Verify its runs: {folder}/cells/*/*/*/*-*",
        )
    loaded = replace(kept, overrides=tuple(document["overrides"]))
    requested = TableRequest(engine=document["engine"], quick=document["quick"])
    results = list(_results(folder, document, selection))
    bounds = {row["name"]: row["bounds"] for row in document["rows"]}
    again = table_run.write(
        loaded, requested, selection, bounds, request.into, document["run"], results, recorded.expected
    )
    write_json(request.into / "verdict.json", again.to_json())  # of one that is not complete, too
    form = variant(folder, document["name"]) if recorded.expected else ""
    unchecked = [
        Message("run.unsupported-here", f"{Place.of(cell)}: no run is in the folder: {cell.record.reason}")
        for cell in results
        if cell.status == Status.UNSUPPORTED and not cell.record.run
    ]
    return Verification.of(
        again,
        differences=Messages(_cells(folder, loaded, selection)),
        unchecked=Messages(unchecked),
        unlisted=list(unlisted(document["name"], document["engine"], form, recorded)),
    )


def is_repeated(folder: Path) -> bool:
    """Whether it is a scenario that was repeated."""
    matrix = request_of(folder)
    return bool(matrix["rows"] == [ROW] and matrix["columns"] == [COLUMN])


def variant(folder: Path, file: str) -> Variant:
    """``full``, ``quick`` or ``changed``, of a result of a table or a repeated scenario: its name, or its file."""
    document = read_json(folder / "table.json")
    changed = _assignments(file, document, is_repetition=document["columns"] == [COLUMN])
    return variant_of(changed=changed, quick=document["quick"])


def _assignments(file: str, document: Mapping[str, Any], *, is_repetition: bool) -> list[str]:
    """The recorded overrides that are not of the file's own ``quick`` section, which come first: those of ``--set``."""
    quick = bool(document["quick"])
    if is_repetition:
        own = scenarios.document_of(file, [], quick=quick)[2]
    else:
        own = list(table_file.load(file, quick=quick).overrides)
    return [str(text) for text in document["overrides"][len(own) :]]


def asked_by(folder: Path, file: Path) -> list[Difference]:
    """Differences between the table in the folder and that of ``file``, a table's or a repeated scenario's, with the
    recorded overrides."""
    document, matrix = read_table(folder), request_of(folder)
    kept, quick, is_repetition = folder / KEPT_AS, bool(document["quick"]), is_repeated(folder)
    assignments = _assignments(str(file), document, is_repetition=is_repetition)
    if is_repetition:
        seed = table_file.load(str(kept)).table.seed
        again = repeated(str(file), assignments, quick=quick, repeat=int(matrix["repeat"]), seed=seed)
    else:
        again = table_file.load(str(file), assignments, quick=quick)
    with tempfile.TemporaryDirectory(prefix="ncp-verify-") as place:
        table_file.keep(again, Path(place))
        there, should = (
            plain(parse(path, read(path), "a table is a mapping")) for path in (kept, Path(place, KEPT_AS))
        )
    return list(differences(KEPT_AS, there, should))


def _cells(folder: Path, loaded: LoadedTable, selection: Selection) -> Iterator[Difference]:
    """Differences between a cell's run and the scenario and seed of the table."""
    for place in selection.places():
        requested = scenario_of(loaded, selection.rows[place.row], selection.columns[place.column])
        should = plain(parse(loaded.path, requested.text, "a scenario is a mapping"))
        for plan_file in sorted((folder / place.folder).glob("*/plan.json")):
            run = plan_file.parent
            if run.is_symlink():
                continue
            where, plan, kept = str(run.relative_to(folder)), read_json(plan_file), run / "scenario.yaml"
            there = plain(parse(kept, read(kept), "a scenario is a mapping"))
            yield from differences(f"{where}: scenario.yaml", there, should)
            chosen = {"seed": plan.get("seed"), "overrides": plan.get("overrides")}
            seed = loaded.table.seed + place.repetition - 1
            yield from differences(
                f"{where}: plan.json", chosen, {"seed": seed, "overrides": list(requested.overrides)}
            )


def _results(folder: Path, document: dict[str, Any], selection: Selection) -> Iterator[CellResult]:
    kept = {cell.cell: cell for cell in results_of(document)}
    for place in selection.places():
        recorded = kept.get(place.cell)
        if found := read_cell(place, folder / place.folder):
            yield found
        elif recorded and recorded.status == Status.UNSUPPORTED:
            yield recorded
