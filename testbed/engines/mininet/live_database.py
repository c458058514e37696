"""Shows a running transfer in the database: in the list of runs, with its law ahead, and its points as they come."""

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from testbed.engines.emulation import calibration
from testbed.engines.emulation.calibration import LinkReading
from testbed.engines.emulation.telemetry import GrowingFiles, open_gateway
from testbed.judge.checks.derived import law_ahead
from testbed.plan.duration import shown_s
from testbed.plan.model import Plan
from testbed.points import line_protocol, point
from testbed.runtime.parts import Background, Failure
from testbed.runtime.processes import AGENT_UID
from testbed.series import influxql, named
from testbed.series.one_clock import RETENTION, shifted
from testbed.services.influx import run_list
from testbed.services.influx.client import Client, QueryFailed
from testbed.services.influx.endpoint import Endpoint
from topologies.fabric import Fabric

INTERVAL_S = 1.0
BEYOND = 1.25
"""A run that takes longer than expected is shown as this much longer, again and again."""


def announce(endpoint: Endpoint, plan: Plan, folder: Path) -> None:
    """Enter the run into the list and write the law of its windows; if the database refuses, the run goes on."""
    with suppress(QueryFailed), Client(endpoint, "admin") as writer:
        run_list.tidy(writer, (), time.time_ns())  # it holds the machine: no other run here is on
        run_list.begin(writer, plan, folder, time.time_ns())
        writer.write(law_ahead(plan), RETENTION)


class LiveDatabase:
    """The database while a run on real packets is on."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    def credentials(self, own: Path) -> Path:
        """The agents' login, in a file in the folder ``own``."""
        file = own / "agent-credentials.json"
        self.endpoint.logins["agent"].write(file)
        # The agents' group may read it; the folder above is root's.
        shutil.chown(file, group=AGENT_UID)
        file.chmod(0o440)
        return file

    def open_gateway(self, parts: ExitStack, fabric: Fabric, own: Path, logs: Path) -> list[Failure]:
        """Let agents on the management network reach it."""
        return open_gateway(parts, fabric, self.endpoint.url, own, logs)

    def note_links(self, plan: Plan, readings: list[LinkReading]) -> None:
        """Store the links' calibration; if the database refuses, the run goes on."""
        with suppress(QueryFailed), Client(self.endpoint, "admin") as writer:
            writer.write(calibration.lines(plan, readings, time.time_ns()))

    def following(self, plan: Plan, spools: Path, started_unix_ns: Callable[[], int | None]) -> "Follower":
        """Store the points of a transfer as they come."""
        return Follower(self.endpoint, plan, spools, started_unix_ns)


class Follower(Background):
    """Writes the points of a run's spools, aligned to the transfer's start, every second while the transfer is on, and
    every other second the measurement ``telemetry_lag``: the age of a sender's newest sample in the database.

    The judge writes all aligned points once more, so one that is missed here is not missing for long.
    """

    longest_stop_s = INTERVAL_S

    def __init__(self, endpoint: Endpoint, plan: Plan, spools: Path, started_unix_ns: Callable[[], int | None]) -> None:
        super().__init__("live-database", started_unix_ns)
        self._endpoint, self._plan, self._spools = endpoint, plan, GrowingFiles(spools)
        self._length_s = shown_s(plan)

    def run(self) -> None:
        """Follow until stopped."""
        start_ns, rounds = None, 0
        with Client(self._endpoint, "admin") as client:
            while not self._stopped.wait(INTERVAL_S):
                start_ns, rounds = start_ns or self._started_unix_ns(), rounds + 1
                if start_ns is not None:
                    with suppress(QueryFailed):
                        self._follow(client, start_ns, time.time_ns())
                if rounds % 2 == 0:
                    with suppress(QueryFailed):
                        self._note_lag(client)

    def _follow(self, client: Client, start_ns: int, now_ns: int) -> None:
        for lines in self._spools.new_lines():
            client.write(shifted(lines, start_ns), RETENTION)
        elapsed_s = (now_ns - start_ns) / 1e9
        if elapsed_s > self._length_s:
            self._length_s = elapsed_s * BEYOND
            run_list.lengthen(client, self._plan, self._length_s)

    def _note_lag(self, client: Client) -> None:
        query = influxql.select(named("sent"), [influxql.tag_is("run", self._plan["run"])], expression='last("sent")')
        newest_ns = max((part.columns["time"][0] for part in client.query(query)), default=None)
        if newest_ns is None:
            return
        now_ns, policy = time.time_ns(), self._plan["sessions"][0]["policy"]
        tags = {"run": self._plan["run"], "scenario": self._plan["scenario"], "policy": policy}
        lag = point("telemetry_lag", tags, {"lag_ms": max(0.0, (now_ns - newest_ns) / 1e6)}, now_ns)
        client.write(line_protocol([lag]).splitlines())
