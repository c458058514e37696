"""Does jobs of one kind, several at a time, each in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Generic, TypeVar

from testbed.errors import RunFailed
from testbed.runtime.interrupts import interruptible, uninterruptible

PRELOADED = [
    "testbed.study.cell",
    "testbed.study.kinds.sweep",
    "testbed.results.report",
    "testbed.engines.sim.engine",
    "testbed.cli",
]
"""Modules of jobs, loaded once, before they are forked. The last is the program's own first import: each job imports it
as well, which takes longer than a short run. The forking server skips modules that it can't import, so each job imports
them again, where a wrong name is an error."""
LOOK_S = 0.5
"""Interval of looks at other work."""

Job = TypeVar("Job")
Found = TypeVar("Found")


class InJob(Exception):
    """The traceback of an error, from the job's own process."""


class Pool(Generic[Job, Found]):
    """Jobs that run; ``do`` is what is done with each, and must be picklable. No ``ProcessPoolExecutor``: that can't
    interrupt one process, and one that dies breaks it."""

    def __init__(self, do: Callable[[Job], Found]) -> None:
        self.do = do
        self._running: dict[Connection, _Child[Job, Found]] = {}

    def __len__(self) -> int:
        """The number of running jobs."""
        return len(self._running)

    def start(self, job: Job) -> None:
        """Run in a process of its own, forked from one without threads, which a fork of this one might hang on."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        ours, theirs = context.Pipe()
        # A daemon: if all else fails, it ends with this process.
        given = (self.do, job, theirs, dict(os.environ), PRELOADED)
        process = context.Process(target=_child, args=given, daemon=True)
        self._running[ours] = _Child(job, process, ours)
        process.start()
        theirs.close()

    def wait(self, timeout_s: float) -> Iterator[tuple[Job, Found, float]]:
        """Finished jobs, with their results and their seconds; raises the error of a job."""
        for ready in wait(list(self._running), timeout_s):
            child = self._running.pop(ready)  # type: ignore[call-overload]
            yield child.job, child.found(), time.monotonic() - child.begun_s

    def running(self) -> dict[Job, float]:
        """The jobs that run, with their seconds so far."""
        now_s = time.monotonic()
        return {child.job: now_s - child.begun_s for child in self._running.values()}

    def end(self) -> None:
        """Stop all, and wait until they have ended what they started."""
        with uninterruptible():
            _end(list(self._running.values()))
            self._running.clear()


def side_by_side(
    jobs: Iterable[Job], do: Callable[[Job], Found], done: Callable[[Job, Found, float], object], *, width: int
) -> None:
    """Do every job, ``width`` at a time, begun in order; ``done`` gets each with what it found and its seconds.

    One at a time they are done in this process. An error of a job, and Ctrl-C, end all others and are raised.
    """
    waiting = deque(jobs)
    if min(width, len(waiting)) <= 1:
        for job in waiting:
            begun_s = time.monotonic()
            done(job, do(job), time.monotonic() - begun_s)
        return
    pool = Pool[Job, Found](do)
    with interruptible():
        try:
            while waiting or len(pool):
                while waiting and len(pool) < width:
                    pool.start(waiting.popleft())
                for one in pool.wait(LOOK_S):
                    done(*one)
        finally:
            pool.end()


@dataclass
class _Child(Generic[Job, Found]):
    """A job that runs."""

    job: Job
    process: ForkServerProcess
    pipe: Connection
    begun_s: float = field(default_factory=time.monotonic)

    def found(self) -> Found:
        """The job's result; raises its error."""
        try:
            found, error, trace = self.pipe.recv()
        except EOFError:
            self.process.join()
            raise RunFailed(
                "run.process-ended",
                "{job}: its process ended ({exitcode}) without a message",
                job=self.job,
                exitcode=self.process.exitcode,
            ) from None
        self.process.join()
        if error is not None:
            raise error from InJob(trace)
        return found  # type: ignore[no-any-return]


def _end(children: Sequence[_Child[Job, Found]]) -> None:
    started = [child.process for child in children if child.process.pid is not None]
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid or 0, signal.SIGINT)
    for process in started:
        process.join()


def _child(
    do: Callable[[Job], Found], job: Job, pipe: Connection, environment: Mapping[str, str], modules: Sequence[str]
) -> None:
    """Run in its own session, so that Ctrl-C comes once, from the process that started it."""
    with interruptible():
        os.setsid()
        os.environ.clear()
        os.environ.update(environment)
        try:
            for module in modules:
                import_module(module)
            pipe.send((do(job), None, ""))
        except BaseException as error:
            with contextlib.suppress(BrokenPipeError):  # where the one that asked has ended
                pipe.send((None, error, traceback.format_exc()))
