"""Runs jobs of one kind in parallel, each in a process of its own."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from testbed.errors import RunFailed
from testbed.runtime.interrupts import interruptible, uninterruptible

PRELOADED = (
    "testbed.study.cell",
    "testbed.study.kinds.sweep",
    "testbed.results.report.render",
    "testbed.engines.sim.engine",
    "testbed.cli",
)
"""Modules that the fork server loads once, beside their function's. ``testbed.cli`` is what the program begins
with: each job would import it, which takes longer than a short run. The server skips modules that it can't import, so
each job imports them again, where a wrong name is an error."""
LOOK_S = 0.5
"""Interval at which other work gets its turn."""

Job = TypeVar("Job")
Found = TypeVar("Found")


class InJob(Exception):
    """The traceback of an error, from the job's own process."""


class Child(Generic[Found]):
    """A function that is called in a process of its own. The process ends with this one, however that ends."""

    _starting = threading.Lock()

    def __init__(self, name: object, do: Callable[..., Found], *given: Any, **environment: str) -> None:
        """``name`` is for messages; ``environment`` is set beside that of this process."""
        self.name, self.begun_s = name, time.monotonic()
        # The server that forks it has no threads: a fork of a process with threads might hang.
        context = multiprocessing.get_context("forkserver")
        self.pipe, self._other_end = context.Pipe()
        self._modules = (*PRELOADED, getattr(do, "func", do).__module__)  # that of a partial's function
        arguments = (do, given, self._other_end, {**os.environ, **environment}, self._modules)
        self.process = context.Process(target=_child, args=arguments, daemon=True)

    def start(self) -> None:
        """Begin the process; it may be interrupted and waited for before, too."""
        with self._starting:  # one thread starts the server
            multiprocessing.get_context("forkserver").set_forkserver_preload(list(self._modules))
            self.process.start()
        self._other_end.close()

    def found(self) -> Found:
        """Wait for the function's return value; raises its error."""
        try:
            found, error, trace = self.pipe.recv()
        except EOFError:
            self.process.join()
            raise RunFailed(
                "run.process-ended", f"{self.name}: its process ended ({self.process.exitcode}) without a message"
            ) from None
        self.process.join()
        if error is not None:
            raise error from InJob(trace)
        return found  # type: ignore[no-any-return]

    def interrupt(self) -> None:
        """Send it what Ctrl-C sends."""
        if self.process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGINT)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end of the process, if it has begun."""
        if self.process.pid is not None:
            self.process.join(timeout_s)


class Pool(Generic[Job, Found]):
    """Jobs that wait or are in progress; ``do`` is called with each, and must be picklable. ``ProcessPoolExecutor``
    can't interrupt one process, and breaks when one dies. Where one goes at a time this process does it."""

    def __init__(self, do: Callable[[Job], Found], jobs: Iterable[Job] = (), width: int = 1) -> None:
        self.do, self.waiting, self._width = do, deque(jobs), width
        self._running: dict[Connection, tuple[Job, Child[Found]]] = {}

    def __len__(self) -> int:
        """The number of jobs that are not done."""
        return len(self.waiting) + len(self._running)

    def width(self) -> int:
        """The number of jobs that go at once."""
        return self._width

    def here(self, job: Job) -> Found:
        """Do a job in this process."""
        return self.do(job)

    def wait(self, timeout_s: float) -> Iterator[tuple[Job, Found, float]]:
        """Begin jobs, in order; yields jobs that are done since the last call, with their results and seconds, none
        where none is before the timeout. One that goes in this process is done then, whatever the time. Raises the
        error of a job."""
        if self._is_next_here():
            job, begun_s = self.waiting.popleft(), time.monotonic()
            yield job, self.here(job), time.monotonic() - begun_s
            return
        width = self.width()
        while self.waiting and len(self._running) < width:
            job = self.waiting.popleft()
            child = Child(job, self.do, job)
            self._running[child.pipe] = job, child
            child.start()
        for ready in wait(list(self._running), timeout_s):
            job, child = self._running.pop(ready)  # type: ignore[call-overload]
            yield job, child.found(), time.monotonic() - child.begun_s

    def running(self) -> dict[str, float]:
        """The jobs in progress, with their seconds so far; the next one, if this process does it."""
        if self._is_next_here():
            return {str(self.waiting[0]): 0.0}
        now_s = time.monotonic()
        return {str(job): now_s - child.begun_s for job, child in self._running.values()}

    def close(self) -> None:
        """Begin no more, interrupt all jobs, and wait until they have ended what they started."""
        self.waiting.clear()
        with uninterruptible():
            for _, child in self._running.values():
                child.interrupt()
            for _, child in self._running.values():
                child.join()
            self._running.clear()

    def _is_next_here(self) -> bool:
        return bool(self.waiting) and not self._running and self.width() == 1


def side_by_side(jobs: Sequence[Job], do: Callable[[Job], Found], *, width: int) -> Iterator[tuple[Job, Found]]:
    """Do every job, ``width`` at a time, begun in order; yields each with its result as soon as it is done.

    A width of one uses this process. An error of a job, and Ctrl-C, end all others and are raised.
    """
    pool = Pool[Job, Found](do, jobs, min(width, len(jobs)))
    with interruptible():
        try:
            while len(pool):
                yield from ((job, found) for job, found, _ in pool.wait(LOOK_S))
        finally:
            pool.close()


def _child(
    do: Callable[..., Any],
    given: Sequence[Any],
    pipe: Connection,
    environment: Mapping[str, str],
    modules: Sequence[str],
) -> None:
    """Call the function in a session of its own: Ctrl-C comes once, from the process that started it."""
    with interruptible():
        os.setsid()
        os.environ.clear()
        os.environ.update(environment)
        threading.Thread(target=_end_with_parent, args=(pipe,), daemon=True).start()
        try:
            for module in modules:
                import_module(module)
            pipe.send((do(*given), None, ""))
        except BaseException as error:
            with contextlib.suppress(BrokenPipeError):  # the parent has ended
                pipe.send((None, _picklable(error), traceback.format_exc()))


def _end_with_parent(pipe: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()  # the parent sends nothing
    os.kill(os.getpid(), signal.SIGTERM)


def _picklable(error: BaseException) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RunFailed("run.broke", f"{error!r}")
    return error
