"""A table from its file to its verdict: set up, run or resume its cells, judge, report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from testbed import engines, paths, traffic
from testbed.documents import entry_of, read_json, write_json
from testbed.engines import Engine, Options, Programs
from testbed.judge import expected_failures
from testbed.judge.checks import planned
from testbed.judge.checks.result import Verdict
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.figures import GOODPUT, unit_of
from testbed.judge.status import Status
from testbed.machine import Need
from testbed.plan.duration import expected_transfer_s
from testbed.plan.engines import DEFAULT
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices
from testbed.planning.sessions import PolicyFacts
from testbed.runtime.progress import Progress
from testbed.scenario.load import plain
from testbed.scenario.quick import variant_of
from testbed.study.cell import ScenarioCell, ready, refuse_if_none_can_be_made
from testbed.study.checks.table import DifferenceCheck, RatioCheck, judge_table
from testbed.study.kinds import table_file
from testbed.study.kinds.table_file import GainPlot, LoadedTable, Selection, Table, scenario_of
from testbed.study.kinds.table_result import (
    SCHEMA,
    Outcome,
    Place,
    RowSummary,
    in_table,
    missing,
    outcomes_of,
    summarise,
    write_csv,
)
from testbed.study.report import page, points
from testbed.study.result import CellResult
from testbed.study.run import Begun, StudySpec, run_study

GOODPUTS_BPS = {GOODPUT: 8 * 2**20, "goodput_mbps": 1e6, "goodput_bps": 1, "throughput_mbps": 1e6}
"""Figures that links bound, and the bits per second in one of their unit."""


class Document(TypedDict):
    """``table.json``."""

    schema: Literal[3]
    name: str
    run: str
    title: str
    source: str
    description: str
    figures: list[str]
    engine: str
    quick: bool
    repeat: int
    overrides: list[str]
    columns: list[str]
    rows: list[Annotated[dict[str, Any], entry_of(RowSummary)]]
    ratios: list[tuple[str, str]]
    """Pairs of columns that are compared."""
    plots: list[Annotated[dict[str, Any], entry_of(GainPlot)]]
    findings: list[str]
    outcomes: list[Annotated[dict[str, Any], entry_of(Outcome)]]


@dataclass(frozen=True)
class TableRequest:
    """Options of the command line for the runs of a table, or of what is compared."""

    repeat: int | None = None
    rows: str = ""
    columns: str = ""
    runtime: Literal["docker", "process"] = "docker"
    link: Literal["auto", "netem", "relay"] = "auto"
    engine: str = DEFAULT
    quick: bool = False
    resume: str = ""

    @property
    def options(self) -> Options:
        """Options of its runs."""
        return engines.named(self.engine).options(self.runtime, self.link, quick=self.quick)

    @property
    def choices(self) -> Choices:
        """Choices for each of its runs, but for the seed."""
        return engines.named(self.engine).choices(self.options)


def cells_of(
    loaded: LoadedTable, selection: Selection, programs: Programs, choices: Choices, places: Sequence[Place]
) -> list[ScenarioCell]:
    """The cell of each place; repetitions have the next seeds."""
    rows, columns = selection.rows, selection.columns
    scenarios = {
        (row, column): scenario_of(loaded, rows[row], columns[column])
        for row, column in dict.fromkeys((place.row, place.column) for place in places)
    }
    return [
        ScenarioCell(
            place.at,
            scenarios[place.row, place.column],
            replace(choices, seed=loaded.table.seed + place.repetition - 1),
            programs,
            columns[place.column].carrier,
            columns[place.column].congestion_control,
            name=str(place),
        )
        for place in places
    ]


def _describe(result: CellResult, figure: str) -> str:
    """The cell's value of a figure, and its verdict."""
    record = in_table(result).record
    value = f"{record.figures[figure]:.4g} {unit_of(figure)}, " if figure in record.figures else ""
    again = f", {result.attempts} attempts" if result.attempts > 1 else ""
    why = f": {record.reason[:160]}" if record.reason else ""
    return f"{value}{record.status}{again}{why}"


def select(loaded: LoadedTable, request: TableRequest, policies: PolicyFacts) -> Selection:
    """Raises :class:`BadInput` for a row or column that there is none of."""
    rows = {row.name: row for row in loaded.table.rows}
    columns = table_file.columns_of(loaded.table, list(policies))
    chosen_rows = table_file.select("rows", request.rows or ",".join(loaded.table.only or ()), list(rows))
    chosen_columns = table_file.select("columns", request.columns, list(columns))
    return Selection(
        {name: rows[name] for name in chosen_rows},
        {name: columns[name] for name in chosen_columns},
        request.repeat or loaded.table.repeat,
        whole=len(chosen_rows) == len(rows) and len(chosen_columns) == len(columns),
    )


def plans_of(loaded: LoadedTable, request: TableRequest, programs: Programs | None = None) -> list[tuple[Place, Plan]]:
    """Every cell that would be run with its plan; all is validated on the way. ``programs``: where they are there
    already."""
    programs = programs or engines.named(request.engine).prepare_plans(Progress())
    selection = select(loaded, request, programs.policies)
    cells = cells_of(loaded, selection, programs, request.choices, selection.places())
    return [(place, cell.plan) for place, cell in zip(selection.places(), cells, strict=True)]


def tell(loaded: LoadedTable, request: TableRequest) -> None:
    """Print the cells, with the time that the transfer of each takes."""
    planned = [(cell, expected_transfer_s(plan)) for cell, plan in plans_of(loaded, request)]
    for cell, seconds in planned:
        print(f"row {cell.row:<8} {cell.column:<14} #{cell.repetition}  {seconds:5.1f} s of transfer")
    print(f"{len(planned)} runs, {sum(seconds for _, seconds in planned) / 60:.1f} min of transfer")


def run(
    loaded: LoadedTable, request: TableRequest, progress: Progress | None = None, base: Path | None = None
) -> Verdict:
    """Everything; the table's verdict is in its result folder, too: below ``base``, if that is given."""
    progress = progress or Progress()
    engine = engines.named(request.engine)
    programs = ready(engine, request.options, progress, loaded.table.name, further_needs(loaded, engine))
    begun = begin(loaded, request, programs, base or paths.results())
    results: dict[str, CellResult] = {}
    resume_by, each = f"add --resume {begun.folder.name} to the same command", lambda of: results.update({of.cell: of})
    try:
        run_study(begun.spec, begun.folder, progress, resume_by=resume_by, describe=begun.describe, each=each)
    finally:
        if results:
            verdict = begun.finish(results)
    if untrusted := sum(result.status == Status.UNTRUSTED for result in results.values()):
        progress.say(f"{untrusted} of {len(results)} runs can't be trusted. To repeat them, {resume_by}")
    return verdict


def begin(loaded: LoadedTable, request: TableRequest, programs: Programs, results: Path) -> Begun:
    """Begin in a result folder in ``results``, or in the one to resume.

    Raises:
        BadInput: something is wrong with a cell, or with what is to be resumed.
        Unsupported: none of its cells can be run here.
    """
    engine, name = engines.named(request.engine), loaded.table.name
    selection = select(loaded, request, programs.policies)
    cells = cells_of(loaded, selection, programs, request.choices, selection.places())
    refuse_if_none_can_be_made(cells)  # what is wrong with any of them is told before anything is made
    bounds = _bounds(loaded.table, cells)
    spec, folder = folder_of(loaded, request, selection, cells, results)
    form = variant_of(changed=loaded.changed, quick=request.quick)
    expected = expected_failures.read().of_run(name, engine.name, form)

    def finish(results: Mapping[str, CellResult]) -> Verdict:
        found = [in_table(result) for result in results.values()]
        verdict = write(loaded, request, selection, bounds, folder, folder.name, found, expected)
        if len(results) == len(cells):
            if endpoint := engine.database():
                points.store(endpoint, read_json(folder / "table.json"), form, time.time_ns())
            page.write_table(folder)
        return verdict

    return Begun(spec, folder, finish, lambda result: _describe(result, loaded.table.figures[0]))


def further_needs(loaded: LoadedTable, engine: Engine) -> frozenset[Need]:
    """Needs of columns of a machine whose own kernel carries the runs."""
    if engine.facts.virtual_time:
        return frozenset()
    carriers = {column.carrier for column in loaded.table.columns if column.carrier}
    return frozenset[Need]().union(*(traffic.named(carrier).needs for carrier in carriers))


def folder_of(
    loaded: LoadedTable, request: TableRequest, selection: Selection, cells: Sequence[ScenarioCell], results: Path
) -> tuple[StudySpec, Path]:
    """The table as a study, and its result folder in ``results``: a new one, or that of a table to resume; raises
    BadInput."""
    identity = {
        "rows": list(selection.rows),
        "columns": list(selection.columns),
        "repeat": selection.repeat,
        "runtime": request.runtime,
        "link": request.link,
        "engine": request.engine,
        "quick": request.quick,
        "cells": plain(loaded.document["cells"]),
        "settings": {name: plain(dict(row.set)) for name, row in selection.rows.items()},
        "overrides": list(loaded.overrides),
    }
    how = engines.named(request.engine).describe(cells[0].plan, request.options)[0] if cells else ""
    spec = StudySpec("table", loaded.table.name, cells, identity, how, sum(cell.transfer_s for cell in cells))
    folder = spec.begin(results / loaded.table.name, request.resume, whole=selection.whole)
    table_file.keep(loaded, folder)  # its checks, by which it is judged from here on
    return spec, folder


def write(
    loaded: LoadedTable,
    request: TableRequest,
    selection: Selection,
    bounds: Mapping[str, Mapping[str, float]],
    folder: Path,
    run_id: str,
    results: Sequence[CellResult],
    expected: Mapping[str, ExpectedFailure],
) -> Verdict:
    """``table.json``, ``table.csv`` and, when all cells are there, ``verdict.json``: a table that is not complete has
    figures, but no verdict. ``expected`` are expected failures, by check."""
    table, columns = loaded.table, list(selection.columns)
    made = {found.cell: found for found in results}
    wanted = {place: made.get(place.cell) for place in selection.places()}
    cells = [found or missing(place) for place, found in wanted.items()]
    summaries = summarise(table, list(selection.rows), columns, bounds, cells)
    document: Document = {
        "schema": SCHEMA,
        "name": table.name,
        "run": run_id,
        "title": table.title,
        "source": table.source,
        "description": table.description.strip(),
        "figures": list(table.figures),
        "engine": request.engine,
        "quick": request.quick,
        "repeat": selection.repeat,
        "overrides": list(loaded.overrides),
        "columns": columns,
        "rows": [asdict(summary) for summary in summaries],
        "ratios": _ratios(loaded, columns),
        "plots": [plot.model_dump() for plot in table.plots],
        "findings": table.findings,
        "outcomes": outcomes_of(cells),
    }
    write_json(folder / "table.json", document)
    write_csv(summaries, columns, folder / "table.csv")
    partial = request.quick or not selection.whole
    verdict = judge_table(table, run_id, summaries, cells, partial=partial, engine=request.engine, expected=expected)
    if None not in wanted.values():
        write_json(folder / "verdict.json", verdict.to_json())
    return verdict


def _ratios(loaded: LoadedTable, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns to be compared: those of the checks, and each of NCP's with each of its peers."""
    pairs = [(c.column, c.over) for c in loaded.table.checks if isinstance(c, (DifferenceCheck, RatioCheck))]
    peers = [str(c.name) for c in loaded.table.columns if c.carrier]
    pairs += [(column, peer) for peer in peers for column in columns if column not in peers]
    return [(a, b) for a, b in dict.fromkeys(pairs) if a in columns and b in columns]


def _bounds(table: Table, cells: Sequence[ScenarioCell]) -> dict[str, dict[str, float]]:
    """Bounds of each row's payload by its links, from its first cell, for the table's figures that are a goodput."""
    first = {cell.at["row"]: cell.plan for cell in reversed(cells)}
    bounds_bps = {row: planned.bound_bps(plan, plan["sessions"][0]) for row, plan in first.items()}
    figures = [figure for figure in table.figures if figure in GOODPUTS_BPS]
    return {
        row: {figure: round(bound_bps / GOODPUTS_BPS[figure], 6) for figure in figures}
        for row, bound_bps in bounds_bps.items()
    }
