"""A run that is on, as dashboards look at it: in the list of runs, with the law ahead, its points on one clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from testbed.engines.mininet.spools import Spools
from testbed.judge.checks.law_ahead import law_ahead
from testbed.plan.duration import shown_s
from testbed.plan.model import Plan
from testbed.series.one_clock import RETENTION, shifted
from testbed.services.influx import run_list
from testbed.services.influx.client import Client, QueryFailed
from testbed.services.influx.endpoint import Endpoint

INTERVAL_S = 1.0

BEYOND = 1.25
"""A run that takes longer than expected is shown as this much longer, again and again."""


def announce(endpoint: Endpoint, plan: Plan, folder: Path) -> None:
    """Enter the run into the list and write what its windows are to do; where the database does not take it, the run
    goes on without."""
    with suppress(QueryFailed), Client(endpoint, "admin") as writer:
        run_list.begin(writer, plan, folder, time.time_ns())
        writer.write(law_ahead(plan), RETENTION)


class TimeAlignment(threading.Thread):
    """Follows the spools and writes their points on the common clock, every second while the transfer is on.

    When it is judged everything is written once more, so a point that is missed here is not missing for long.
    """

    def __init__(self, endpoint: Endpoint, plan: Plan, spools: Path, started_unix_ns: Callable[[], int | None]) -> None:
        super().__init__(name="on-one-clock", daemon=True)
        self._endpoint, self._plan, self._spools = endpoint, plan, Spools(spools)
        self._started_unix_ns = started_unix_ns
        self._length_s = shown_s(plan)
        self._ended = threading.Event()

    def run(self) -> None:
        """Follow until stopped."""
        start_ns = None
        with Client(self._endpoint, "admin") as client:
            while not self._ended.wait(INTERVAL_S):
                start_ns = start_ns or self._started_unix_ns()
                if start_ns is not None:
                    with suppress(QueryFailed):
                        self._follow(client, start_ns, time.time_ns())

    def stop(self) -> None:
        """End; waits no longer than one round takes."""
        self._ended.set()
        if self.is_alive():
            self.join(timeout=INTERVAL_S)

    def _follow(self, client: Client, start_ns: int, now_ns: int) -> None:
        for lines in self._spools.new_lines():
            client.write(shifted(lines, start_ns), RETENTION)
        elapsed_s = (now_ns - start_ns) / 1e9
        if elapsed_s > self._length_s:
            self._length_s = elapsed_s * BEYOND
            run_list.lengthen(client, self._plan, self._length_s)
