"""A table from its file to its verdict: set up, run or resume its cells, judge, report."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from testbed import build, paths
from testbed.checks import asked as plans
from testbed.checks.result import Verdict
from testbed.checks.verify import read_json
from testbed.errors import BadInput
from testbed.figures import GOODPUT
from testbed.influx import server
from testbed.matrix import load as table_file
from testbed.matrix import points
from testbed.matrix.execute import Matrix
from testbed.matrix.judging import judge_table
from testbed.matrix.load import Cell, Contender, LoadedTable
from testbed.matrix.model import DifferenceCheck, RatioCheck, Row
from testbed.matrix.outcome import Outcome, missing, write_json
from testbed.matrix.report import write_report
from testbed.matrix.summary import summarise, write_csv
from testbed.plan.engines import DEFAULT
from testbed.plan.resolve import Choices, Plan, expected_transfer_s, new_run_id
from testbed.plan.sessions import PolicyFacts
from testbed.runner.progress import Progress
from testbed.scenario.load import plain

GOODPUTS_BPS = {GOODPUT: 8 * 2**20, "goodput_mbps": 1e6, "goodput_bps": 1, "throughput_mbps": 1e6}
"""Figures that links bound, and the bits per second in one of their unit."""


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


@dataclass(frozen=True)
class Selection:
    """The rows, columns and repetitions that are run."""

    rows: dict[str, Row]
    columns: dict[str, Contender]
    repeat: int
    whole: bool

    def cells(self) -> list[Cell]:
        """In the order that they are run in."""
        every = table_file.cells(list(self.rows), list(self.columns), self.repeat)
        return [cell for cell in every if cell.repetition <= (self.rows[cell.row].repeat or self.repeat)]


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


def plans_of(loaded: LoadedTable, asked: Asked) -> list[tuple[Cell, Plan]]:
    """Every cell that would be run with its plan; all is validated on the way."""
    from testbed.doctor import make_ready

    progress = Progress()
    make_ready(progress, "show")
    policies = build.policy_facts(build.build_programs()["ncp-agent"])
    selection = select(loaded, asked, policies)
    matrix = _matrix(loaded, asked, selection, Path(), {}, policies, progress)
    return [(cell, matrix.plan(cell)[0]) for cell in selection.cells()]


def tell(loaded: LoadedTable, asked: Asked) -> None:
    """Print the cells, with the time that the transfer of each takes."""
    planned = [(cell, expected_transfer_s(plan)) for cell, plan in plans_of(loaded, asked)]
    for cell, seconds in planned:
        print(f"row {cell.row:<8} {cell.column:<14} #{cell.repetition}  {seconds:5.1f} s of transfer")
    print(f"{len(planned)} runs, {sum(seconds for _, seconds in planned) / 60:.1f} min of transfer")


def run(loaded: LoadedTable, asked: Asked) -> Verdict:
    """Everything; the table's verdict is in its result folder, too."""
    from testbed.cli.leftovers import remove_leftovers
    from testbed.doctor import make_ready
    from testbed.vkernel.build import ready_kernel

    progress = Progress()
    simulated = asked.engine == "sim"
    make_ready(progress, "table", asked.runtime, asked.engine)
    with progress.step("build"):
        program = "ncp-sim" if simulated else "ncp-agent"
        binaries = build.build_programs(*([program] if simulated else []))
    policies = build.policy_facts(binaries[program])
    if asked.engine == "vkernel":
        ready_kernel(progress)
    selection = select(loaded, asked, policies)
    matrix = _matrix(loaded, asked, selection, Path(), binaries, policies, progress)
    cells = selection.cells()
    for cell in cells:
        matrix.plan(cell)  # what is wrong with any of them is told before anything is made
    matrix.refuse_if_none_can_be_run(cells)
    bounds = _bounds(matrix, selection)
    run_id, folder = _folder(loaded, asked, selection)
    matrix.folder = folder
    if asked.engine == "mininet":
        remove_leftovers(progress.say)
    how = "in virtual time" if asked.engine != "mininet" else f"links by {matrix.choices.middle}"
    progress.say(f"{loaded.table.name} {run_id}: {len(cells)} runs, {how}, results in {folder}")

    def keep(outcomes: list[Outcome]) -> Verdict:
        return write(loaded, asked, selection, bounds, folder, run_id, outcomes)

    try:
        outcomes = matrix.run(cells, keep)
    except BaseException:
        progress.say(f"stopped; what is finished is kept. To go on, add --resume {run_id} to the same command")
        raise
    verdict = keep(outcomes)
    if untrusted := sum(found.verdict == "untrusted" for found in outcomes):
        progress.say(
            f"{untrusted} of {len(outcomes)} runs not to be trusted. To make them again, add --resume {run_id} to "
            "the same command"
        )
    if endpoint := server.ensure() if asked.engine == "mininet" else server.running():
        points.store(endpoint, read_json(folder / "table.json"), time.time_ns())
    progress.say(f"  report      {write_report(folder)}")
    return verdict


def _matrix(
    loaded: LoadedTable,
    asked: Asked,
    selection: Selection,
    folder: Path,
    binaries: dict[str, Path],
    policies: PolicyFacts,
    progress: Progress,
) -> Matrix:
    from testbed.plan.occasion import occasion
    from testbed.runner.middle_choice import choose_middle

    if asked.engine == "sim":
        choices = Choices(runtime="virtual", middle="model", engine="sim", quick=asked.quick, occasion=occasion())
    elif asked.engine == "vkernel":
        choices = Choices(runtime="process", middle="netem", engine="vkernel", quick=asked.quick, occasion=occasion())
    else:
        middle = choose_middle(asked.link) if binaries else "relay"
        choices = Choices(runtime=asked.runtime, middle=middle, quick=asked.quick, occasion=occasion())
    return Matrix(loaded, selection.rows, selection.columns, folder, binaries, policies, choices, progress)


def _folder(loaded: LoadedTable, asked: Asked, selection: Selection) -> tuple[str, Path]:
    """The run's id and result folder: a new one, or that of a run to go on with."""
    base = paths.results() / loaded.table.name
    this = json.loads(json.dumps(_identity(loaded, asked, selection)))
    if asked.resume:
        folder = (base / asked.resume).resolve()
        if not (folder / "matrix.json").is_file():
            raise BadInput(f"--resume {asked.resume}: {folder} is no table's result folder")
        before = json.loads((folder / "matrix.json").read_text())
        for key, value in this.items():
            if before.get(key) != value:
                raise BadInput(
                    f"--resume {asked.resume}: that table was run with another {key} "
                    f"({_short(before.get(key))}, not {_short(value)}); give the same options, or start a new one"
                )
        table_file.keep(loaded, folder)  # its checks, by which it is judged from here on
        return folder.name, folder
    run_id = new_run_id()
    folder = base / run_id
    folder.mkdir(parents=True)
    write_json(folder / "matrix.json", {**this, "whole": selection.whole})
    table_file.keep(loaded, folder)
    latest = base / "latest"
    latest.unlink(missing_ok=True)
    latest.symlink_to(run_id)
    return run_id, folder


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 80 else text[:77] + "…"


def _identity(loaded: LoadedTable, asked: Asked, selection: Selection) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    return {
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


def write(
    loaded: LoadedTable,
    asked: Asked,
    selection: Selection,
    bounds: Mapping[str, Mapping[str, float]],
    folder: Path,
    run_id: str,
    outcomes: Sequence[Outcome],
) -> Verdict:
    """``table.json``, ``table.csv`` and, when all cells are there, ``verdict.json``: a table that is not complete has
    figures, but no verdict."""
    table, columns = loaded.table, list(selection.columns)
    made = {(found.row, found.column, found.repetition): found for found in outcomes}
    complete = len(made) == len(selection.cells())
    outcomes = [
        made.get((cell.row, cell.column, cell.repetition)) or missing(cell.row, cell.column, cell.repetition)
        for cell in selection.cells()
    ]
    summaries = summarise(table, list(selection.rows), columns, bounds, outcomes)
    write_json(
        folder / "table.json",
        {
            "schema": 2,
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
        },
    )
    write_csv(summaries, columns, folder / "table.csv")
    partial = asked.quick or not selection.whole
    verdict = judge_table(table, run_id, summaries, columns, outcomes, partial=partial, engine=asked.engine)
    if complete:
        write_json(folder / "verdict.json", verdict.to_json())
    return verdict


def _ratios(loaded: LoadedTable, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns to be compared: those of the checks, and each of NCP's with each of its peers."""
    pairs = [(c.column, c.over) for c in loaded.table.checks if isinstance(c, (DifferenceCheck, RatioCheck))]
    peers = [str(c.name) for c in loaded.table.columns if c.carrier == "mptcp"]
    pairs += [(column, peer) for peer in peers for column in columns if column not in peers]
    return [(a, b) for a, b in dict.fromkeys(pairs) if a in columns and b in columns]


def _bounds(matrix: Matrix, selection: Selection) -> dict[str, dict[str, float]]:
    """What each row's links carry of payload, for those of the table's figures that are a goodput."""
    first = next(iter(selection.columns))
    bounds = {}
    for row in selection.rows:
        plan, _ = matrix.plan(Cell(row, first, 1))
        bound_bps = plans.bound_bps(plan, plan["sessions"][0])
        bounds[row] = {
            figure: round(bound_bps / GOODPUTS_BPS[figure], 6)
            for figure in matrix.loaded.table.figures
            if figure in GOODPUTS_BPS
        }
    return bounds
