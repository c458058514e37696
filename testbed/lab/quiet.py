"""Load of the machine by other processes: a benchmark of microseconds has to report it."""

from __future__ import annotations

import time
from typing import Any

import psutil

BUSY_SHARE = 0.15
SAMPLE_S = 0.4


class HostLoad:
    """Samples of what others do, taken while the benchmark itself does nothing."""

    def __init__(self) -> None:
        self.busy: list[float] = []
        """Shares of all cores' time that others (or the hypervisor) took, one per sample."""

    def sample(self) -> None:
        """Watch for a moment."""
        before = psutil.cpu_times()
        time.sleep(SAMPLE_S)
        after = psutil.cpu_times()
        total = sum(after[:8]) - sum(before[:8])
        idle = after.idle - before.idle + after.iowait - before.iowait
        if total > 0:
            self.busy.append(1 - idle / total)

    @property
    def was_busy(self) -> bool:
        """Whether figures may be worse than the links are."""
        return max(self.busy, default=0.0) > BUSY_SHARE

    def as_json(self) -> dict[str, Any]:
        """The entry in ``bench.json``."""
        return {"busy": self.busy, "was_busy": self.was_busy}

    def __str__(self) -> str:
        """The load for the result's head."""
        if not self.busy:
            return "host load not sampled"
        shares = ", ".join(f"{share:.0%}" for share in self.busy)
        word = "BUSY: figures are worse than on a quiet host" if self.was_busy else "quiet"
        return f"host load by others before each part: {shares} of all cores ({word})"
