"""Makes the runs of a test of repeatability, as a study: each scenario several times with one seed, and once with
another."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from testbed import engines
from testbed.checks.verify import read_json, read_verdict
from testbed.engines import Options, Programs
from testbed.errors import BadInput, CannotRun, RunFailed
from testbed.matrix import load as tables
from testbed.plan.resolve import Choices
from testbed.repeatable.same_bytes import Digests, Repetition, digests
from testbed.runner.progress import Progress
from testbed.scenario.files import is_table
from testbed.scenario.load import LoadedScenario, load
from testbed.study.bootstrap import ready
from testbed.study.cell import Cell
from testbed.study.folder import begin, write_json
from testbed.study.runs import Runs

ENGINE = "vkernel"


def loaded_of(name: str, assignments: Sequence[str], *, quick: bool) -> LoadedScenario:
    """A scenario, or that of a table's cell, TABLE/ROW/COLUMN; raises BadInput."""
    table, *place = name.split("/")
    if len(place) != 2 or not is_table(table):
        return load(name, assignments, quick=quick)
    loaded = tables.load(table, assignments, quick=quick)
    policies = engines.named(ENGINE).prepare_plans(Progress()).policies
    rows = {row.name: row for row in loaded.table.rows}
    columns = {contender.name: contender for contender in tables.contenders(loaded.table, list(policies))}
    row, column = place
    if row not in rows or column not in columns:
        raise BadInput(f"{name}: {table} has rows {', '.join(rows)} and columns {', '.join(columns)}")
    if columns[column].column.carrier:
        raise BadInput(f"{name}: a column with a carrier of its own is no scenario")
    return tables.scenario_of(loaded, rows[row], columns[column])


class Made(NamedTuple):
    """What one run left. ``exact``: no program in it span."""

    data: Digests
    exact: bool
    verdict: str


@dataclass
class Repeats(Runs[tuple[str, int], Made]):
    """Cells are a scenario and which of its runs it is, from 1; the one after the last has another seed."""

    scenarios: Mapping[str, LoadedScenario]
    programs: Programs
    choices: Choices
    runs: int

    def keys(self) -> list[tuple[str, int]]:
        """All, scenario by scenario."""
        return [(name, number) for name in self.scenarios for number in range(1, self.runs + 2)]

    def cell(self, key: tuple[str, int]) -> Cell:
        """All but the last have one seed."""
        name, number = key
        loaded = self.scenarios[name]
        seed = loaded.scenario.seed if self.choices.seed is None else self.choices.seed
        cell = Cell((name.replace("/", "-"), str(number)), loaded, self.choices, self.programs)
        return cell.with_seed(seed + (number > self.runs))

    def alike(self, key: tuple[str, int]) -> str:
        """The runs of a scenario are."""
        return key[0]

    def read(self, key: tuple[str, int], run: Path, attempts: int) -> Made:
        """The SHA-256 of its data; raises RunFailed of a run that broke down."""
        verdict = read_verdict(run)
        if verdict.broken:
            raise RunFailed(f"{self.name(key)}: {verdict.broken}", f"Data and logs so far: {run}")
        exact = bool(read_json(run / "provenance.json").get("engine", {}).get("repeatable"))
        return Made(digests(run), exact, verdict.verdict)

    def name(self, key: tuple[str, int]) -> str:
        """The scenario and which of its runs it is."""
        return f"{key[0]} {key[1]}/{self.runs}{' (another seed)' if key[1] > self.runs else ''}"

    def told(self, key: tuple[str, int], found: Made) -> str:
        """The run's own verdict, which decides nothing here."""
        return found.verdict

    def judged(self, name: str, found: Mapping[tuple[str, int], Made]) -> Repetition:
        """A scenario's runs."""
        ones = [found[name, number] for number in range(1, self.runs + 1)]
        spans = [number for number, one in enumerate(ones, 1) if not one.exact]
        return Repetition(name, [one.data for one in ones], spans, found[name, self.runs + 1].data)


def repeat(
    scenarios: Mapping[str, LoadedScenario], options: Options, runs: int, base: Path
) -> tuple[list[Repetition], Path]:
    """What came out by scenario, and the result folder, with ``hashes.json``. Kept are the first run's folder and that
    of every run that differs from it. Raises CannotRun where no run is repeatable."""
    progress = Progress()
    engine = engines.named(ENGINE)
    programs = ready(engine, options, progress, "repeatable")
    if not engine.exact():
        raise CannotRun("the guest kernel with virtual time is not built", "./run.sh doctor --build builds it.")
    study = Repeats(base, engine, progress, scenarios, programs, engine.choices(options), runs)
    for name in scenarios:
        study.cell((name, 1)).plan()  # what is wrong with any of them is told before anything is made
    study.folder = begin(base, "repeatable.json", {"scenarios": list(scenarios), "runs": runs, "seed": options.seed})
    keys = study.keys()
    found = study.run(keys)
    judged = [study.judged(name, found) for name in scenarios]
    write_json(study.folder / "hashes.json", [repetition.as_json() for repetition in judged])
    for name, number in keys:
        if 1 < number <= runs and found[name, number].data == found[name, 1].data:
            shutil.rmtree(study.place((name, number)))
    return judged, study.folder
