"""Removes the things that runs have made on this machine: a run's own at its end, and those of killed runs.

Links, interfaces, qdiscs and sysctls go with the namespaces. Only things with the testbed's mark are removed: by a
run's :class:`Ledger`, by a container's label, or by a namespace's name.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.errors import RunFailed
from testbed.runtime.ledger import NAME, RUN_ID, RUN_LABEL, RUN_VARIABLE, Kind, Ledger
from testbed.runtime.lock import holder
from testbed.runtime.processes import start_time
from topologies.commands import run
from topologies.fabric import leftover_namespaces

ENDING_S = 0.3
"""The time between SIGTERM and SIGKILL."""
Docker = Callable[[], Any]
"""Gives a client of the Docker engine, or None where none answers."""


@dataclass(frozen=True)
class Removed:
    """The things that were removed, and the problems with others, in words."""

    things: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def docker_client() -> Any | None:
    """A client of the Docker engine, or None where none answers."""
    import docker
    from docker.errors import DockerException

    try:
        return docker.from_env(timeout=20)
    except DockerException:
        return None


def tear_down(ledger: Ledger, docker: Docker, *, dry_run: bool = False) -> Removed:
    """Remove all that a ledger names and is still there, latest first; with ``dry_run`` only say what would go. It may
    be called again and again.

    A thing that can't be removed does not keep the rest; the ledger then stays, for the next call.
    """
    done = Removed()
    for kind, name in list(ledger.entries()):
        if name == str(ledger.file.parent) and done.problems:
            continue
        try:
            if _remove(kind, name, ledger.owner.run, docker, dry_run=dry_run):
                done.things.append(f"{kind} {name}")
        except Exception as error:  # the others must go
            done.problems.append(f"{kind} {name} is still there: {error}")
    return done


def _remove(kind: Kind, name: str, run_id: str, docker: Docker, *, dry_run: bool) -> bool:
    """Whether there is something to remove, which with ``dry_run`` stays."""
    match kind:
        case "container":
            container = _container(name, run_id, docker)
            return container is not None and (dry_run or _force_remove(container))
        case "namespace":
            return _remove_namespace(name, dry_run=dry_run)
        case "processes":
            return bool(_processes_of(name)) if dry_run else _end_processes(lambda: _processes_of(name))
        case "folder":
            there = Path(name).exists()
            if not dry_run:
                shutil.rmtree(name, ignore_errors=True)
            return there


def _remove_namespace(name: str, *, dry_run: bool) -> bool:
    """Delete one of our namespaces and end its processes; whether there is one, which with ``dry_run`` stays."""
    there = name in leftover_namespaces()
    if there and not dry_run:
        _end_processes(lambda: [int(pid) for pid in run(["ip", "netns", "pids", name]).split()])
        run(["ip", "netns", "delete", name])
    return there


def _container(name: str, run_id: str, docker: Docker) -> Any | None:
    """The run's container of that name, if there is one."""
    from docker.errors import NotFound

    if (client := docker()) is None:
        raise RunFailed("docker.does-not-answer", "the Docker engine does not answer")
    try:
        container = client.containers.get(name)
    except NotFound:
        return None
    return container if container.labels.get(RUN_LABEL) == run_id else None


def _processes_of(run_id: str) -> list[int]:
    """Processes with the run's mark, without this one and its parent."""
    mark = f"{RUN_VARIABLE}={run_id}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return [pid for pid in found if pid not in (os.getpid(), os.getppid())]


def _end_processes(pids: Callable[[], list[int]]) -> bool:
    """SIGTERM, then SIGKILL to those that are still there; whether there were any."""
    any_there = False
    for number in (signal.SIGTERM, signal.SIGKILL):
        there = [pid for pid in pids() if pid != os.getpid()]
        if not there:
            break
        any_there = True
        for pid in there:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(ENDING_S)
    return any_there


def remove_leftovers(docker: Docker, *, dry_run: bool = False) -> Removed:
    """Remove the leftovers of runs that no longer exist, or with ``dry_run`` only say what they are; only things with
    this testbed's mark are touched."""
    client = docker()
    try:
        return _remove_leftovers(client, dry_run=dry_run)
    finally:
        if client:
            client.close()


def _remove_leftovers(client: Any | None, *, dry_run: bool) -> Removed:
    done = Removed()
    # Before the ledgers are read: a run that begins meanwhile has its ledger before its containers.
    labelled = client.containers.list(all=True, filters={"label": RUN_LABEL}) if client else []
    alive = set()
    for folder in sorted(path for path in paths.live_runs().glob("*") if path.is_dir()):
        ledger = Ledger.read(folder / NAME)
        if ledger is None:
            # Of a run that was killed at its very beginning, of one that is at it, or somebody else's.
            if _is_a_beginning(folder) and holder() is None:
                if not dry_run:
                    shutil.rmtree(folder, ignore_errors=True)
                done.things.append(f"folder {folder}")
        elif ledger.owner.alive:
            alive.add(ledger.owner.run)
        else:
            found = tear_down(ledger, lambda: client, dry_run=dry_run)
            done.things.extend(found.things)
            done.problems.extend(found.problems)
    for container in labelled:  # also those whose ledger went with the machine's power
        text = f"container {container.name}"
        if container.labels.get(RUN_LABEL) in alive or text in done.things:
            continue
        if dry_run or _force_remove(container):
            done.things.append(text)
    for name in leftover_namespaces("ncp-mn"):  # of ``mn --custom``, by the process that made it
        maker = name.removeprefix("ncp-mn")
        if maker.isdigit() and start_time(int(maker)) is None:
            _remove_namespace(name, dry_run=dry_run)
            done.things.append(f"namespace {name}")
    return done


def _is_a_beginning(folder: Path) -> bool:
    """Whether a run may have left the folder that was killed before its ledger had a line: ours, by its name, and with
    nothing else in it."""
    return (
        RUN_ID.fullmatch(folder.name) is not None
        and not folder.is_symlink()
        and folder.stat().st_uid == os.geteuid()
        and all(path.name == NAME for path in folder.iterdir())
    )


def _force_remove(container: Any) -> bool:
    from docker.errors import NotFound

    try:
        container.remove(force=True)
    except NotFound:
        return False
    return True
