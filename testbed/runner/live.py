"""One run at a time per machine, and records of live runs so that what a killed run left can be removed."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.errors import CannotRun
from testbed.runner.processes import is_running, start_time
from topologies.commands import run
from topologies.fabric import leftover_namespaces

RUN_LABEL = "ncp-testbed.run"
BUSY = "two runs at once would disturb each other's links"
"""What a run says that finds another one on."""
WAIT_FOR_OTHERS_S = 900.0


@dataclass(frozen=True)
class Record:
    """What a live run owns."""

    run: str
    scenario: str
    namespace: str
    pid: int
    pid_started: int

    @property
    def alive(self) -> bool:
        """Whether the process of that run still exists."""
        return is_running(self.pid, self.pid_started)


def directory(run: str) -> Path:
    """A live run's own folder: its record, credentials and control sockets."""
    return paths.live_runs() / run


@contextmanager
def only_run(run: str, scenario: str, namespace: str) -> Iterator[Path]:
    """Hold the machine for one run and keep its record; raises :class:`CannotRun` while another is on."""
    base = paths.live_runs()
    base.mkdir(parents=True, exist_ok=True, mode=0o755)
    with (base / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "another run"
            raise CannotRun(
                f"{holder} is on; {BUSY}",
                "Wait for it, or stop it with Ctrl-C.",
            ) from None
        # Held now, so whatever is left belongs to runs that are over.
        lock.truncate(0)
        lock.write(f"{scenario} {run} (pid {os.getpid()})")
        lock.flush()
        own = directory(run)
        own.mkdir(mode=0o755)
        record = Record(run, scenario, namespace, os.getpid(), start_time(os.getpid()) or 0)
        (own / "record.json").write_text(json.dumps(asdict(record)))
        try:
            yield own
        finally:
            shutil.rmtree(own, ignore_errors=True)
            lock.truncate(0)


def holder() -> str | None:
    """Which run is on, as a text; None while there is none."""
    try:
        with (paths.live_runs() / "lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read().strip() or "another run"
    except FileNotFoundError:
        pass
    return None


def wait_for_others(told: Callable[[str], object]) -> None:
    """Until no run is on, of which ``told`` is told; raises :class:`CannotRun` after a quarter of an hour."""
    since_s = time.monotonic()
    time.sleep(2)
    while (name := holder()) is not None:
        if time.monotonic() - since_s > WAIT_FOR_OTHERS_S:
            raise CannotRun(f"{name} is still on after {WAIT_FOR_OTHERS_S / 60:.0f} minutes; {BUSY}")
        told(name)
        time.sleep(2)


def records() -> list[Record]:
    """Records of runs, live or dead."""
    found = []
    for path in sorted(paths.live_runs().glob("*/record.json")):
        try:
            found.append(Record(**json.loads(path.read_text())))
        except (ValueError, TypeError):
            continue
    return found


def remove_leftovers(docker_client: Any | None) -> list[str]:
    """Remove what runs that no longer exist left behind; returns what was removed, in words.

    Only what carries this testbed's label or record, and whose run is over, is touched.
    """
    removed = []
    known = records()
    alive = {record.run for record in known if record.alive}
    alive_namespaces = {record.namespace for record in known if record.alive}
    if docker_client is not None:
        for container in docker_client.containers.list(all=True, filters={"label": RUN_LABEL}):
            if container.labels.get(RUN_LABEL) not in alive:
                container.remove(force=True)
                removed.append(f"container {container.name}")
    for record in known:
        if record.alive:
            continue
        if record.namespace in leftover_namespaces():
            _end_processes_in(record.namespace)
            run(["ip", "netns", "delete", record.namespace])
            removed.append(f"namespace {record.namespace}")
        shutil.rmtree(directory(record.run), ignore_errors=True)
        removed.append(f"record of run {record.run}")
    for name in leftover_namespaces():
        maker = name.removeprefix("ncp-mn")
        if (
            name not in alive_namespaces
            and maker != name
            and maker.isdigit()
            and start_time(int(maker)) is None
        ):
            _end_processes_in(name)
            run(["ip", "netns", "delete", name])
            removed.append(f"namespace {name}")
    return removed


def _end_processes_in(namespace: str) -> None:
    """End the processes inside one of our namespaces (relay, gateway, pusher), by their ids."""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        pids = [int(pid) for pid in run(["ip", "netns", "pids", namespace]).split()]
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                continue
        time.sleep(0.3)
