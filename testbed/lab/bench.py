"""Common parts of the benchmark of links: candidates, repeats, time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from testbed.lab.ends import Candidate

C = TypeVar("C")


@dataclass
class Bench:
    """The benchmark while it runs."""

    fabric_name: str
    binary: Path
    """``ncp-link``."""
    candidates: Mapping[str, Candidate]
    """Links by their names: :data:`OURS`, and peers."""
    quick: bool
    say: Callable[[str], None]
    ends_s: float
    """Deadline (monotonic)."""

    @property
    def left_s(self) -> float:
        """Seconds left."""
        return self.ends_s - time.monotonic()

    def repeats(self, what: str, most: int, budget_s: float) -> Iterator[int]:
        """Numbers of repeats from 0: at least one, then as long as another fits the budget and the time left."""
        begun = time.monotonic()
        for number in range(most):
            elapsed = time.monotonic() - begun
            if number and elapsed * (number + 1) / number > min(budget_s, elapsed + self.left_s):
                return
            self.say(f"{what}, repeat {number + 1} of {most}; {max(0, self.left_s):.0f} s left at most")
            yield number

    def turns(self, what: str, candidates: Mapping[str, C], most: int, budget_s: float) -> Iterator[tuple[int, str, C]]:
        """Each repeat with each of the candidates, which take turns."""
        for number in self.repeats(what, most, budget_s):
            for name, candidate in candidates.items():
                yield number, name, candidate
