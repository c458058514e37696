"""The host's load during a run: a starved host makes late links, and its results are not to be trusted."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from testbed.points import line_protocol, point

CORES = psutil.cpu_count() or 1
BUSY = 0.05
"""Idle part of a stretch below which the machine was busy in it. Real-time tasks are throttled by the kernel, so that
even they leave some per cent of each second."""

CLOCK_STEP_S = 0.1
"""Smallest step of the clock that is reported: a clock is kept right by smaller steps."""
STEP_SAMPLES = 3


class HostLoad(threading.Thread):
    """Appends a ``host`` point to a spool every interval, at whole steps of the clock as all components do: CPU busy
    and stolen (fractions of all cores' time over the interval) and the number of runnable tasks (``/proc/loadavg``);
    every second a ``collector`` point with its own cost.
    """

    def __init__(self, spool: Path, run: str, scenario: str, interval_s: float) -> None:
        super().__init__(name="host-load", daemon=True)
        self._spool, self._tags, self._interval_s = spool, {"run": run, "scenario": scenario}, interval_s
        self._ended = threading.Event()
        self.spans: list[tuple[float, float]] = []
        """Seconds of each sample, and the idle part of them."""
        self.failure: str | None = None
        """The reason why it has ended by itself, or None."""
        self.clocks: list[float] = []
        """Seconds between the clock of timestamps and one that nobody can set, at each sample."""
        self._samples = 0
        self._cpu_s = self._duration_s = 0.0

    def run(self) -> None:
        """Sample until stopped."""
        try:
            self._sample()
        except Exception as error:  # a full disk, say
            self.failure = f"the host's load: {getattr(error, 'strerror', error)} ({self._spool})"

    def _sample(self) -> None:
        before, step_s = psutil.cpu_times(), self._interval_s
        begun_s = told_s = time.monotonic()
        told_cpu_s = late_s = 0.0
        with self._spool.open("ab", buffering=0) as spool:
            # To the next step, or the one after it where that is near, so that no sample covers next to nothing.
            while not self._ended.wait(wait_s := 1.5 * step_s - (time.time() + step_s / 2) % step_s):
                now_s = time.monotonic()
                late_s = max(late_s, now_s - begun_s - self._duration_s - wait_s)
                now_ns, after = time.time_ns(), psutil.cpu_times()
                self.clocks.append(now_ns / 1e9 - now_s)
                total = sum(after[:8]) - sum(before[:8])  # user … steal; guest time is part of user
                if total <= 0:
                    continue
                idle = (after.idle - before.idle + after.iowait - before.iowait) / total
                steal = (after.steal - before.steal) / total
                before = after
                self.spans.append((total / CORES, idle))
                fields = {"cpu": 1.0 - idle, "steal": steal, "run_queue": _runnable()}
                points = [point("host", self._tags, fields, now_ns)]
                self._samples += 1
                self._cpu_s, self._duration_s = time.thread_time(), now_s - begun_s
                if now_s - told_s >= 1:
                    cpu = (self._cpu_s - told_cpu_s) / (now_s - told_s)
                    own = {"cpu": cpu, "samples": self._samples, "late_ms": late_s * 1000}
                    points.append(point("collector", {**self._tags, "collector": "host"}, own, now_ns))
                    told_s, told_cpu_s, late_s = now_s, self._cpu_s, 0.0
                spool.write(line_protocol(points).encode())

    def cost(self) -> dict[str, str | int | float]:
        """Points and cost of the sampler, in the form of ``ncp-collect``."""
        return {"collector": "host", "samples": self._samples, "cpu_s": self._cpu_s, "duration_s": self._duration_s}

    def stop(self) -> None:
        """End after the current sample."""
        self._ended.set()
        if self.is_alive():
            self.join()


def idle_shares(spans: Sequence[tuple[float, float]], interval_s: float) -> list[float]:
    """Fractions of idle CPU time, one per interval; a sample that comes late counts for all that it covers. A span is
    its seconds and its idle share."""
    return [idle for seconds, idle in spans for _ in range(max(1, round(seconds / interval_s)))]


def clock_step_s(clocks: Sequence[float]) -> float:
    """Seconds by which the clock was set in between, forward as positive; 0.0 for less than :data:`CLOCK_STEP_S`.

    ``clocks`` as in :class:`HostLoad`. A sample that is held up between its two readings shows more than there is, so
    of the samples before and after a moment the least counts, of :data:`STEP_SAMPLES` at least.
    """
    if len(clocks) < 2 * STEP_SAMPLES:
        return 0.0
    import numpy as np  # who only samples has no use for it

    values = np.array(clocks, dtype=float)
    before = np.minimum.accumulate(values)[STEP_SAMPLES - 1 : -STEP_SAMPLES]
    after = np.minimum.accumulate(values[::-1])[::-1][STEP_SAMPLES : len(values) - STEP_SAMPLES + 1]
    steps = after - before
    largest = float(steps[np.argmax(np.abs(steps))])
    return largest if abs(largest) >= CLOCK_STEP_S else 0.0


def longest_busy_s(spans: Sequence[tuple[float, float]]) -> float:
    """Seconds of the longest stretch with a mean idle share below :data:`BUSY`; a span is its seconds and its
    idle share."""
    if not spans:
        return 0.0
    import numpy as np

    seconds, idle = np.array(spans, dtype=float).T
    until_s = np.concatenate(([0.0], np.cumsum(seconds)))
    # Above what is allowed; a stretch is busy if this falls from its begin to its end.
    surplus = np.concatenate(([0.0], np.cumsum((idle - BUSY) * seconds)))
    least_after = np.minimum.accumulate(surplus[::-1])[::-1]
    ends = np.searchsorted(least_after, surplus, side="left") - 1  # the last place with less
    return float(np.max(until_s[np.maximum(ends, np.arange(len(ends)))] - until_s))


def _runnable() -> int:
    """Tasks that run or wait for a CPU, this one not counted."""
    running = Path("/proc/loadavg").read_text().split()[3].split("/")[0]
    return max(0, int(running) - 1)
