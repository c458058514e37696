"""Tests of repeatability: runs each scenario several times with one seed, and once with another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed import engines
from testbed.documents import write_json
from testbed.engines import Options
from testbed.errors import BadInput, CannotRun, RunFailed
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.message import Message, Messages
from testbed.plan.engines import REPEATABLE
from testbed.runtime.progress import Progress
from testbed.scenario.files import is_table
from testbed.scenario.load import LoadedScenario, load
from testbed.study.cell import ScenarioCell, folder_of, ready, refuse_unsupported
from testbed.study.checks.same_bytes import Repetition, digests, judge, verdict_over
from testbed.study.kinds import table_file as tables
from testbed.study.record import RunRecord, finished
from testbed.study.run import StudySpec, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest


def loaded_of(name: str, assignments: Sequence[str], *, quick: bool) -> LoadedScenario:
    """Loads a scenario, or a table's cell (TABLE/ROW/COLUMN); raises BadInput."""
    table, *place = name.split("/")
    if len(place) != 2 or not is_table(table):
        return load(name, assignments, quick=quick)
    loaded = tables.load(table, assignments, quick=quick)
    policies = engines.named(REPEATABLE).prepare_plans(Progress()).policies
    rows = {row.name: row for row in loaded.table.rows}
    columns = tables.columns_of(loaded.table, list(policies))
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
    if columns[column].carrier:
        raise BadInput(
            "compare.column-not-a-scenario", "{name}: a column with its own carrier is not a scenario", name=name
        )
    return tables.scenario_of(loaded, rows[row], columns[column])


@dataclass(frozen=True, eq=False)
class RepeatedCell(ScenarioCell):
    """A numbered run (from 1) of a scenario; the last has another seed. Its record has the SHA-256 of its data, and is
    ``exact`` if no program in it ran without end."""

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Run to the verdict; raises RunFailed where the run broke down."""
        found = super().run(study, progress)
        folder = study / found.folder
        if found.status == Status.ERROR:
            broken = read_verdict(folder).broken
            raise RunFailed(
                "run.broke-down",
                "{name}: {broken}",
                "Data and logs so far: {run}",
                name=self.label,
                broken=broken,
                run=folder,
            )
        return found.model_copy(update={"sha256": digests(folder)})


def run(
    scenarios: Mapping[str, LoadedScenario], options: Options, runs: int, base: Path, resume: str = ""
) -> tuple[list[Repetition], Path]:
    """Run and compare; returns the repetitions and the result folder, with ``hashes.json``. Folders of runs that equal
    the first are removed. Raises CannotRun without a deterministic engine."""
    progress, engine = Progress(), engines.named(REPEATABLE)
    programs = ready(engine, options, progress, "repeatable")
    if not engine.deterministic():
        raise CannotRun(
            "vkernel.not-built", "the guest kernel with virtual time is not built", "./run.sh doctor --build builds it."
        )
    cells: dict[str, list[ScenarioCell]] = {}
    for name, loaded in scenarios.items():
        first = RepeatedCell({}, loaded, engine.choices(options), programs)
        points = [{"scenario": name.replace("/", "-"), "run": str(number)} for number in range(1, runs + 2)]
        cells[name] = [first.with_seed(at, first.seed + (n == runs)) for n, at in enumerate(points)]
    every = [cell for of in cells.values() for cell in of]
    refuse_unsupported(every)
    overrides = {name: list(loaded.overrides) for name, loaded in scenarios.items()}
    identity = {"scenarios": overrides, "runs": runs, "seed": options.seed, "quick": options.quick}
    spec = StudySpec("repetitions", "repeatable", every, identity)
    folder = spec.begin(base, resume)
    results = run_study(spec, folder, progress, describe=lambda result: result.status)
    judged = []
    for name, of in cells.items():
        *ones, other = [results[cell.id].record for cell in of]
        data = [one.sha256 or digests(folder / one.folder) for one in (*ones, other)]
        span = [number for number, one in enumerate(ones, 1) if not one.exact]
        judged.append(judge(name, data[:-1], span, data[-1]))
        for cell in (cell for cell, files in zip(of[1:-1], data[1:-1], strict=True) if files == data[0]):
            shutil.rmtree(folder / cell.folder, ignore_errors=True)  # already removed, if the test is resumed
    write_json(folder / "hashes.json", [asdict(repetition) for repetition in judged])
    return judged, folder


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


DOCUMENTS: Documents = {"hashes.json": _read}


def write_again(request: VerifyRequest) -> Verification:
    """Compare the runs in the folder again, others by their recorded hashes; raises BadInput for a missing or broken
    file."""
    folder = request.folder.resolve()
    unchecked = Messages()
    judged: list[Repetition] = []
    for entry in _read(folder / "hashes.json"):
        name, recorded = entry["name"], [*entry["runs"], entry["other_seed"]]
        kept = [finished(folder / folder_of(name.replace("/", "-"), str(n))) for n in range(1, len(recorded) + 1)]
        data = [digests(runs[-1]) if runs else before for runs, before in zip(kept, recorded, strict=True)]
        judged.append(judge(name, data[:-1], entry["span"], data[-1]))
        if not kept[-1]:
            unchecked.append(
                Message(
                    "same-bytes.runs-elsewhere",
                    "{scenario}: its runs are not in the folder: their hashes are as recorded",
                    scenario=name,
                )
            )
    write_json(request.into / "hashes.json", [asdict(repetition) for repetition in judged])
    verdict = verdict_over(repetition.holds for repetition in judged)
    return Verification(f"repeatable {folder.name}", verdict, unchecked=unchecked, has_page=False)
