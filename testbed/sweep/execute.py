"""The runs of a sweep, as a study's cells whose folders are not kept: their figures are, by the run's id."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed import engines
from testbed.checks.evidence import CannotJudge
from testbed.engines import Engine
from testbed.engines.sim.run import simulate
from testbed.errors import RunFailed
from testbed.plan.model import Plan
from testbed.runner.progress import Progress
from testbed.study.executor import Study
from testbed.sweep.figures import measure, rules

Outcome = dict[str, Any]
"""``state``: ``ok``, or why there are no figures; and the figures."""


@dataclass(frozen=True)
class Cell:
    """One run, by its id."""

    run: str
    plan: Plan = field(compare=False)


@dataclass
class Runs(Study[Cell, Outcome]):
    """``file`` is where finished runs are kept."""

    movable = True
    engine: Engine
    progress: Progress
    simulator: Path
    file: Path
    finished: Mapping[str, Outcome]
    names: Mapping[str, str] = field(default_factory=dict)
    """What is set in each run, by its id."""

    def __getstate__(self) -> dict[str, object]:
        """For other processes, which make one run and need to know nothing of the others."""
        return {**self.__dict__, "finished": {}, "names": {}}

    def engine_of(self, key: Cell) -> Engine:
        """One for all."""
        return self.engine

    def earlier(self, key: Cell) -> Outcome | None:
        """By ``file``."""
        return self.finished.get(key.run)

    def make(self, key: Cell) -> Outcome:
        """Simulate and measure, in a folder that is gone afterwards."""
        return run_one(key.plan, self.simulator)

    def made(self, key: Cell, found: Outcome) -> None:
        """A line of ``file``."""
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"run": key.run, "rules": rules(), "outcome": found}) + "\n")

    def name(self, key: Cell) -> str:
        """What is set in it; else its id."""
        return self.names.get(key.run, key.run)

    def word(self, key: Cell, found: Outcome) -> str:
        """Whether it has figures: a run of a sweep is not judged alone."""
        return "ok" if found["state"] == "ok" else "failed"


def kept(file: Path) -> dict[str, Outcome]:
    """Finished runs by id; a line that a stop has cut off, or that other rules measured, is none."""
    found: dict[str, Outcome] = {}
    if not file.is_file():
        return found
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("rules") == rules():
            found[entry["run"]] = entry["outcome"]
    return found


def execute(
    plans: Sequence[Plan], simulator: Path, file: Path, progress: Progress, names: Mapping[str, str] | None = None
) -> dict[str, Outcome]:
    """The outcome of every plan by its run's id; those that ``file`` has are not run again. ``names``: what progress
    calls a run, by its id."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" if file.stat().st_size else "")  # what a stop has cut off ends here
    study = Runs(engines.named("sim"), progress, simulator, file, kept(file), names or {})
    cells = list(dict.fromkeys(Cell(plan["run"], plan) for plan in plans))
    return {cell.run: found for cell, found in study.run(cells).items()}


def run_one(plan: Plan, simulator: Path) -> Outcome:
    """Simulate and measure: only the figures are kept."""
    with tempfile.TemporaryDirectory(prefix="ncp-sweep-") as place:
        folder = Path(place)
        (folder / "logs").mkdir()
        (folder / "plan.json").write_text(json.dumps(plan))
        try:
            simulate(folder, simulator)
            return {"state": "ok", **measure(plan, folder)}
        except RunFailed as error:
            return {"state": error.message}
        except CannotJudge as error:
            return {"state": str(error)}
