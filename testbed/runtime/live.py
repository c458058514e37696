"""The run that is on: it holds the machine, has a folder of its own, and is torn down at its end."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed import paths
from testbed.runtime.interrupts import uninterruptible
from testbed.runtime.ledger import NAME, RUN_VARIABLE, Ledger
from testbed.runtime.leftovers import docker_client, tear_down
from testbed.runtime.lock import take

log = logging.getLogger(__name__)


def directory(run: str) -> Path:
    """A live run's own folder: its ledger, credentials and control sockets."""
    return paths.live_runs() / run


@contextmanager
def only_run(run: str, scenario: str, namespace: str) -> Iterator[Path]:
    """Hold the machine for one run; yields its own folder. All that its :func:`ledger_of` names is removed after it.
    Raises :class:`CannotRun` while another is on.
    """
    base = paths.live_runs()
    base.mkdir(parents=True, exist_ok=True, mode=0o755)
    with (base / "lock").open("a+") as lock:
        take(lock)
        # Held now, so whatever is left belongs to runs that are over.
        lock.truncate(0)
        lock.write(f"{scenario} {run}")
        lock.flush()
        ledger = Ledger.open(directory(run), run, scenario)
        before = tempfile.tempdir
        try:
            os.environ[RUN_VARIABLE] = run
            ledger.will_make("namespace", namespace)
            # Temporary folders of a run are made in one of its own, which is removed with it.
            temporary = Path(tempfile.gettempdir()) / f"ncp-testbed-{run}"
            ledger.will_make("folder", str(temporary))
            temporary.mkdir(mode=0o755)
            tempfile.tempdir = str(temporary)
            yield directory(run)
        finally:
            os.environ.pop(RUN_VARIABLE, None)
            tempfile.tempdir = before
            with uninterruptible():
                for problem in tear_down(ledger, docker_client).problems:
                    log.warning("%s; ./run.sh clean removes it", problem)
            lock.truncate(0)


def ledger_of(run: str) -> Ledger:
    """The ledger of a run that is on."""
    ledger = Ledger.read(directory(run) / NAME)
    assert ledger is not None
    return ledger
