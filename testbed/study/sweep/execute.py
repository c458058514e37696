"""The runs of a sweep, as a study's cells whose folders are not kept: their figures are, by the run's id."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed import engines
from testbed.engines import Engine
from testbed.engines.sim.run import simulate
from testbed.errors import RunFailed
from testbed.judge.checks.evidence import CannotJudge
from testbed.judge.status import Status
from testbed.plan.model import Plan
from testbed.runtime.progress import Progress
from testbed.study.executor import Study
from testbed.study.sweep.figures import measure, rules
from testbed.study.tables.load import Cell
from testbed.study.tables.outcome import Outcome

Found = dict[str, Any]
"""``state``, the :class:`Status`; ``reason``, why there are no figures; and the figures."""


@dataclass(frozen=True)
class Run:
    """One run, by its id. ``name`` says what is set in it."""

    run: str
    plan: Plan = field(compare=False)
    name: str = field(compare=False)


@dataclass
class Runs(Study[Run, Found]):
    """``file`` is where finished runs are kept."""

    movable = True
    engine: Engine
    progress: Progress
    simulator: Path
    file: Path
    finished: Mapping[str, Found]

    def __getstate__(self) -> dict[str, object]:
        """For other processes, which make one run and need to know nothing of the others."""
        return {**self.__dict__, "finished": {}}

    def engine_of(self, key: Run) -> Engine:
        """One for all."""
        return self.engine

    def earlier(self, key: Run) -> Found | None:
        """By ``file``."""
        return self.finished.get(key.run)

    def make(self, key: Run) -> Found:
        """Simulate and measure, in a folder that is gone afterwards."""
        return run_one(key.plan, self.simulator)

    def made(self, key: Run, found: Found) -> None:
        """A line of ``file``."""
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"run": key.run, "rules": rules(), "outcome": found}) + "\n")

    def name(self, key: Run) -> str:
        """What is set in it."""
        return key.name

    def word(self, key: Run, found: Found) -> str:
        """Whether it has figures: a run of a sweep is not judged alone."""
        return str(found["state"])


def kept(file: Path) -> dict[str, Found]:
    """Finished runs by id; a line that a stop has cut off, or that other rules measured, is none."""
    found: dict[str, Found] = {}
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


def study(simulator: Path, file: Path, progress: Progress) -> Runs:
    """That of runs of which those that ``file`` has are not made again."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" if file.stat().st_size else "")  # what a stop has cut off ends here
    return Runs(engines.named("sim"), progress, simulator, file, kept(file))


def keys_of(planned: Sequence[tuple[Cell, Plan]]) -> list[Run]:
    """Each once: combinations may come to the same run."""
    named = (Run(plan["run"], plan, f"{cell.row} {cell.column} seed {plan['seed']}") for cell, plan in planned)
    return list(dict.fromkeys(named))


def outcomes_of(planned: Sequence[tuple[Cell, Plan]], found: Mapping[Run, Found]) -> list[Outcome]:
    """Of every run that is planned, in that order."""
    by_run = {key.run: one for key, one in found.items()}
    return [outcome_of(cell, plan["run"], by_run[plan["run"]]) for cell, plan in planned]


def outcome_of(cell: Cell, run: str, found: Found) -> Outcome:
    """A run as one of a table's."""
    figures = {name: value for name, value in found.items() if name not in ("state", "reason") and value is not None}
    why = str(found.get("reason") or "")
    seconds = figures.get("duration_s")
    return Outcome(*cell.place, Status(found["state"]), figures, seconds, why, run, exact=True)


def run_one(plan: Plan, simulator: Path) -> Found:
    """Simulate and measure: only the figures are kept."""
    with tempfile.TemporaryDirectory(prefix="ncp-sweep-") as place:
        folder = Path(place)
        (folder / "logs").mkdir()
        (folder / "plan.json").write_text(json.dumps(plan))
        try:
            simulate(folder, simulator)
            return {"state": Status.PASS, **measure(plan, folder)}
        except RunFailed as error:
            return _error(error.message)
        except CannotJudge as error:
            return _error(str(error))


def _error(reason: str) -> Found:
    return {"state": Status.ERROR, "reason": reason}
