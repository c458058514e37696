"""What it does to false alarms that many claims are judged at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from testbed.judge import intervals
from testbed.study.checks.judged import Judged


@dataclass(frozen=True)
class FalseAlarms:
    """Of the claims that were decided: what chance would make of them if the true value of each lay at its limit."""

    claims: int
    """Judged at once, open ones as well."""
    levels: tuple[float, ...]
    """Of the claims that intervals decide, each one's least."""
    expected: float
    """How many of these would fail by chance, at most."""
    at_least_one: float
    """With which probability one would, at most, if they did not depend on one another."""
    without_chance: int
    """Decided by runs that are one observation."""
    unknown: int
    """Decided without an interval: by one run or two, or by a line through several."""

    @classmethod
    def of(cls, claims: Sequence[Judged]) -> FalseAlarms:
        """An interval that covers the truth with ``level`` lies beyond the limit with (1 − level)/2, as a claim is
        wrong on one side of it; a claim of several places fails where any of them does."""
        decided = [claim for claim in claims if claim.as_known is not None]
        by_interval = [claim for claim in decided if claim.level is not None]
        chances = [1 - math.prod((1 + level) / 2 for *_, level in claim.intervals.values()) for claim in by_interval]
        one = sum(claim.is_one_observation for claim in decided)
        return cls(
            len(claims),
            tuple(claim.level for claim in by_interval if claim.level is not None),
            sum(chances),
            1 - math.prod(1 - chance for chance in chances),
            one,
            len(decided) - len(by_interval) - one,
        )

    def as_json(self) -> dict[str, Any]:
        """For ``claims.json``."""
        return {**asdict(self), "text": self.text}

    @property
    def text(self) -> str:
        """In a sentence."""
        said = f"Of {self.claims} claims judged at once "
        if self.levels:
            said += (
                f"{len(self.levels)} are decided by intervals of {intervals.told(self.levels)}: if each true value lay "
                f"exactly at its limit, at most {self.expected:.1f} of them would be expected to fail by chance, and "
                f"one or more with a probability of at most {_percent(self.at_least_one)}"
            )
        else:
            said += "none is decided by an interval"
        if self.without_chance:
            said += f"; {self.without_chance} by values that chance has no part in"
        if self.unknown:
            said += f"; {self.unknown} without an interval, so that nothing is known of chance"
        return said + "."


def _percent(probability: float) -> str:
    return f"{probability:.0%}" if probability < 0.995 else "nearly 1"
