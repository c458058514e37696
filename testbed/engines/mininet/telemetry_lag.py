"""How far the database is behind a run that is on, for those who watch it live."""

from __future__ import annotations

import threading
import time

from influxdb.line_protocol import make_lines

from testbed.plan.model import Plan
from testbed.series import influxql, named
from testbed.services.influx.client import Client, QueryFailed
from testbed.services.influx.endpoint import Endpoint

INTERVAL_S = 2.0


class TelemetryLag(threading.Thread):
    """Writes the measurement ``telemetry_lag`` (tags run, scenario, policy; field lag_ms: the age of the newest sample
    of a sender that the database has) every two seconds, straight to the database.

    While the database is away there is nothing to write to; the first point after it came back tells.
    """

    def __init__(self, endpoint: Endpoint, plan: Plan) -> None:
        super().__init__(name="telemetry-lag", daemon=True)
        self._endpoint, self._run = endpoint, str(plan["run"])
        self._tags = {"run": plan["run"], "scenario": plan["scenario"], "policy": plan["sessions"][0]["policy"]}
        self._ended = threading.Event()

    def run(self) -> None:
        """Measure until stopped."""
        with Client(self._endpoint, "admin") as client:
            while not self._ended.wait(INTERVAL_S):
                try:
                    newest = newest_sample_ns(client, self._run)
                    if newest is not None:
                        client.write([self._line(newest, time.time_ns())])
                except QueryFailed:
                    continue

    def stop(self) -> None:
        """End; waits no longer than one measurement takes."""
        self._ended.set()
        if self.is_alive():
            self.join(timeout=INTERVAL_S)

    def _line(self, newest_ns: int, now_ns: int) -> str:
        point = {
            "measurement": "telemetry_lag",
            "tags": self._tags,
            "fields": {"lag_ms": max(0.0, (now_ns - newest_ns) / 1e6)},
            "time": now_ns,
        }
        return str(make_lines({"points": [point]})).rstrip("\n")


def newest_sample_ns(client: Client, run: str) -> int | None:
    """Unix nanoseconds of the newest sample of the run's senders; None while there is none."""
    query = influxql.select(named("sent"), [influxql.tag_is("run", run)], expression='last("sent")')
    return max((part.columns["time"][0] for part in client.query(query)), default=None)
