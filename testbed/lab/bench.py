"""Common parts of a benchmark: candidates, instrument, time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.lab.ends import Candidate
from testbed.lab.instrument import Instrument
from testbed.lab.ours import Ours


@dataclass
class Bench:
    """One benchmark while it runs."""

    fabric_name: str
    binary: Path
    instrument: Instrument
    ours: Ours
    peers: Sequence[Candidate]
    quick: bool
    say: Callable[[str], None]
    ends_s: float
    """Deadline (monotonic)."""

    @property
    def candidates(self) -> list[Candidate]:
        """Ours first."""
        return [self.ours, *self.peers]

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
