"""Executors of a study's attempts: here, one after the other or in parallel, or one part of many."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from testbed.engines import Engine
from testbed.runtime.progress import Progress, QuietProgress
from testbed.study.cell import Cell, Done, Job
from testbed.study.pool import Pool
from testbed.study.record import RunRecord


class Executor:
    """Makes jobs on this machine: in this process where one goes at a time, else each in a process of its own. Others
    make them elsewhere. Those that are submitted at a time have engines of which the same number go at once."""

    progress: Progress = QuietProgress()
    """The study's."""

    def __init__(self) -> None:
        self._pool = Pool[Job, RunRecord](partial(Job.run, progress=QuietProgress()), here=self._run)

    def slots(self, engine: Engine) -> int:
        """The number of parallel runs: here the engine's width, the number of cores where time is virtual."""
        return engine.width()

    def mine(self, cells: list[Cell]) -> list[Cell]:
        """Cells that are made, of those that a study lacks."""
        return cells

    def submit(self, job: Job, *, first: bool = False) -> None:
        """Make it when those before it have begun; ``first``: before all that wait."""
        self._pool.waiting.insert(0 if first else len(self._pool.waiting), job)

    def wait(self, timeout_s: float) -> Iterator[Done]:
        """Jobs that are done since the last call; none where none is before the timeout. One that runs in this process
        is done then, whatever the time. Raises the error of a job that ends the study."""
        for found in self._pool.wait(self._width(), timeout_s):
            yield Done(*found)

    def running(self) -> dict[str, float]:
        """The jobs that run, by the labels of their cells, with their seconds so far; the next one, where it runs in
        this process."""
        return {job.cell.label: seconds for job, seconds in self._pool.running(self._width()).items()}

    def where(self) -> str:
        """Description of the place, if not this machine."""
        return ""

    def check_complete(self, made: int) -> None:
        """Raise where not all cells are made; called when so many are."""

    def close(self) -> None:
        """Cancel whatever there is, and wait for its teardown."""
        self._pool.end()

    def _width(self) -> int:
        waiting = self._pool.waiting
        return self.slots(waiting[0].cell.engine) if waiting and len(self._pool) > 1 else 1

    def _run(self, job: Job) -> RunRecord:
        return job.run(self.progress)


class PartMade(Exception):
    """One part of a study is made, by a process that knows of no other: there is nothing to judge here."""


class Part(Executor):
    """Makes the cells of part ``number`` (from 0) of ``of`` on this machine, ``cores`` of them at once where time is
    virtual, then ends the study. For sites that start such processes, each with its number. Which part a cell is in
    follows from its label alone, so a part that begins again resumes its own."""

    def __init__(self, number: int, of: int, cores: int) -> None:
        super().__init__()
        self.number, self.of, self.cores = number, of, cores

    def slots(self, engine: Engine) -> int:
        """Not more than it was given: a container's share of a machine is not seen from inside."""
        return min(self.cores, engine.width())

    def mine(self, cells: list[Cell]) -> list[Cell]:
        """Cells of the part."""
        return [cell for cell in cells if part_of(cell.label, self.of) == self.number]

    def check_complete(self, made: int) -> None:
        """Raise :class:`PartMade`."""
        raise PartMade(f"part {self.number} of {self.of}: {made} runs made")


def part_of(name: str, of: int) -> int:
    """The part of a cell, from 0."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % of


_chosen: ContextVar[Executor | None] = ContextVar("executor", default=None)


def chosen() -> Executor:
    """The one that :func:`run_by` says, else this machine's."""
    return _chosen.get() or Executor()


@contextmanager
def run_by(executor: Executor) -> Iterator[None]:
    """Studies that are run inside have it run their cells, if these can be moved."""
    before = _chosen.set(executor)
    try:
        yield
    finally:
        _chosen.reset(before)
