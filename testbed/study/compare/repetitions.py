"""Makes the runs of a test of repeatability, as a study: each scenario several times with one seed, and once with
another."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from testbed import engines
from testbed.documents import read_json, write_json
from testbed.engines import Options
from testbed.errors import BadInput, CannotRun, RunFailed
from testbed.judge.verify import read_verdict
from testbed.plan.default_engine import REPEATABLE
from testbed.runtime.progress import Progress
from testbed.scenario.files import is_table
from testbed.scenario.load import LoadedScenario, load
from testbed.study.bootstrap import ready
from testbed.study.cell import Cell
from testbed.study.compare.same_bytes import Digests, Repetition, digests
from testbed.study.folder import begin
from testbed.study.runs import Runs
from testbed.study.tables import load as tables


def loaded_of(name: str, assignments: Sequence[str], *, quick: bool) -> LoadedScenario:
    """A scenario, or that of a table's cell, TABLE/ROW/COLUMN; raises BadInput."""
    table, *place = name.split("/")
    if len(place) != 2 or not is_table(table):
        return load(name, assignments, quick=quick)
    loaded = tables.load(table, assignments, quick=quick)
    policies = engines.named(REPEATABLE).prepare_plans(Progress()).policies
    rows = {row.name: row for row in loaded.table.rows}
    columns = {contender.name: contender for contender in tables.contenders(loaded.table, list(policies))}
    row, column = place
    if row not in rows or column not in columns:
        raise BadInput(
            "compare.no-such-cell",
            "{name}: {table} has rows {rows} and columns {columns}",
            name=name,
            table=table,
            rows=", ".join(rows),
            columns=", ".join(columns),
        )
    if columns[column].column.carrier:
        raise BadInput(
            "compare.column-not-a-scenario", "{name}: a column with its own carrier is not a scenario", name=name
        )
    return tables.scenario_of(loaded, rows[row], columns[column])


class Made(NamedTuple):
    """What one run left. ``exact``: no program in it span."""

    data: Digests
    exact: bool
    verdict: str


class Repeats(Runs[Made]):
    """Cells are a scenario and which of its runs it is, from 1; the one after the last has another seed."""

    def read(self, key: Cell, run: Path, attempts: int) -> Made:
        """The SHA-256 of its data; raises RunFailed of a run that broke down."""
        verdict = read_verdict(run)
        if verdict.broken:
            raise RunFailed(
                "run.broke-down",
                "{name}: {broken}",
                "Data and logs so far: {run}",
                name=self.name(key),
                broken=verdict.broken,
                run=run,
            )
        exact = bool(read_json(run / "provenance.json").get("engine", {}).get("repeatable"))
        return Made(digests(run), exact, verdict.verdict)

    def told(self, key: Cell, found: Made) -> str:
        """The run's own verdict, which decides nothing here."""
        return found.verdict


def repeat(
    scenarios: Mapping[str, LoadedScenario], options: Options, runs: int, base: Path
) -> tuple[list[Repetition], Path]:
    """What came out by scenario, and the result folder, with ``hashes.json``. Kept are the first run's folder and that
    of every run that differs from it. Raises CannotRun where no run is repeatable."""
    progress, engine = Progress(), engines.named(REPEATABLE)
    programs = ready(engine, options, progress, "repeatable")
    if not engine.exact():
        raise CannotRun(
            "vkernel.not-built", "the guest kernel with virtual time is not built", "./run.sh doctor --build builds it."
        )
    cells: dict[str, list[Cell]] = {}
    for name, loaded in scenarios.items():
        first = Cell((name.replace("/", "-"), "1"), loaded, engine.choices(options), programs)
        seeds = [first.seed] * runs + [first.seed + 1]
        cells[name] = [replace(first, key=(first.key[0], str(n))).with_seed(seed) for n, seed in enumerate(seeds, 1)]
    study = Repeats(base, progress)
    every = [cell for ones in cells.values() for cell in ones]
    study.refuse_if_none_can_be_made(every)
    study.folder = begin(base, "repeatable.json", {"scenarios": list(scenarios), "runs": runs, "seed": options.seed})
    found = study.run(every)
    judged = []
    for name, (*ones, other) in cells.items():
        spans = [number for number, cell in enumerate(ones, 1) if not found[cell].exact]
        judged.append(Repetition(name, [found[cell].data for cell in ones], spans, found[other].data))
        for cell in ones[1:]:
            if found[cell].data == found[ones[0]].data:
                shutil.rmtree(study.folder / cell.folder)
    write_json(study.folder / "hashes.json", [repetition.as_json() for repetition in judged])
    return judged, study.folder
