"""What a process holds, sampled for as long as it runs, and whether it grew: memory, descriptors and threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

MAY_GROW = {"memory_mib": 12.0, "descriptors": 4.0, "threads": 4.0}
"""By how much the last third of a time may be above the second."""


def after_emptying(heap: Sequence[float], cached: Sequence[float]) -> list[float]:
    """The least of a server's heap between each time that its cache was emptied and when it was half full again: what
    it holds beside the cache. Garbage comes and goes above that."""
    emptied = [i for i in range(1, len(cached)) if cached[i] < cached[i - 1] / 2]
    half = max(cached) / 2
    return [
        min(h for h, c in zip(heap[begin:end], cached[begin:end], strict=True) if c <= half)
        for begin, end in pairwise([*emptied, len(cached)])
    ]


@dataclass
class Held:
    """What one process held at each sample, by kind."""

    samples: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in MAY_GROW})

    def sample(self, pid: int) -> None:
        """Add what it holds now; nothing if it has ended."""
        process = Path(f"/proc/{pid}")
        try:
            status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
            now = {
                "memory_mib": int(status["RssAnon"].split()[0]) / 1024,
                "descriptors": sum(1 for _ in (process / "fd").iterdir()),
                "threads": int(status["Threads"]),
            }
        except (OSError, KeyError):  # it has ended, or is about to
            return
        for kind, values in self.samples.items():
            values.append(now[kind])

    def thirds(self, kind: str) -> tuple[float, float, float]:
        """The medians of the first, the second and the last third of the time."""
        values = self.samples[kind]
        third = len(values) // 3
        return median(values[:third]), median(values[third : 2 * third]), median(values[2 * third :])

    def grown(self, **may_grow: float) -> list[str]:
        """What it holds more of in the last third than in the second, in words, beyond :data:`MAY_GROW` or what is
        said instead. The first third is for buffers to fill."""
        found = []
        for kind, most in {**MAY_GROW, **may_grow}.items():
            _, before, after = self.thirds(kind)
            if after > before + most:
                found.append(f"{kind}: {before:g} in the second third, {after:g} in the last")
        return found
