"""What a worker does: runs, one after the other, each in a process of its own, packed as soon as it is over.

The worker itself is Dask's, with this module as ``--preload``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
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
from collections.abc import Callable, Mapping, Sequence
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
from testbed.study.hosts.fitness import POSSIBLE, fingerprint
from testbed.study.hosts.transfer import Packed, dumps, loads, pack
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

    @classmethod
    def of(cls, error: BaseException) -> Failed:
        """The one that is being handled."""
        of_the_host = isinstance(error, CannotRun) or bool(of_the_machine(error)) or not isinstance(error, Exception)
        trace = traceback.format_exc()
        if isinstance(error, Exception):
            with contextlib.suppress(Exception):
                pickle.loads(pickle.dumps(error))
                return cls(error, trace, of_the_host)
        return cls(RunFailed("cluster.job-broke", "{error!r}", error=error), trace, of_the_host)


Answer = Packed | Failed
"""Of one process: what it returned, or why it returned nothing."""


@dataclass
class State:
    """Of this worker."""

    name: str = ""
    scratch: Path = field(default_factory=Path)
    running: dict[ForkServerProcess, str] = field(default_factory=dict)
    """Processes, with their submitters."""
    gone: set[str] = field(default_factory=set)
    """Submitters; "" where the worker itself ends."""
    lock: threading.Lock = field(default_factory=threading.Lock)


STATE = State()


def main() -> None:
    """Run ``dask worker`` until it is stopped or has lost its scheduler, then end its runs."""
    from distributed.cli.dask_worker import main as dask_worker  # takes longer than all else

    configure_dask()
    options = ["--no-nanny", "--no-dashboard", "--dashboard-address=127.0.0.1:0", "--memory-limit=0"]
    code = 1
    try:
        dask_worker([*sys.argv[1:], *options, f"--preload={__name__}"], standalone_mode=False)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        _exit(code)


def dask_setup(worker: Worker) -> None:
    """Have runs in Dask's folder of this worker, which the next one removes if this one is killed."""
    STATE.name, STATE.scratch = str(worker.name), Path(worker.local_directory)
    for number in (signal.SIGINT, signal.SIGTERM):  # Dask's own handler cancels a close that has begun, and then hangs
        asyncio.get_running_loop().add_signal_handler(number, _exit, 0)


def _exit(code: int) -> NoReturn:
    end_runs()
    shutil.rmtree(STATE.scratch, ignore_errors=True)
    sys.stdout.flush()
    os._exit(code)  # threads wait for runs that were ended


async def dask_teardown(_: Worker) -> None:
    """End the runs of a worker that has lost its scheduler."""
    await asyncio.to_thread(end_runs)


def runs(jobs: Sequence[bytes], submitter: str) -> list[tuple[Answer, float]]:
    """Do jobs of a study; with the seconds of each."""
    found = []
    for job in jobs:
        begun_s = time.monotonic()
        answer = _in_a_process(_run, (job, STATE.name), submitter)
        found.append((answer, time.monotonic() - begun_s))
    return found


def examine(targets: Sequence[Target], middle: Middle | None, submitter: str) -> list[tuple[Answer, float]]:
    """This host's ``fingerprint`` and, where a ``middle`` is given and such runs can be made, its ``links`` as JSON
    (:class:`HostLinks`), measured while no other run is in progress."""
    return [(_in_a_process(_examine, (tuple(targets), middle), submitter), 0.0)]


def forget(submitter: str = "") -> None:
    """End the runs of a submitter or, without one, every run, and begin no more; they tear down what they built."""
    STATE.gone.add(submitter)
    for process, of in list(STATE.running.items()):
        if submitter in ("", of):
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.kill(process.pid or 0, signal.SIGINT)


def end_runs() -> None:
    """End every run, and wait for it."""
    processes = list(STATE.running)
    forget()
    for process in processes:
        process.join(60)


def _in_a_process(do: Callable[..., bytes], given: tuple[Any, ...], submitter: str) -> Answer:
    """What a function returns in a process of its own, with a folder of its own for results."""
    process = place = None
    context = multiprocessing.get_context("forkserver")
    try:
        if STATE.gone & {"", submitter}:
            raise CannotRun("cluster.submitter-gone", "the submitter or the worker ends")
        place = tempfile.mkdtemp(dir=STATE.scratch, prefix="run-")
        ours, theirs = context.Pipe()
        with ours:
            with theirs, STATE.lock:  # the fork server is started by one thread
                context.set_forkserver_preload([*PRELOADED, __name__])
                process = context.Process(target=_child, args=(do, given, place, theirs, dict(os.environ)))
                process.start()
                STATE.running[process] = submitter
            try:
                answer: Answer = ours.recv()
            except EOFError:
                process.join()
                code = process.exitcode
                raise CannotRun(
                    "cluster.job-silent", "its process ended ({code}) without a message", code=code
                ) from None
            process.join()
            return answer
    except (OSError, CannotRun) as error:  # no room, no more processes, or one that ended
        return Failed(error, traceback.format_exc(), of_the_host=True)
    finally:
        if process is not None:
            STATE.running.pop(process, None)
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)


def _child(
    do: Callable[..., bytes], given: tuple[Any, ...], place: str, pipe: Connection, environment: Mapping[str, str]
) -> None:
    """Run in a session of its own, which ends when its worker does, however that ends."""
    with interruptible():
        os.setsid()
        os.environ.clear()
        # What a run needs is set up with the cluster, not in the midst of a study.
        os.environ.update(environment, NCP_TESTBED_RESULTS=place, NCP_TESTBED_NO_SETUP="1")
        threading.Thread(target=_end_with_the_worker, args=(pipe,), daemon=True).start()
        answer: Answer
        try:
            answer = Packed.of(do(*given))
        except BaseException as error:
            answer = Failed.of(error)
        with contextlib.suppress(BrokenPipeError):
            pipe.send(answer)


def _end_with_the_worker(pipe: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()  # nothing is ever sent this way
    os.kill(os.getpid(), signal.SIGTERM)


def _run(job: bytes, host: str) -> bytes:
    """Do a job; returns its record, and the files."""
    results = Path(os.environ["NCP_TESTBED_RESULTS"])
    provenance.worker = host  # before there is a page, which shows it
    record = loads(job, results).run(QuietProgress())
    for file in results.rglob("provenance.json"):  # of runs without pages, that of machine and code is the submitter's
        if (document := read_json(file)).get("worker") != host:
            write_json(file, {**document, "worker": host})
    return dumps((record, pack(results)), results)


def _examine(targets: Sequence[Target], middle: Middle | None) -> bytes:
    found: dict[str, Any] = {"fingerprint": fingerprint(targets, Path(os.environ["NCP_TESTBED_RESULTS"])), "links": ""}
    if middle is not None and POSSIBLE in found["fingerprint"]["engines"].values():
        binary = build_programs("ncp-link")["ncp-link"]
        found["links"] = when_free(lambda: measure_host.measure(binary, middle), lambda _: None).model_dump_json()
    return json.dumps(found).encode()
