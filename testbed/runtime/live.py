"""One run at a time per machine, and the ledgers of live runs so that what a killed run left can be removed."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from testbed import paths
from testbed.errors import CannotRun
from testbed.runtime.interrupts import uninterruptible
from testbed.runtime.ledger import (
    NAME,
    RUN_LABEL,
    RUN_VARIABLE,
    Docker,
    Ledger,
    Removed,
    is_a_beginning,
    remove_namespace,
)
from testbed.runtime.processes import start_time
from topologies.fabric import leftover_namespaces

BUSY = "two runs at once would disturb each other's links"
BUSY_CODES = ("run.machine-busy", "run.machine-still-busy", "claims.machine-busy")
"""Of the errors of a run that finds another one on."""
WAIT_FOR_OTHERS_S = 900.0

log = logging.getLogger(__name__)


def directory(run: str) -> Path:
    """A live run's own folder: its ledger, credentials and control sockets."""
    return paths.live_runs() / run


def docker_client() -> Any | None:
    """A client of the Docker engine, or None where none answers."""
    import docker
    from docker.errors import DockerException

    try:
        return docker.from_env(timeout=20)
    except DockerException:
        return None


@contextmanager
def only_run(run: str, scenario: str, namespace: str) -> Iterator[Path]:
    """Hold the machine for one run; yields its own folder. What it has made is gone after it, as far as its
    :func:`ledger_of` knows. Raises :class:`CannotRun` while another is on.
    """
    base = paths.live_runs()
    base.mkdir(parents=True, exist_ok=True, mode=0o755)
    with (base / "lock").open("a+") as lock:
        if not _try_lock(lock):
            raise CannotRun(
                "run.machine-busy",
                "{run} is running; {busy}",
                "Wait for it, or stop it with Ctrl-C.",
                run=_holder(lock),
                busy=BUSY,
            )
        # Held now, so whatever is left belongs to runs that are over.
        lock.truncate(0)
        lock.write(f"{scenario} {run} (pid {os.getpid()})")
        lock.flush()
        ledger = Ledger.open(directory(run), run, scenario)
        before = tempfile.tempdir
        try:
            os.environ[RUN_VARIABLE] = run
            ledger.will_make("namespace", namespace)
            tempfile.tempdir = _own_temporary_folder(ledger)
            yield directory(run)
        finally:
            os.environ.pop(RUN_VARIABLE, None)
            tempfile.tempdir = before
            with uninterruptible():
                for problem in ledger.tear_down(docker_client).problems:
                    log.warning("%s; ./run.sh clean removes it", problem)
            lock.truncate(0)


def _own_temporary_folder(ledger: Ledger) -> str:
    """Temporary folders of a run are made in one of its own, which is removed with it."""
    folder = Path(tempfile.gettempdir()) / f"ncp-testbed-{ledger.owner.run}"
    ledger.will_make("folder", str(folder))
    folder.mkdir(mode=0o755)
    return str(folder)


def ledger_of(run: str) -> Ledger:
    """The ledger of a run that is on."""
    ledger = Ledger.read(directory(run) / NAME)
    assert ledger is not None
    return ledger


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(lock: IO[str]) -> str:
    lock.seek(0)
    return lock.read().strip() or "another run"


def holder() -> str | None:
    """Which run is on, as a text; None while there is none."""
    try:
        with (paths.live_runs() / "lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _holder(lock)
    except FileNotFoundError:
        pass
    return None


def wait_for_others(told: Callable[[str], object]) -> None:
    """Until no run is on, of which ``told`` is told; raises :class:`CannotRun` after a quarter of an hour."""
    since_s = time.monotonic()
    time.sleep(2)
    while (name := holder()) is not None:
        if time.monotonic() - since_s > WAIT_FOR_OTHERS_S:
            raise CannotRun(
                "run.machine-still-busy",
                "{run} is still running after {minutes:.0f} minutes; {busy}",
                run=name,
                minutes=WAIT_FOR_OTHERS_S / 60,
                busy=BUSY,
            )
        told(name)
        time.sleep(2)


def remove_leftovers(docker: Docker) -> Removed:
    """Remove what runs that no longer exist left behind.

    Only what carries this testbed's mark, and whose run is over, is touched.
    """
    done = Removed()
    # Before the ledgers are read: a run that begins meanwhile has its ledger before its containers.
    client = docker()
    labelled = client.containers.list(all=True, filters={"label": RUN_LABEL}) if client else []
    alive = set()
    for folder in sorted(path for path in paths.live_runs().glob("*") if path.is_dir()):
        ledger = Ledger.read(folder / NAME)
        if ledger is None:
            # Of a run that was killed at its very beginning, of one that is at it, or somebody else's.
            if is_a_beginning(folder) and holder() is None:
                shutil.rmtree(folder, ignore_errors=True)
                done.things.append(f"folder {folder}")
        elif ledger.owner.alive:
            alive.add(ledger.owner.run)
        else:
            found = ledger.tear_down(lambda: client)
            done.things.extend(found.things)
            done.problems.extend(found.problems)
    for container in labelled:  # also those whose ledger went with the machine's power
        if container.labels.get(RUN_LABEL) not in alive and _remove(container):
            done.things.append(f"container {container.name}")
    for name in leftover_namespaces("ncp-mn"):  # of ``mn --custom``, by the process that made it
        maker = name.removeprefix("ncp-mn")
        if maker.isdigit() and start_time(int(maker)) is None:
            remove_namespace(name)
            done.things.append(f"namespace {name}")
    return done


def _remove(container: Any) -> bool:
    from docker.errors import NotFound

    try:
        container.remove(force=True)
    except NotFound:
        return False
    return True
