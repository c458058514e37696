"""A table from its file to its verdict: set up, run or resume its cells, judge, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from testbed import engines, paths, traffic
from testbed.documents import entry_of, read_json, write_json
from testbed.engines import Engine, Options, Programs
from testbed.judge import expected_failures
from testbed.judge.checks import asked as plans
from testbed.judge.checks.result import Verdict
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.figures import GOODPUT, unit_of
from testbed.judge.status import Status
from testbed.machine import Need
from testbed.plan.default_engine import DEFAULT
from testbed.plan.duration import expected_transfer_s
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices
from testbed.planning.sessions import PolicyFacts
from testbed.runtime.progress import Progress
from testbed.scenario.load import plain
from testbed.scenario.quick import variant_of
from testbed.study.cell import ScenarioCell, ready, refuse_if_none_can_be_made
from testbed.study.checks.table import DifferenceCheck, RatioCheck, judge_table
from testbed.study.kinds import table_file
from testbed.study.kinds.table_file import Cell, Contender, GainPlot, LoadedTable, Row, Selection, Table, scenario_of
from testbed.study.kinds.table_result import SCHEMA, Outcome, RowSummary, missing, outcome_of, summarise, write_csv
from testbed.study.report import points
from testbed.study.report.table import write_report
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
class Asked:
    """What the command line asks beyond the table."""

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
        """How its runs are made."""
        facts = engines.named(self.engine).facts
        return Options(None if facts.virtual_time else self.runtime, self.link, None, self.quick)


@dataclass(frozen=True)
class TableCells:
    """Makes the cells of one table."""

    loaded: LoadedTable
    rows: Mapping[str, Row]
    columns: Mapping[str, Contender]
    programs: Programs
    choices: Choices

    def cells(self, places: Sequence[Cell]) -> list[ScenarioCell]:
        """What is run in each place; repetitions have the next seeds."""
        scenarios = {
            (row, column): scenario_of(self.loaded, self.rows[row], self.columns[column])
            for row, column in dict.fromkeys((place.row, place.column) for place in places)
        }
        return [
            ScenarioCell(
                place.at,
                scenarios[place.row, place.column],
                replace(self.choices, seed=self.loaded.table.seed + place.repetition - 1),
                self.programs,
                self.columns[place.column].column.carrier,
                self.columns[place.column].column.congestion_control,
                name=f"row {place.row} {place.column} #{place.repetition}",
            )
            for place in places
        ]


def described(figure: str) -> Callable[[CellResult], str]:
    """Says of a cell its value of the headline figure, and its verdict."""

    def describe(result: CellResult) -> str:
        found = outcome_of(result)
        value = f"{found.figures[figure]:.4g} {unit_of(figure)}, " if figure in found.figures else ""
        again = f", {found.attempts} attempts" if found.attempts > 1 else ""
        why = f": {found.why[:160]}" if found.why else ""
        return f"{value}{found.verdict}{again}{why}"

    return describe


def select(loaded: LoadedTable, asked: Asked, policies: PolicyFacts) -> Selection:
    """Raises :class:`BadInput` for a row or column that there is none of."""
    rows = {row.name: row for row in loaded.table.rows}
    columns = {contender.name: contender for contender in table_file.contenders(loaded.table, list(policies))}
    wanted_rows = asked.rows or ",".join(loaded.table.only or ())
    chosen_rows = table_file.select("rows", wanted_rows, list(rows))
    chosen_columns = table_file.select("columns", asked.columns, list(columns))
    return Selection(
        {name: rows[name] for name in chosen_rows},
        {name: columns[name] for name in chosen_columns},
        asked.repeat or loaded.table.repeat,
        whole=len(chosen_rows) == len(rows) and len(chosen_columns) == len(columns),
    )


def plans_of(loaded: LoadedTable, asked: Asked, programs: Programs | None = None) -> list[tuple[Cell, Plan]]:
    """Every cell that would be run with its plan; all is validated on the way. ``programs``: where they are there
    already."""
    progress = Progress()
    programs = programs or engines.named(asked.engine).prepare_plans(progress)
    selection = select(loaded, asked, programs.policies)
    matrix = _cells(loaded, asked, selection, programs)
    places = selection.cells()
    return [(place, cell.plan) for place, cell in zip(places, matrix.cells(places), strict=True)]


def tell(loaded: LoadedTable, asked: Asked) -> None:
    """Print the cells, with the time that the transfer of each takes."""
    planned = [(cell, expected_transfer_s(plan)) for cell, plan in plans_of(loaded, asked)]
    for cell, seconds in planned:
        print(f"row {cell.row:<8} {cell.column:<14} #{cell.repetition}  {seconds:5.1f} s of transfer")
    print(f"{len(planned)} runs, {sum(seconds for _, seconds in planned) / 60:.1f} min of transfer")


def run(loaded: LoadedTable, asked: Asked, progress: Progress | None = None, base: Path | None = None) -> Verdict:
    """Everything; the table's verdict is in its result folder, too: below ``base``, if that is given."""
    progress = progress or Progress()
    engine = engines.named(asked.engine)
    programs = ready(engine, asked.options, progress, loaded.table.name, further_needs(loaded, engine))
    begun = begin(loaded, asked, programs, base or paths.results())
    results: dict[str, CellResult] = {}

    def keep(result: CellResult) -> None:
        results[result.cell] = result

    resume_by = f"add --resume {begun.folder.name} to the same command"
    try:
        run_study(begun.spec, begun.folder, progress, resume_by=resume_by, describe=begun.describe, each=keep)
    finally:
        if results:
            verdict = begun.finish(results)
    if untrusted := sum(result.status == Status.UNTRUSTED for result in results.values()):
        progress.say(f"{untrusted} of {len(results)} runs can't be trusted. To repeat them, {resume_by}")
    return verdict


def begin(loaded: LoadedTable, asked: Asked, programs: Programs, results: Path) -> Begun:
    """With a result folder in ``results``, or the one to resume.

    Raises:
        BadInput: something is wrong with a cell, or with what is to be resumed.
        Unsupported: none of its cells can be run here.
    """
    engine, name = engines.named(asked.engine), loaded.table.name
    selection = select(loaded, asked, programs.policies)
    cells = _cells(loaded, asked, selection, programs).cells(selection.cells())
    refuse_if_none_can_be_made(cells)  # what is wrong with any of them is told before anything is made
    bounds = _bounds(loaded.table, cells)
    spec, folder = folder_of(loaded, asked, selection, cells, results)
    form = variant_of(changed=loaded.changed, quick=asked.quick)
    expected = expected_failures.read().of_run(name, engine.name, form)

    def finish(results: Mapping[str, CellResult]) -> Verdict:
        outcomes = [outcome_of(result) for result in results.values()]
        verdict = write(loaded, asked, selection, bounds, folder, folder.name, outcomes, expected)
        if len(results) == len(cells):
            if endpoint := engine.database():
                points.store(endpoint, read_json(folder / "table.json"), form, time.time_ns())
            write_report(folder)
        return verdict

    return Begun(spec, folder, finish, described(loaded.table.figures[0]))


def further_needs(loaded: LoadedTable, engine: Engine) -> frozenset[Need]:
    """What columns need of a machine whose own kernel carries the runs."""
    if engine.facts.virtual_time:
        return frozenset()
    carriers = {column.carrier for column in loaded.table.columns if column.carrier}
    return frozenset[Need]().union(*(traffic.named(carrier).needs for carrier in carriers))


def _cells(loaded: LoadedTable, asked: Asked, selection: Selection, programs: Programs) -> TableCells:
    choices = engines.named(asked.engine).choices(asked.options)
    return TableCells(loaded, selection.rows, selection.columns, programs, choices)


def folder_of(
    loaded: LoadedTable, asked: Asked, selection: Selection, cells: Sequence[ScenarioCell], results: Path
) -> tuple[StudySpec, Path]:
    """The table as a study, and its result folder in ``results``: a new one, or that of a table to resume; raises
    BadInput."""
    identity = {
        "rows": list(selection.rows),
        "columns": list(selection.columns),
        "repeat": selection.repeat,
        "runtime": asked.runtime,
        "link": asked.link,
        "engine": asked.engine,
        "quick": asked.quick,
        "cells": plain(loaded.document["cells"]),
        "settings": {name: plain(dict(row.set)) for name, row in selection.rows.items()},
        "overrides": list(loaded.overrides),
    }
    how = engines.named(asked.engine).describe(cells[0].plan, asked.options)[0] if cells else ""
    spec = StudySpec("table", loaded.table.name, cells, identity, how, sum(cell.transfer_s for cell in cells))
    folder = spec.begin(results / loaded.table.name, asked.resume, whole=selection.whole)
    table_file.keep(loaded, folder)  # its checks, by which it is judged from here on
    return spec, folder


def write(
    loaded: LoadedTable,
    asked: Asked,
    selection: Selection,
    bounds: Mapping[str, Mapping[str, float]],
    folder: Path,
    run_id: str,
    outcomes: Sequence[Outcome],
    expected: Mapping[str, ExpectedFailure],
) -> Verdict:
    """``table.json``, ``table.csv`` and, when all cells are there, ``verdict.json``: a table that is not complete has
    figures, but no verdict. ``expected`` are expected failures, by check."""
    table, columns = loaded.table, list(selection.columns)
    made = {(found.row, found.column, found.repetition): found for found in outcomes}
    complete = len(made) == len(selection.cells())
    outcomes = [made.get(cell.place) or missing(*cell.place) for cell in selection.cells()]
    summaries = summarise(table, list(selection.rows), columns, bounds, outcomes)
    document: Document = {
        "schema": SCHEMA,
        "name": table.name,
        "run": run_id,
        "title": table.title,
        "source": table.source,
        "description": table.description.strip(),
        "figures": list(table.figures),
        "engine": asked.engine,
        "quick": asked.quick,
        "repeat": selection.repeat,
        "overrides": list(loaded.overrides),
        "columns": columns,
        "rows": [summary.as_json() for summary in summaries],
        "ratios": _ratios(loaded, columns),
        "plots": [plot.model_dump() for plot in table.plots],
        "findings": table.findings,
        "outcomes": [found.as_json() for found in outcomes],
    }
    write_json(folder / "table.json", document)
    write_csv(summaries, columns, folder / "table.csv")
    partial = asked.quick or not selection.whole
    verdict = judge_table(
        table, run_id, summaries, columns, outcomes, partial=partial, engine=asked.engine, expected=expected
    )
    if complete:
        write_json(folder / "verdict.json", verdict.to_json())
    return verdict


def _ratios(loaded: LoadedTable, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns to be compared: those of the checks, and each of NCP's with each of its peers."""
    pairs = [(c.column, c.over) for c in loaded.table.checks if isinstance(c, (DifferenceCheck, RatioCheck))]
    peers = [str(c.name) for c in loaded.table.columns if c.carrier]
    pairs += [(column, peer) for peer in peers for column in columns if column not in peers]
    return [(a, b) for a, b in dict.fromkeys(pairs) if a in columns and b in columns]


def _bounds(table: Table, cells: Sequence[ScenarioCell]) -> dict[str, dict[str, float]]:
    """What each row's links carry of payload, by its first cell, for the table's figures that are a goodput."""
    first = {cell.at["row"]: cell.plan for cell in reversed(cells)}
    bounds_bps = {row: plans.bound_bps(plan, plan["sessions"][0]) for row, plan in first.items()}
    figures = [figure for figure in table.figures if figure in GOODPUTS_BPS]
    return {
        row: {figure: round(bound_bps / GOODPUTS_BPS[figure], 6) for figure in figures}
        for row, bound_bps in bounds_bps.items()
    }
