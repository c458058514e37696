"""What a worker does: runs, one after the other, each in a process of its own, packed as soon as it is over."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from testbed.documents import read_json, write_json
from testbed.engines import provenance
from testbed.errors import CannotRun, RunFailed, of_the_machine
from testbed.lab import measure_host
from testbed.machine.build import build_programs
from testbed.plan.model import Middle
from testbed.runtime.interrupts import interruptible
from testbed.study.attempts import when_free
from testbed.study.cluster.canary import Fingerprint, fingerprint
from testbed.study.cluster.packed import Packed, dumps, loads, pack, places
from testbed.study.executor import Way
from testbed.study.side_by_side import PRELOADED


@dataclass(frozen=True)
class Failed:
    """A run that came to no result. ``of_the_host``: another host may well make it."""

    error: Exception
    trace: str
    of_the_host: bool


Answer = Packed | Failed
"""What comes of one run: pickled, what was found and the files that it left; or why not."""


@dataclass
class Here:
    """This worker. Only its program begins one."""

    name: str = ""
    scratch: Path = field(default_factory=Path)
    running: dict[ForkServerProcess, str] = field(default_factory=dict)
    """By whom it was asked for."""
    ended: set[str] = field(default_factory=set)
    """Submitters that have gone."""
    lock: threading.Lock = field(default_factory=threading.Lock)


HERE = Here()


def begin(name: str, scratch: Path) -> None:
    """Remove what a worker of this name left that was killed."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    HERE.name, HERE.scratch = name, scratch


def runs(study: bytes, keys: Sequence[bytes], submitter: str) -> list[tuple[Answer, float]]:
    """Make cells of a study, and tell the seconds of each."""
    found = []
    for key in keys:
        begun_s = time.monotonic()
        answer = _in_a_process(_one, (study, key, HERE.name), submitter)
        found.append((answer, time.monotonic() - begun_s))
    return found


def canary(ways: Sequence[Way], submitter: str) -> Answer:
    """This host's :class:`Fingerprint`, pickled."""
    return _in_a_process(_fingerprint, (tuple(ways),), submitter)


def links(middle: Middle, submitter: str) -> Answer:
    """This host's :class:`HostLinks`, pickled, when no other run is on."""
    return _in_a_process(_links, (middle,), submitter)


def forget(submitter: str) -> None:
    """End what it asked for."""
    HERE.ended.add(submitter)
    _end([process for process, of in list(HERE.running.items()) if of == submitter])


def end_all() -> None:
    """End every run, which takes down what it built, and wait for it."""
    processes = list(HERE.running)
    _end(processes)
    for process in processes:
        process.join(60)


def _end(processes: Sequence[ForkServerProcess]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(process.pid or 0, signal.SIGINT)


def _in_a_process(do: Callable[..., bytes], given: tuple[Any, ...], submitter: str) -> Answer:
    if submitter in HERE.ended:
        return Failed(RunFailed("cluster.submitter-gone", "the submitter has gone"), "", of_the_host=False)
    try:
        return _answer(do, given, submitter)
    except OSError as error:  # no room, no more processes, or one that ended while it spoke
        return Failed(RunFailed("cluster.job-failed", "{error}", error=error), traceback.format_exc(), of_the_host=True)


def _answer(do: Callable[..., bytes], given: tuple[Any, ...], submitter: str) -> Answer:
    place = Path(tempfile.mkdtemp(dir=HERE.scratch, prefix="run-"))
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    try:
        with HERE.lock:  # starting the server of forks is not for two threads at once
            context.set_forkserver_preload([*PRELOADED, "testbed.study.cluster.work"])
            process = context.Process(target=_child, args=(do, given, place, theirs, dict(os.environ)))
            process.start()
            HERE.running[process] = submitter
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
        HERE.running.pop(process, None)
        ours.close()
        shutil.rmtree(place, ignore_errors=True)


def _child(
    do: Callable[..., bytes], given: tuple[Any, ...], place: Path, pipe: Connection, environment: Mapping[str, str]
) -> None:
    """In a session of its own. It ends when its worker does, however that ends."""
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
    told = (
        error
        if isinstance(error, Exception) and _is_picklable(error)
        else RunFailed("cluster.job-broke", "{error!r}", error=error)
    )
    return Failed(told, trace, of_the_host)


def _is_picklable(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True


def _one(study: bytes, key: bytes, host: str) -> bytes:
    """A cell until it can be trusted: what was found, and the files."""
    results = Path(os.environ["NCP_TESTBED_RESULTS"])
    roots = places(results)
    provenance.worker = host  # before there is a page, which shows it
    found = loads(study, roots).make_trusted(loads(key, roots))
    for file in results.rglob("provenance.json"):  # of runs without pages, that of machine and code is the submitter's
        if (document := read_json(file)).get("worker") != host:
            write_json(file, {**document, "worker": host})
    return dumps((found, pack(results)), roots)


def _fingerprint(ways: Sequence[Way]) -> bytes:
    found: Fingerprint = fingerprint(ways, Path(os.environ["NCP_TESTBED_RESULTS"]))
    return pickle.dumps(found)


def _links(middle: Middle) -> bytes:
    binary = build_programs("ncp-link")["ncp-link"]
    return pickle.dumps(when_free(lambda: measure_host.measure(binary, middle), lambda _: None))
