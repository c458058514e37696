"""An agent on another machine: a container there, whose socket, spool and result are at this machine's places."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.plan.model import Plan
from testbed.remote.machine import Machine
from testbed.runtime.agents import AgentPlace, ContainerAgent

PLAN = "plan.json"
RESULTS = ("result.json", "trace.sqlog")


def folders_of(place: AgentPlace) -> tuple[str, str]:
    """An agent's folders in the run's folder of its machine: for its spool and results, and for its socket."""
    return f"{place.name}/data", f"{place.name}/control"


def socket_of(place: AgentPlace) -> str:
    """An agent's control socket, in the run's folder of its machine."""
    return f"{folders_of(place)[1]}/control.sock"


class RemoteAgent(ContainerAgent):
    """An agent whose ``place`` is here; it pushes no telemetry, which is fetched as it is sampled."""

    def __init__(
        self, machine: Machine, image: str, plan: Plan, place: AgentPlace, beside: ContainerAgent | None = None
    ) -> None:
        self.machine = machine
        file, data, control = (Path(machine.folder, name) for name in (PLAN, *folders_of(place)))
        there = replace(place, plan=file, directory=data, control=control, credentials=None)
        super().__init__(machine.docker, image, plan, there, beside, machine.labels())
        control = machine.own / folders_of(place)[1]
        self.place = replace(place, control=control, credentials=None, ahead_ns=machine.ahead_ns)

    def _is_gone(self) -> bool:
        """Unknown here: its process is on the other machine."""
        return False

    def _look(self) -> int | None:
        """Ask for the exit code there; the agent's result is here when it has ended."""
        if failed := self.machine.failure():
            raise RunFailed.of(failed, "./run.sh clean --hosts INVENTORY removes what is left of this run there.")
        code = super()._look()
        if code is not None:
            self._fetch_results()
        return code

    def stop(self) -> None:
        """Stop it; where its machine can't be reached it is left there, with all that it has."""
        with contextlib.suppress(RunFailed, OSError):
            self._looked_s = 0.0
            super().stop()

    def _fetch_results(self) -> None:
        for name in RESULTS:
            with contextlib.suppress(OSError):
                if content := self.machine.read_all(f"{folders_of(self.place)[0]}/{name}"):
                    if name.endswith(".json"):
                        content = self._on_our_clock(content)
                    (self.place.directory / name).write_bytes(content)

    def _on_our_clock(self, content: bytes) -> bytes:
        result: dict[str, Any] = json.loads(content)
        for key in ("started_unix_ns", "finished_unix_ns"):
            if result.get(key):
                result[key] -= self.machine.ahead_ns
        return json.dumps(result, indent=1, ensure_ascii=False).encode() + b"\n"
