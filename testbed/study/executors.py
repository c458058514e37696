"""Executors of a study's attempts: here, one after the other or in parallel, or one part of many."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from testbed.engines.engine import Engine
from testbed.runtime.progress import Progress, QuietProgress
from testbed.study.cell import Cell, Job
from testbed.study.pool import Pool
from testbed.study.record import RunRecord


class Executor(Pool[Job, RunRecord]):
    """Makes jobs on this machine: in this process where one goes at a time, else each in a process of its own. Others
    make them elsewhere. Those that are submitted at a time have engines of which the same number go at once."""

    progress: Progress = QuietProgress()
    """The study's."""

    def __init__(self) -> None:
        super().__init__(partial(Job.run, progress=QuietProgress()))

    def slots(self, engine: Engine) -> int:
        """The number of parallel runs: here the engine's width, the number of cores where time is virtual."""
        return engine.width()

    def width(self) -> int:
        """The number of parallel runs for the next job; a single one goes in this process."""
        return self.slots(self.waiting[0].cell.engine) if self.waiting and len(self) > 1 else 1

    def here(self, job: Job) -> RunRecord:
        """Make a run in this process, with its progress."""
        return job.run(self.progress)

    def mine(self, cells: list[Cell]) -> list[Cell]:
        """Cells that are made, of those that a study lacks."""
        return cells

    def submit(self, job: Job, *, first: bool = False) -> None:
        """Make it when those before it have begun; ``first``: before all that wait."""
        self.waiting.insert(0 if first else len(self.waiting), job)

    def where(self) -> str:
        """Description of the place, if not this machine."""
        return ""

    def check_complete(self, made: int) -> None:
        """Raise where cells are left to others; ``made`` is the number of those that are made."""


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
    found = _chosen.get()
    return Executor() if found is None else found  # one without jobs is false


@contextmanager
def run_by(executor: Executor) -> Iterator[None]:
    """Studies that are run inside have it run their cells, if these can be moved."""
    before = _chosen.set(executor)
    try:
        yield
    finally:
        _chosen.reset(before)
