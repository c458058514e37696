"""The surroundings of one run: its plan, result folder, programs and record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.documents import write_json
from testbed.plan.model import Plan, Role, Session
from testbed.points import Point, append_points, point
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

    def write_ends(
        self,
        session: Session,
        span_ns: tuple[int, int],
        words: tuple[str, str],
        results: Mapping[Role, Mapping[str, Any]],
        further: Sequence[Point] = (),
    ) -> None:
        """Write both ends' ``results``, by role, and start and end of the transfer to the timeline's spool, with
        ``further`` points. ``span_ns`` are start and end in Unix nanoseconds, ``words`` describe them."""
        started_ns, finished_ns = span_ns
        duration_s = (finished_ns - started_ns) / 1e9
        common = {
            "session": session["name"],
            "started_unix_ns": started_ns,
            "finished_unix_ns": finished_ns,
            "duration_s": duration_s,
            "error": "",
        }
        for role, result in results.items():
            self.write_result(f"{session['name']}-{role}", {"role": role, **common, **result})
        tags = {"run": self.plan["run"], "scenario": self.plan["scenario"], "session": session["name"]}
        kinds = ("transfer_start", "transfer_end")
        points = [
            point("event", tags | {"kind": kind}, {"at_s": at_s, "text": text}, at_ns)
            for kind, at_ns, at_s, text in zip(kinds, span_ns, (0.0, duration_s), words, strict=True)
        ]
        append_points(self.spools / "events.lp", [*points, *further])

    def write_result(self, name: str, result: Mapping[str, Any]) -> None:
        """Write the result of one end into the run's folder."""
        write_json(self.folder / "agents" / f"{name}.json", result)
