"""What a worker does: runs, one after the other, each in a process of its own, packed as soon as it is over.

The worker itself is Dask's, with this module as ``--preload``.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from testbed.documents import read_json, write_json
from testbed.engines import provenance
from testbed.errors import CannotRun, RunFailed, of_the_machine
from testbed.lab import measure_host
from testbed.machine.build import build_programs
from testbed.plan.model import Middle
from testbed.runtime.interrupts import interruptible
from testbed.runtime.progress import QuietProgress
from testbed.study.cell import Target
from testbed.study.hosts.cluster import configure_dask
from testbed.study.hosts.fitness import fingerprint
from testbed.study.hosts.transfer import Packed, dumps, loads, pack, roots
from testbed.study.job import when_free
from testbed.study.pool import PRELOADED

if TYPE_CHECKING:
    from distributed import Worker


@dataclass(frozen=True)
class Failed:
    """A run without a result. ``of_the_host``: another host may well make it."""

    error: Exception
    trace: str
    of_the_host: bool


Answer = Packed | Failed
"""Of one process: what it returned, pickled; or why it returned nothing."""


@dataclass
class State:
    """Of this worker."""

    name: str = ""
    scratch: Path = field(default_factory=Path)
    running: dict[ForkServerProcess, str] = field(default_factory=dict)
    """Processes, with their submitters."""
    gone: set[str] = field(default_factory=set)
    """Submitters."""
    closing: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


STATE = State()


def main() -> None:
    """Run ``dask worker`` until it is stopped or has lost its scheduler, then end its runs."""
    from distributed.cli.dask_worker import main as dask_worker  # takes longer than all else

    configure_dask()
    options = ["--no-nanny", "--no-dashboard", "--dashboard-address=127.0.0.1:0", "--memory-limit=0"]
    code: object = 1
    try:
        dask_worker([*sys.argv[1:], *options, f"--preload={__name__}"])
    except SystemExit as ended:
        code = ended.code
    except Exception:
        traceback.print_exc()
    _exit(code if isinstance(code, int) else 0)


def dask_setup(worker: Worker) -> None:
    """Have runs in Dask's folder of this worker, which the next one removes if this one is killed."""
    STATE.name, STATE.scratch = str(worker.name), Path(worker.local_directory)
    for number in (signal.SIGINT, signal.SIGTERM):  # Dask's own handler cancels a close that has begun, and then hangs
        asyncio.get_running_loop().add_signal_handler(number, _exit, 0)


def _exit(code: int) -> NoReturn:
    end_all()
    shutil.rmtree(STATE.scratch, ignore_errors=True)
    sys.stdout.flush()
    os._exit(code)  # threads wait for runs that were ended


async def dask_teardown(_: Worker) -> None:
    """End the runs of a worker that has lost its scheduler."""
    await asyncio.to_thread(end_all)


def runs(jobs: Sequence[bytes], submitter: str) -> list[tuple[Answer, float]]:
    """Do jobs of a study; with the seconds of each."""
    found = []
    for job in jobs:
        begun_s = time.monotonic()
        answer = _in_a_process(_run, (job, STATE.name), submitter)
        found.append((answer, time.monotonic() - begun_s))
    return found


def canary(targets: Sequence[Target], submitter: str) -> Answer:
    """This host's :class:`Fingerprint`."""
    return _in_a_process(_fingerprint, (tuple(targets),), submitter)


def links(middle: Middle, submitter: str) -> Answer:
    """This host's :class:`HostLinks`, measured while no other run is in progress."""
    return _in_a_process(_links, (middle,), submitter)


def forget(submitter: str) -> None:
    """End a submitter's runs."""
    STATE.gone.add(submitter)
    _interrupt(process for process, of in list(STATE.running.items()) if of == submitter)


def end_all() -> None:
    """End every run, which tears down what it built, and wait for it."""
    STATE.closing = True
    processes = list(STATE.running)
    _interrupt(processes)
    for process in processes:
        process.join(60)


def _interrupt(processes: Iterable[ForkServerProcess]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(process.pid or 0, signal.SIGINT)


def _in_a_process(do: Callable[..., bytes], given: tuple[Any, ...], submitter: str) -> Answer:
    if STATE.closing or submitter in STATE.gone:
        return Failed(RunFailed("cluster.submitter-gone", "the submitter has gone"), "", of_the_host=STATE.closing)
    try:
        return _answer(do, given, submitter)
    except OSError as error:  # no room, no more processes, or one that ended while it spoke
        return Failed(RunFailed("cluster.job-failed", "{error}", error=error), traceback.format_exc(), of_the_host=True)


def _answer(do: Callable[..., bytes], given: tuple[Any, ...], submitter: str) -> Answer:
    place = Path(tempfile.mkdtemp(dir=STATE.scratch, prefix="run-"))
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    try:
        with STATE.lock:  # the fork server is started by one thread
            context.set_forkserver_preload([*PRELOADED, __name__])
            process = context.Process(target=_child, args=(do, given, place, theirs, dict(os.environ)))
            process.start()
            STATE.running[process] = submitter
        theirs.close()
        try:
            answer: Answer = ours.recv()
        except EOFError:
            process.join()
            silent = RunFailed(
                "cluster.job-silent", "its process ended ({exitcode}) without a message", exitcode=process.exitcode
            )
            answer = Failed(silent, "", of_the_host=True)
        process.join()
        return answer
    finally:
        STATE.running.pop(process, None)
        ours.close()
        shutil.rmtree(place, ignore_errors=True)


def _child(
    do: Callable[..., bytes], given: tuple[Any, ...], place: Path, pipe: Connection, environment: Mapping[str, str]
) -> None:
    """Run in a session of its own, which ends when its worker does, however that ends."""
    with interruptible():
        os.setsid()
        os.environ.clear()
        # What a run needs is set up with the cluster, not in the midst of a study.
        os.environ.update(environment, NCP_TESTBED_RESULTS=str(place), NCP_TESTBED_NO_SETUP="1")
        threading.Thread(target=_end_with_the_worker, args=(pipe,), daemon=True).start()
        answer: Answer
        try:
            answer = Packed.of(do(*given))
        except BaseException as error:
            answer = _failed(error)
        with contextlib.suppress(BrokenPipeError):
            pipe.send(answer)


def _end_with_the_worker(pipe: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()  # nothing is ever sent this way
    os.kill(os.getpid(), signal.SIGTERM)


def _failed(error: BaseException) -> Failed:
    of_the_host = isinstance(error, CannotRun) or bool(of_the_machine(error)) or not isinstance(error, Exception)
    trace = traceback.format_exc()
    if isinstance(error, Exception):
        with contextlib.suppress(Exception):
            pickle.loads(pickle.dumps(error))
            return Failed(error, trace, of_the_host)
    return Failed(RunFailed("cluster.job-broke", "{error!r}", error=error), trace, of_the_host)


def _run(job: bytes, host: str) -> bytes:
    """Do a job; returns its record, and the files."""
    results = Path(os.environ["NCP_TESTBED_RESULTS"])
    here = roots(results)
    provenance.worker = host  # before there is a page, which shows it
    record = loads(job, here).run(QuietProgress())
    for file in results.rglob("provenance.json"):  # of runs without pages, that of machine and code is the submitter's
        if (document := read_json(file)).get("worker") != host:
            write_json(file, {**document, "worker": host})
    return dumps((record, pack(results)), here)


def _fingerprint(targets: Sequence[Target]) -> bytes:
    return pickle.dumps(fingerprint(targets, Path(os.environ["NCP_TESTBED_RESULTS"])))


def _links(middle: Middle) -> bytes:
    binary = build_programs("ncp-link")["ncp-link"]
    return pickle.dumps(when_free(lambda: measure_host.measure(binary, middle), lambda _: None))
