"""The host's load during a run: a starved host makes late links, and its results are not to be trusted."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psutil
from influxdb.line_protocol import make_lines


class HostLoad(threading.Thread):
    """Appends a ``host`` point to a spool every interval: CPU busy and stolen (fractions of all cores' time
    over the interval) and the number of runnable tasks (``/proc/loadavg``).

    Measured at 0.4 ms of CPU per sample, 0.4% of a core at 100 ms.
    """

    def __init__(self, spool: Path, run: str, scenario: str, interval_s: float) -> None:
        super().__init__(name="host-load", daemon=True)
        self._spool, self._tags, self._interval_s = spool, {"run": run, "scenario": scenario}, interval_s
        self._ended = threading.Event()
        self.idle: list[float] = []
        """Fractions of idle CPU time, one per sample."""

    def run(self) -> None:
        """Sample until stopped."""
        before = psutil.cpu_times()
        with self._spool.open("ab", buffering=0) as spool:
            while not self._ended.wait(self._interval_s):
                now_ns, after = time.time_ns(), psutil.cpu_times()
                total = sum(after[:8]) - sum(before[:8])  # user … steal; guest time is part of user
                if total <= 0:
                    continue
                idle = (after.idle - before.idle + after.iowait - before.iowait) / total
                steal = (after.steal - before.steal) / total
                before = after
                self.idle.append(idle)
                point = {
                    "measurement": "host",
                    "tags": self._tags,
                    "time": now_ns,
                    "fields": {"cpu": 1.0 - idle, "steal": steal, "run_queue": _runnable()},
                }
                spool.write(make_lines({"points": [point]}).encode())

    def stop(self) -> None:
        """End after the current sample."""
        self._ended.set()
        if self.is_alive():
            self.join()


def _runnable() -> int:
    """Tasks that run or wait for a CPU, this one not counted."""
    running = Path("/proc/loadavg").read_text().split()[3].split("/")[0]
    return max(0, int(running) - 1)
