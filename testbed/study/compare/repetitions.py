"""Makes the runs of a test of repeatability, as a study: each scenario several times with one seed, and once with
another."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from testbed import engines
from testbed.documents import write_json
from testbed.engines import Options
from testbed.errors import BadInput, CannotRun, RunFailed
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.plan.default_engine import REPEATABLE
from testbed.runtime.progress import Progress
from testbed.scenario.files import is_table
from testbed.scenario.load import LoadedScenario, load
from testbed.study.cell import ScenarioCell, ready, refuse_if_none_can_be_made, refuse_unsupported
from testbed.study.compare.same_bytes import Repetition, digests
from testbed.study.record import RunRecord
from testbed.study.run import StudySpec, run_cells
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


@dataclass(frozen=True, eq=False)
class RepeatedCell(ScenarioCell):
    """A scenario and which of its runs it is, from 1; the one after the last has another seed. Its record has the
    SHA-256 of its data, and is ``exact`` where no program in it span."""

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Raises RunFailed where it broke down."""
        found = super().run(study, progress)
        folder = study / found.folder
        if found.status == Status.ERROR:
            raise RunFailed(
                "run.broke-down",
                "{name}: {broken}",
                "Data and logs so far: {run}",
                name=self.label,
                broken=read_verdict(folder).broken,
                run=folder,
            )
        return found.model_copy(update={"sha256": digests(folder)})


def repeat(
    scenarios: Mapping[str, LoadedScenario], options: Options, runs: int, base: Path
) -> tuple[list[Repetition], Path]:
    """What came out by scenario, and the result folder, with ``hashes.json``. Kept are the first run's folder and that
    of every run that differs from it. Raises CannotRun where no run is repeatable."""
    progress, engine = Progress(), engines.named(REPEATABLE)
    programs = ready(engine, options, progress, "repeatable")
    if not engine.deterministic():
        raise CannotRun(
            "vkernel.not-built", "the guest kernel with virtual time is not built", "./run.sh doctor --build builds it."
        )
    cells: dict[str, list[ScenarioCell]] = {}
    for name, loaded in scenarios.items():
        where = name.replace("/", "-")
        first = RepeatedCell({"scenario": where, "run": "1"}, loaded, engine.choices(options), programs)
        seeds = [first.seed] * runs + [first.seed + 1]
        cells[name] = [
            replace(first, at={"scenario": where, "run": str(n)}).with_seed(seed) for n, seed in enumerate(seeds, 1)
        ]
    every = [cell for ones in cells.values() for cell in ones]
    refuse_if_none_can_be_made(every)
    refuse_unsupported(every)
    identity = {"scenarios": list(scenarios), "runs": runs, "seed": options.seed}
    folder = StudySpec("repetitions", "repeatable", every, identity).begin(base)
    results = run_cells(every, folder, progress, describe=lambda result: result.status)
    judged = []
    for name, of in cells.items():
        *ones, other = [results[cell.id].record for cell in of]
        spans = [number for number, one in enumerate(ones, 1) if not one.exact]
        judged.append(Repetition(name, [one.sha256 for one in ones], spans, other.sha256))
        for cell, one in zip(of[1:], ones[1:], strict=False):
            if one.sha256 == ones[0].sha256:
                shutil.rmtree(folder / cell.folder)
    write_json(folder / "hashes.json", [repetition.as_json() for repetition in judged])
    return judged, folder
