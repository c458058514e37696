"""What a cluster makes of cores, beside the same cores without it.

As a program: ``python -m tests.cluster.throughput [ROUNDS [SEEDS]]``.

A sweep of 6 short runs for each seed is made by turns on this machine's first one or two cores, without a cluster and
with one, two and four workers of a core each; submitter and scheduler have no core of their own. Looked at is what is
finished between a tenth and nine tenths of the sweep: in wall time, and in CPU time, which other work on the machine
changes less.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from testbed.runtime.interrupts import interruptible
from tests.cluster.conftest import Place
from tests.cluster.loopback import loopback, until

WORKERS = (1, 2, 4)


class Paid(NamedTuple):
    """For the runs between two moments of a sweep."""

    runs: int
    wall_s: float
    cpu_s: float

    def and_of(self, other: Paid) -> Paid:
        """Of both."""
        return Paid(self.runs + other.runs, self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)


def main(rounds: int, seeds: int) -> None:
    """Prints a line for each turn, and how they compare."""
    cores = sorted(os.sched_getaffinity(0))
    found: dict[tuple[int, str], Paid] = defaultdict(lambda: Paid(0, 0.0, 0.0))
    for turn in range(1, rounds + 1):
        for workers in WORKERS:
            os.sched_setaffinity(0, cores[:workers])
            for how in ("without", "with"):
                paid = _one(workers if how == "with" else 0, seeds)
                found[workers, how] = found[workers, how].and_of(paid)
                print(f"{turn}: {how} {workers}: {_told(paid)}", flush=True)
    for workers in WORKERS:
        here, there = found[workers, "without"], found[workers, "with"]
        wall, cpu = ((here[i] / here.runs) / (there[i] / there.runs) for i in (1, 2))
        beside = f"{min(workers, len(cores))} side by side"
        print(
            f"{workers} workers: {_told(there)}; {beside}: {_told(here)}; throughput {wall:.0%}, by CPU time {cpu:.0%}"
        )


def _told(paid: Paid) -> str:
    return f"{paid.runs / paid.wall_s:.2f} runs/s, {paid.cpu_s / paid.runs * 1000:.0f} ms of CPU each"


def _one(workers: int, seeds: int) -> Paid:
    """A sweep from nothing; without workers, without a cluster."""
    folder = Path(tempfile.mkdtemp(prefix="ncp-throughput-", dir="/var/tmp"))
    os.environ["NCP_TESTBED_STATE"] = str(folder / "state")
    place = Place(folder)
    sweep = str(place.sweep(seconds=1, seeds=seeds))
    try:
        if not workers:
            return _paid(place, 6 * seeds, ["sweep", sweep], [])
        names = [f"w{i}" for i in range(workers)]
        with loopback(folder / "cluster", names) as cluster:
            cluster.write_file()
            until(lambda: all(map(cluster.registered, names)))
            parts = [process.pid for process in (cluster.scheduler, *cluster.workers.values()) if process]
            return _paid(place, 6 * seeds, ["sweep", sweep, "--cluster"], parts)
    finally:
        place.end()
        shutil.rmtree(folder)


def _paid(place: Place, runs: int, command: list[str], parts: list[int]) -> Paid:
    process = place.start("results", *command, said=place.path / "said")
    moments = []
    for share in (0.1, 0.9):
        until(lambda share=share: len(place.made("results")) >= share * runs, 24 * 3600)  # type: ignore[misc]
        moments.append((len(place.made("results")), time.monotonic(), _cpu_s([process.pid, *parts])))
    assert process.wait() == 0, (place.path / "said").read_text()
    (runs_0, wall_0, cpu_0), (runs_1, wall_1, cpu_1) = moments
    return Paid(runs_1 - runs_0, wall_1 - wall_0, cpu_1 - cpu_0)


def _cpu_s(pids: Iterable[int]) -> float:
    """Of processes, and of all that they started."""
    total = 0.0
    for pid in pids:
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += sum(process.cpu_times()[:4])
    return total


if __name__ == "__main__":
    with interruptible():
        main(*(int(given) for given in (sys.argv[1:] + ["3", "50"][len(sys.argv) - 1 :])))
