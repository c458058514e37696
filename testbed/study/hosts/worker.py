"""A Dask worker for studies: makes its runs one after the other, each in a process of its own, and packs their results
at once.

Dask loads this module by ``--preload``.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from testbed import paths
from testbed.engines import provenance
from testbed.errors import CannotRun, RunFailed, of_the_machine
from testbed.lab import host_links
from testbed.machine.build import build_programs
from testbed.plan.model import Middle
from testbed.runtime.progress import QuietProgress
from testbed.study.cell import Target, when_free
from testbed.study.hosts import cluster, fitness, transfer
from testbed.study.pool import Child, InJob


@dataclass(frozen=True)
class Failed:
    """A run without a result. ``of_the_host``: another host may well make it."""

    error: Exception
    trace: str
    of_the_host: bool

    @classmethod
    def of(cls, error: BaseException) -> Failed:
        """Wraps an error. The run's process gives the traceback of its own. Others are of the host: no room, or a
        process that died."""
        known = error if isinstance(error, Exception) else RunFailed("cluster.job-broke", f"{error!r}")
        of_the_run = known is error and isinstance(error.__cause__, InJob)
        of_the_host = not of_the_run or isinstance(error, CannotRun) or bool(of_the_machine(error))
        return cls(known, str(error.__cause__), of_the_host)


Answer = transfer.Packed | Failed


@dataclass
class State:
    """State of this worker."""

    name: str = ""
    scratch: Path = field(default_factory=Path)
    running: dict[Child[bytes], str] = field(default_factory=dict)
    """Processes and their submitters."""
    gone: set[str] = field(default_factory=set)
    """Submitters that have ended; an empty name stands for all, as the worker itself ends."""


STATE = State()


def main() -> None:
    """Run ``dask worker`` until it is stopped or has lost its scheduler, then end its runs."""
    from distributed.cli.dask_worker import main as dask_worker  # takes longer than all else

    cluster.configure_dask()
    options = ["--no-nanny", "--no-dashboard", "--dashboard-address=127.0.0.1:0", "--memory-limit=0"]
    try:
        dask_worker([*sys.argv[1:], *options, f"--preload={__name__}"], standalone_mode=False)
    except BaseException:
        traceback.print_exc()
        _exit(1)
    _exit(0)


def dask_setup(worker: Any) -> None:
    """Place runs in the folder that Dask has for this worker; the next worker removes it if this one is killed."""
    STATE.name, STATE.scratch = str(worker.name), Path(worker.local_directory)
    for number in (signal.SIGINT, signal.SIGTERM):  # Dask's own handler cancels a close that has begun, and then hangs
        asyncio.get_running_loop().add_signal_handler(number, _exit, 0)


def _exit(code: int) -> NoReturn:
    end_runs()
    shutil.rmtree(STATE.scratch, ignore_errors=True)
    sys.stdout.flush()
    os._exit(code)  # threads wait for runs that were ended


async def dask_teardown(_: Any) -> None:
    """End the runs of a worker that has lost its scheduler."""
    await asyncio.to_thread(end_runs)


def runs(jobs: Sequence[bytes], submitter: str) -> list[tuple[Answer, float]]:
    """Do jobs of a study; returns their answers and seconds."""
    return [_in_a_process(_run, (job, STATE.name), submitter) for job in jobs]


def examine(targets: Sequence[Target], middle: Middle | None, submitter: str) -> list[tuple[Answer, float]]:
    """Returns this host's ``fingerprint`` and its ``links`` as JSON (:class:`HostLinks`).

    Links are measured for a given ``middle`` while no run is in progress, if the host can carry real packets."""
    return [_in_a_process(_examine, (tuple(targets), middle), submitter)]


def forget(submitter: str = "") -> None:
    """End the runs of a submitter, without one every run, and begin no more; the runs tear down what they built."""
    STATE.gone.add(submitter)
    for child, of in list(STATE.running.items()):
        if submitter in ("", of):
            child.interrupt()


def end_runs() -> None:
    """End every run, and wait for it."""
    running = list(STATE.running)
    forget()
    for child in running:
        child.join(60)


def _in_a_process(do: Callable[..., bytes], given: tuple[Any, ...], submitter: str) -> tuple[Answer, float]:
    """Call a function in a process of its own, with a folder of its own for results."""
    try:
        if STATE.gone & {"", submitter}:
            raise CannotRun("cluster.submitter-gone", "the submitter or the worker ends")
        with tempfile.TemporaryDirectory(dir=STATE.scratch, prefix="run-", ignore_cleanup_errors=True) as place:
            # What a run needs is set up with the cluster, not in the midst of a study.
            child = Child("the run", do, *given, NCP_TESTBED_RESULTS=place, NCP_TESTBED_NO_SETUP="1")
            STATE.running[child] = submitter
            try:
                child.start()
                return transfer.Packed.of(child.found()), time.monotonic() - child.begun_s
            finally:
                del STATE.running[child]
    except BaseException as error:  # anything may end the process
        return Failed.of(error), 0.0


def _run(job: bytes, host: str) -> bytes:
    """Do a job; returns its record and files."""
    provenance.worker = host
    record = transfer.loads(job).run(QuietProgress())
    return transfer.dumps((record, transfer.pack(paths.results())))


def _examine(targets: Sequence[Target], middle: Middle | None) -> bytes:
    found: dict[str, Any] = {"fingerprint": fitness.fingerprint(targets, paths.results()), "links": ""}
    if middle is not None and fitness.POSSIBLE in found["fingerprint"]["engines"].values():
        binary = build_programs("ncp-link")["ncp-link"]
        found["links"] = when_free(lambda: host_links.measure(binary, middle), lambda _: None).model_dump_json()
    return json.dumps(found).encode()
