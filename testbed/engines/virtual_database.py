"""A simulated run's points in InfluxDB, when one is up: for dashboards, which a simulation doesn't depend on."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from testbed.engines.judging import Judged, store_judged
from testbed.errors import TestbedError
from testbed.judge.checks.law_ahead import law_ahead
from testbed.plan.model import Plan
from testbed.series.one_clock import RETENTION
from testbed.services.influx import Client, Endpoint, run_list, running
from testbed.services.influx.reader import FromInflux


class Database:
    """Takes the points of a run in place of those of an earlier repetition; never starts a server.

    The file counts from a fixed date, so that it is the same every time. In the database the run ends now,
    where a dashboard looks for it. ``note`` describes the outcome.
    """

    def __init__(self, plan: Plan, telemetry: Path) -> None:
        self._plan, self._telemetry = plan, telemetry
        self._endpoint: Endpoint | None = None
        self._later_ns = 0
        self.note = "no InfluxDB is up: telemetry.lp has all points"

    def store(self) -> int | None:
        """Write the file's points; returns the number that the database has, None if there is none."""
        try:
            endpoint = running()
            if endpoint is None:
                return None
            lines = self._telemetry.read_text(encoding="utf-8").splitlines()
            self._later_ns = time.time_ns() - max((_time_ns(line) for line in lines), default=0)
            with ExitStack() as held:
                # Repetitions of a run have its name: of two that store at once, each would count the other's points.
                file = Path(tempfile.gettempdir()) / f"ncp-database-{os.getuid()}.lock"
                fcntl.flock(held.enter_context(file.open("a")), fcntl.LOCK_EX)
                with Client(endpoint, "admin") as admin:
                    admin.delete_run(self._plan["run"])
                    run_list.begin(admin, self._plan, self._telemetry.parent, time.time_ns())
                    admin.write(self._moved(lines))
                    admin.write(law_ahead(self._plan), RETENTION)
                with Client(endpoint, "reader") as reader:
                    count = FromInflux(reader, self._plan["run"]).count_points()
        except (TestbedError, OSError) as error:
            self.note = f"not stored: {error}"
            return None
        self._endpoint = endpoint
        self.note = f"{count} points at {endpoint.url}"
        return count

    def store_judged(self, judged: Judged) -> None:
        """Write the points of the verdict that dashboards read, if the database has those of the run."""
        if self._endpoint is not None:
            derived, history = self._moved(judged.derived), self._moved(judged.history)
            with Client(self._endpoint, "admin") as admin:
                store_judged(admin, self._plan, dataclasses.replace(judged, derived=derived, history=history))

    def _moved(self, lines: Iterable[str]) -> list[str]:
        return [f"{line.rsplit(' ', 1)[0]} {_time_ns(line) + self._later_ns}" for line in lines]


def _time_ns(line: str) -> int:
    return int(line.rsplit(" ", 1)[1])
