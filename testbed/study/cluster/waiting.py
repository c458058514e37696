"""Cells that wait for a worker, and how many of them one gets at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Generic

from testbed.errors import RunFailed
from testbed.study.executor import Key

ALLOWED_FAILURES = 3
"""So many workers may be lost with a run, or send it damaged, before the study ends."""
CHUNK_S = 1.0
"""Runs that are shorter go several at once, so that scheduling costs little beside them."""
AHEAD = 2
"""So many chunks per core a worker has at hand, so that it need not wait for the next."""
RECENT = 0.3
"""Weight of the last run in what one is taken to cost."""


class Waiting(Generic[Key]):
    """In their order, what came to nothing first. Where not ``exact``, on real packets, they go one by one."""

    def __init__(self, keys: Sequence[Key], name: Callable[[Key], str], *, exact: bool) -> None:
        self.keys, self.name, self.exact = deque(keys), name, exact
        self.nothing_on: dict[Key, list[str]] = {}
        """Workers that a cell was lost with, or that could not make it or sent it damaged."""
        self.run_s: float | None = None
        """What a run takes on its worker, as far as known."""

    def __bool__(self) -> bool:
        """Whether any is left."""
        return bool(self.keys)

    def again(self, keys: Sequence[Key]) -> None:
        """They are to be made before all others."""
        self.keys.extendleft(reversed(keys))

    def came_to_nothing(self, key: Key, worker: str, why: str) -> None:
        """On a worker; raises RunFailed where it did so too often."""
        on = self.nothing_on.setdefault(key, [])
        on.append(worker)
        if len(on) >= ALLOWED_FAILURES:
            raise RunFailed(
                "cluster.gave-up",
                "{name}: tried {times} times, on {hosts}; {why}",
                "What is finished is kept.",
                name=self.name(key),
                times=len(on),
                hosts=", ".join(on),
                why=why,
            )

    def took(self, seconds: float) -> None:
        """A run did."""
        self.run_s = seconds if self.run_s is None else (1 - RECENT) * self.run_s + RECENT * seconds

    def window(self, cores: int) -> int:
        """So many chunks a worker may have."""
        if not self.exact:
            return 1
        return cores * (AHEAD if self.run_s is not None and self.run_s < 10 * CHUNK_S else 1)

    def chunk(self, worker: str, fit: Mapping[str, int]) -> list[Key]:
        """The next cells for a worker, about :data:`CHUNK_S` of work; one that came to nothing before goes alone.
        ``fit`` has the cores of all that get some."""
        first = next((key for key in self.keys if not self._better_elsewhere(key, worker, fit)), None)
        if first is None:
            return []
        size = 1
        if self.exact and self.run_s is not None:
            size = max(1, min(int(CHUNK_S / self.run_s), len(self.keys) // (2 * sum(fit.values()))))
        chunk = [first]
        self.keys.remove(first)
        while len(chunk) < size and first not in self.nothing_on and self.keys[0] not in self.nothing_on:
            chunk.append(self.keys.popleft())
        return chunk

    def _better_elsewhere(self, key: Key, worker: str, fit: Mapping[str, int]) -> bool:
        """Whether it came to nothing on this worker, and there are others."""
        on = self.nothing_on.get(key, ())
        return worker in on and any(name not in on for name in fit)
