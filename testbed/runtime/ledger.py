"""Records what a run makes on this machine before it is made, so that :mod:`testbed.runtime.leftovers` can remove it
whatever ends the run.

Links, interfaces, qdiscs and sysctls are in the run's namespace or in those of its hosts, and go with them; what is
left are the namespace, containers, processes and folders. Each carries the run's mark (its name, a label, a variable
of its environment), and nothing without it is removed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic asks for this one below Python 3.12

from testbed.errors import RunFailed
from testbed.runtime.processes import is_running, start_time
from topologies.fabric import leftover_namespaces

RUN_LABEL = "ncp-testbed.run"
"""Of containers: the run that made them."""
RUN_VARIABLE = "NCP_TESTBED_PROCESS_OF"
"""Of processes, in their environment: the run that started them, or one of their parents."""
NAME = "ledger.jsonl"

RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
"""What a live run's folder is called."""

Kind = Literal["folder", "processes", "namespace", "container"]


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

    def _write(self, entry: dict[str, Any]) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps(entry) + "\n")
