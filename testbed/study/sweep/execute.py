"""The runs of a sweep, as a study's cells whose folders are not kept: their figures are, by the run's id."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import engines
from testbed.engines import Engine
from testbed.engines.sim.run import simulate
from testbed.errors import RunFailed
from testbed.judge.checks.evidence import CannotJudge
from testbed.judge.status import Status
from testbed.plan.model import Plan
from testbed.runtime.progress import Progress
from testbed.study.cell import Cell
from testbed.study.kinds.table_result import Place, in_table
from testbed.study.record import RunRecord
from testbed.study.result import CellResult
from testbed.study.sweep.figures import measure, rules


@dataclass(frozen=True, eq=False)
class FigureCell(Cell):
    """One run, by its id; ``name`` says what is set in it."""

    plan: Plan
    name: str
    simulator: Path

    @property
    def at(self) -> Mapping[str, str]:  # type: ignore[override]
        """Its run's id: what comes to the same run is the same cell."""
        return {"run": self.plan["run"]}

    @property
    def label(self) -> str:
        """What is set in it."""
        return self.name

    @property
    def engine(self) -> Engine:
        """The simulator."""
        return engines.named("sim")

    def earlier(self, study: Path, lines: Sequence[RunRecord]) -> list[RunRecord]:
        """Figures by other rules are not the same figures."""
        return [line for line in lines if line.rules == rules()]

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Simulate and measure, in a folder that is gone afterwards: only the figures are kept."""
        record = RunRecord(run=self.plan["run"], cell=self.id, status=Status.PASS, exact=True, rules=rules())
        with tempfile.TemporaryDirectory(prefix="ncp-sweep-") as place:
            folder = Path(place)
            (folder / "logs").mkdir()
            (folder / "plan.json").write_text(json.dumps(self.plan))
            try:
                simulate(folder, self.simulator)
                figures = measure(self.plan, folder)
            except (RunFailed, CannotJudge) as error:
                code, reason = (error.code, error.message) if isinstance(error, RunFailed) else ("", str(error))
                return record.model_copy(update={"status": Status.ERROR, "code": code, "reason": reason})
        return record.model_copy(update={"figures": figures, "seconds": figures.get("duration_s")})


def cells_of(planned: Sequence[tuple[Place, Plan]], simulator: Path) -> list[FigureCell]:
    """Each once: combinations may come to the same run."""
    cells = (FigureCell(p, f"{place.row} {place.column} seed {p['seed']}", simulator) for place, p in planned)
    return list({cell.id: cell for cell in reversed(list(cells))}.values())[::-1]


def by_place(planned: Sequence[tuple[Place, Plan]], results: Mapping[str, CellResult]) -> list[CellResult]:
    """Of every run that is planned, in that order."""
    return [in_table(CellResult(place.cell, place.at, 1, results[plan["run"]].record)) for place, plan in planned]
