"""Records each thing that a run makes on this machine before it is made, so that
:mod:`testbed.runtime.leftovers` can remove it whatever ends the run.

Links, interfaces, qdiscs and sysctls are in the run's namespace or in those of its hosts, and go with them; left are
the namespace, containers, processes and folders. Each carries the run's mark (its name, a label, a variable of its
environment), and nothing without it is removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic asks for this one below Python 3.12

from testbed.errors import RunFailed
from testbed.runtime.processes import is_running, start_time
from topologies.fabric import leftover_namespaces

RUN_LABEL = "ncp-testbed.run"
"""The label of containers: the run that made them."""
RUN_VARIABLE = "NCP_TESTBED_PROCESS_OF"
"""The variable in processes' environment: the run that started them, or one of their parents."""
NAME = "ledger.jsonl"

RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
"""The name of a live run's folder."""

Kind = Literal["folder", "processes", "namespace", "container"]


class Owner(NamedTuple):
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


class Ledger:
    """The ledger of one run: a line for its owner, then one for each thing, in the order that they are made in."""

    def __init__(self, file: Path, owner: Owner) -> None:
        self.file, self.owner = file, owner

    @classmethod
    def open(cls, folder: Path, run_id: str, scenario: str) -> Ledger:
        """Make the run's own folder, with a ledger whose first entry it is."""
        ledger = cls(folder / NAME, Owner(run_id, scenario, os.getpid(), start_time(os.getpid()) or 0))
        folder.mkdir(mode=0o755)
        ledger._write(ledger.owner._asdict())
        ledger._write({"kind": "folder", "name": str(folder)})
        ledger._write({"kind": "processes", "name": run_id})
        return ledger

    @classmethod
    def read(cls, file: Path) -> Ledger | None:
        """The ledger in a file; None for one without a first line, and for one that another user wrote."""
        try:
            if file.stat().st_uid != os.geteuid():
                return None
            return cls(file, OWNER.validate_python(json.loads(file.read_bytes().splitlines()[0])))
        except (OSError, ValueError, IndexError):
            return None

    def will_make(self, kind: Kind, name: str) -> None:
        """Note a thing before it is made. Raises :class:`RunFailed` where somebody else has made it."""
        if (kind == "namespace" and name in leftover_namespaces()) or (kind == "folder" and os.path.lexists(name)):
            raise RunFailed("run.object-exists", f"{kind} {name} exists already, and is not this run's")
        self._write({"kind": kind, "name": name})

    def entries(self) -> Iterator[tuple[Kind, str]]:
        """The things that were made or about to be, the latest first."""
        for line in reversed(self.file.read_bytes().splitlines()[1:]):
            try:
                entry = ENTRY.validate_json(line)
            except ValueError:  # cut off by the end of the run, so nothing was made of it
                continue
            yield entry["kind"], entry["name"]

    def _write(self, entry: object) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(entry) + "\n")
