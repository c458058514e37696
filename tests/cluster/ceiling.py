"""How many runs a second a cluster could look after: ``python -m tests.cluster.ceiling [RUNS]`` makes runs
that do nothing, each with all that goes with a run: a process of its own, packing, checking, the submitter's list. What
submitter and scheduler take of it bounds a cluster of any size, as there is one of each."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from testbed import engines
from testbed.engines import Engine
from testbed.runtime.progress import Progress
from testbed.study.executor import Study, made_by

RUNS = 10_000

if TYPE_CHECKING:
    from testbed.study.hosts.dask import DaskExecutor


class Stubs(Study[int, int]):
    """Runs that do nothing."""

    movable = True

    def __init__(self) -> None:
        self.progress = Progress()

    def engine_of(self, key: int) -> Engine:
        """One that may go side by side."""
        return engines.named("sim")

    def make(self, key: int) -> int:
        """Nothing."""
        return key


def main(runs: int) -> None:
    """On this machine's cluster; says how many there were in a second, and what each took."""
    # Not above: the process of each run imports this file, and Dask takes longer than all else.
    from testbed.study.hosts.dask import dask_executor

    study, keys = Stubs(), range(runs)
    with dask_executor() as executor, made_by(executor):
        study.run(keys[:1])  # hosts have made their small runs, processes have loaded what they need
        before = _clocks_s(executor, study.progress)
        found = study.run(keys)
        taken_s, submitter_s, scheduler_s = (
            after - earlier for after, earlier in zip(_clocks_s(executor, study.progress), before, strict=True)
        )
    assert list(found.values()) == list(keys)
    cpu = f"submitter {submitter_s / runs * 1000:.2f} ms, scheduler {scheduler_s / runs * 1000:.2f} ms"
    print(f"{runs} runs in {taken_s:.1f} s: {runs / taken_s:.0f} runs/s; CPU time of each: {cpu}")


def _clocks_s(executor: DaskExecutor, progress: Progress) -> tuple[float, float, float]:
    """Wall time, and the CPU time of submitter and scheduler."""
    return (
        time.monotonic(),
        time.process_time(),
        executor.connection.connect(progress).run_on_scheduler(time.process_time),
    )


if __name__ == "__main__":
    from tests.cluster import ceiling  # under its own name, by which a worker can load it

    ceiling.main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
