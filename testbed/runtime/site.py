"""The surroundings of one run: its plan, result folder, programs and record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.plan.model import Plan, Session
from testbed.runtime.agents import AgentPlace, agent_name
from testbed.runtime.progress import Progress


@dataclass(frozen=True)
class Site:
    """A run's plan and result folder, its built programs by name, and what its provenance records so far."""

    plan: Plan
    folder: Path
    binaries: Mapping[str, Path]
    progress: Progress
    provenance: dict[str, Any]

    @property
    def session(self) -> Session:
        """The plan's first session; most kinds of traffic have one only."""
        return self.plan["sessions"][0]

    @property
    def plan_file(self) -> Path:
        return self.folder / "plan.json"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def spools(self) -> Path:
        """The folder of telemetry files being written; removed after the run, when they are merged into one."""
        return self.folder / "spools"

    def place(
        self, host: str, role: str, session: str, own: Path, credentials: Path | None, **further: Any
    ) -> AgentPlace:
        """The place of one of the run's agents, whose folders are made; ``own`` is the run's folder of sockets."""
        name = agent_name(session, role)
        log = self.logs / f"{name}.log"
        made = AgentPlace(
            host, role, session, self.plan_file, self.spools / name, own / name, credentials, log, **further
        )
        made.prepare()
        return made
