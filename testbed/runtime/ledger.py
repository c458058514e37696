"""What a run makes on this machine, written down before it is made, so that all of it goes whatever ends the run.

Links, interfaces, qdiscs and sysctls are in the run's namespace or in those of its hosts, and go with them; what is
left are the namespace, containers, processes and folders. Each carries the run's mark (its name, a label, a variable
of its environment), and nothing without it is removed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic asks for this one below Python 3.12

from testbed.errors import RunFailed
from testbed.runtime.processes import is_running, start_time
from topologies.commands import run
from topologies.fabric import leftover_namespaces

RUN_LABEL = "ncp-testbed.run"
"""Of containers: the run that made them."""
RUN_VARIABLE = "NCP_TESTBED_PROCESS_OF"
"""Of processes, in their environment: the run that started them, or one of their parents."""
NAME = "ledger.jsonl"
ENDING_S = 0.3
"""What processes get between SIGTERM and SIGKILL."""

RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
"""What a live run's folder is called."""

Kind = Literal["folder", "processes", "namespace", "container"]
Docker = Callable[[], Any]
"""Gives a client of the Docker engine, or None where none answers."""


@dataclass(frozen=True)
class Owner:
    """The run that a ledger is of, and its process."""

    run: str
    scenario: str
    pid: int
    pid_started: int

    @property
    def alive(self) -> bool:
        """Whether that very process still runs."""
        return is_running(self.pid, self.pid_started)


class Entry(TypedDict):
    """A line of a ledger after its first."""

    kind: Kind
    name: str


OWNER = TypeAdapter(Owner)
ENTRY = TypeAdapter(Entry)


@dataclass(frozen=True)
class Removed:
    """What was removed, and what could not be, in words."""

    things: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Ledger:
    """The ledger of one run: a line for its owner, then one for each thing, in the order that they are made in."""

    def __init__(self, file: Path, owner: Owner) -> None:
        self.file, self.owner = file, owner

    @classmethod
    def open(cls, folder: Path, run_id: str, scenario: str) -> Ledger:
        """Make the run's own folder, with a ledger whose first entry it is."""
        owner = Owner(run_id, scenario, os.getpid(), start_time(os.getpid()) or 0)
        ledger = cls(folder / NAME, owner)
        folder.mkdir(mode=0o755)
        ledger._write(asdict(owner))
        ledger._write({"kind": "folder", "name": str(folder)})
        ledger._write({"kind": "processes", "name": run_id})
        return ledger

    @classmethod
    def read(cls, file: Path) -> Ledger | None:
        """None for one that was not even begun, and for one that another user wrote."""
        try:
            if file.stat().st_uid != os.geteuid():
                return None
            return cls(file, OWNER.validate_json(file.read_bytes().splitlines()[0]))
        except (OSError, ValueError, IndexError):
            return None

    def will_make(self, kind: Kind, name: str) -> None:
        """Call it before a thing is made. Raises :class:`RunFailed` where somebody else has made it."""
        if (kind == "namespace" and name in leftover_namespaces()) or (kind == "folder" and os.path.lexists(name)):
            raise RunFailed(
                "run.object-exists", "{kind} {name} exists already, and is not this run's", kind=kind, name=name
            )
        self._write({"kind": kind, "name": name})

    def entries(self) -> Iterator[tuple[Kind, str]]:
        """What was or was about to be made, the latest first."""
        for line in reversed(self.file.read_bytes().splitlines()[1:]):
            try:
                entry = ENTRY.validate_json(line)
            except ValueError:  # cut off by the end of the run, so nothing was made of it
                continue
            yield entry["kind"], entry["name"]

    def tear_down(self, docker: Docker) -> Removed:
        """Remove, latest first, what is still there. It may be called again and again.

        What can't be removed does not keep the rest; the ledger then stays, for the next call.
        """
        done = Removed()
        for kind, name in list(self.entries()):
            if name == str(self.file.parent) and done.problems:
                continue
            try:
                if self._remove(kind, name, docker):
                    done.things.append(f"{kind} {name}")
            except Exception as error:  # the others must go
                done.problems.append(f"{kind} {name} is still there: {error}")
        return done

    def _remove(self, kind: Kind, name: str, docker: Docker) -> bool:
        match kind:
            case "container":
                return _remove_container(name, self.owner.run, docker)
            case "namespace":
                return remove_namespace(name)
            case "processes":
                return _end_processes(lambda: _processes_of(name))
            case "folder":
                there = Path(name).exists()
                shutil.rmtree(name, ignore_errors=True)
                return there

    def _write(self, entry: dict[str, Any]) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def is_a_beginning(folder: Path) -> bool:
    """Whether a folder is what a run leaves that is killed before its ledger says anything: ours, by its name, and with
    nothing else in it."""
    return (
        RUN_ID.fullmatch(folder.name) is not None
        and not folder.is_symlink()
        and folder.stat().st_uid == os.geteuid()
        and all(path.name == NAME for path in folder.iterdir())
    )


def remove_namespace(name: str) -> bool:
    """Delete one of our namespaces and end what runs in it; whether there was one."""
    if name not in leftover_namespaces():
        return False
    _end_processes(lambda: [int(pid) for pid in run(["ip", "netns", "pids", name]).split()])
    run(["ip", "netns", "delete", name])
    return True


def _remove_container(name: str, run_id: str, docker: Docker) -> bool:
    from docker.errors import NotFound

    if (client := docker()) is None:
        raise RunFailed("docker.does-not-answer", "the Docker engine does not answer")
    try:
        container = client.containers.get(name)
        if container.labels.get(RUN_LABEL) != run_id:
            return False
        container.remove(force=True)
    except NotFound:
        return False
    return True


def _processes_of(run_id: str) -> list[int]:
    """Processes with the run's mark, without this one and those that it was started by."""
    mark = f"{RUN_VARIABLE}={run_id}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            marked = mark in path.read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if marked:
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
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        time.sleep(ENDING_S)
    return any_there
