"""How many runs a second a cluster could look after: ``python -m tests.cluster.ceiling [RUNS]`` makes runs
that do nothing, each with all that goes with a run: a process of its own, packing, checking, the submitter's list. What
submitter and scheduler take of it bounds a cluster of any size, as there is one of each."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from testbed import engines
from testbed.engines.engine import Engine
from testbed.judge.status import Status
from testbed.runtime.progress import Progress
from testbed.study.cell import Cell
from testbed.study.executors import run_by
from testbed.study.record import RunRecord
from testbed.study.run import run_cells

RUNS = 10_000

if TYPE_CHECKING:
    from testbed.study.hosts.dask import DaskExecutor


@dataclass(frozen=True, eq=False)
class Stub(Cell):
    """A run that does nothing."""

    number: int

    @property
    def at(self) -> Mapping[str, str]:  # type: ignore[override]
        """Its number."""
        return {"number": str(self.number)}

    @property
    def engine(self) -> Engine:
        """One whose runs may go side by side."""
        return engines.named("sim")

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Nothing."""
        return RunRecord(cell=self.id, status=Status.PASS)


def main(runs: int) -> None:
    """On this machine's cluster; says how many there were in a second, and what each took."""
    # Not above: the process of each run imports this file, and Dask takes longer than all else.
    from testbed.study.hosts.dask import dask_executor

    cells, progress = [Stub(number) for number in range(runs + 1)], Progress()
    with dask_executor() as executor, run_by(executor), tempfile.TemporaryDirectory() as place:
        # Hosts have made their small runs then, processes have loaded what they need.
        run_cells(cells[-1:], Path(place), progress)
        before = _clocks_s(executor)
        found = run_cells(cells[:-1], Path(place), progress)
        taken_s, submitter_s, scheduler_s = (
            after - earlier for after, earlier in zip(_clocks_s(executor), before, strict=True)
        )
    assert len(found) == runs
    cpu = f"submitter {submitter_s / runs * 1000:.2f} ms, scheduler {scheduler_s / runs * 1000:.2f} ms"
    print(f"{runs} runs in {taken_s:.1f} s: {runs / taken_s:.0f} runs/s; CPU time of each: {cpu}")


def _clocks_s(executor: DaskExecutor) -> tuple[float, float, float]:
    """Wall time, and the CPU time of submitter and scheduler."""
    assert executor.client is not None
    return time.monotonic(), time.process_time(), executor.client.run_on_scheduler(time.process_time)


if __name__ == "__main__":
    from tests.cluster import ceiling  # under its own name, by which a worker can load it

    ceiling.main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
