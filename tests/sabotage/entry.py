"""What an entry of the catalogue is: one deliberate defect, and the verdict that must come of it at each level."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

Level = Literal["run", "repeat", "table", "all", "compare", "cross-check", "verify"]
LEVELS: tuple[Level, ...] = get_args(Level)
Word = Literal["pass", "fail", "untrusted"]

CLASSES = (
    "control",
    "payload",
    "policies",
    "links",
    "calibration",
    "trust",
    "telemetry",
    "fields",
    "timeline",
    "counting",
    "published numbers",
    "forged folder",
    "forged bundle",
)


class Swap(NamedTuple):
    """A change of one of the checkout's sources: ``old``, which must be in the file exactly once, becomes ``new``."""

    file: str
    old: str
    new: str


Change = Callable[[Path], None]
"""Changes a folder in place: a run's raw data, or a finished result."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One saboteur. Of the ways to put it in, those that are given are used together."""

    name: str
    of: str
    """Its class, one of :data:`CLASSES`."""
    imitates: str
    swaps: Sequence[Swap] = ()
    """In Go: the simulator is built with them."""
    data: Change | None = None
    """Between engine and judge: changes what a run has left, before anything judges it."""
    real: Callable[[dict[str, Any]], None] | None = None
    """The run is as if it had been made on real packets (:mod:`tests.sabotage.real`); changes what links, relay and
    host tell of themselves."""
    python: Callable[[Any], None] | None = None
    """In Python: given pytest's MonkeyPatch."""
    only_seed: int | None = None
    """Put in where the run's seed is this one, and nowhere else."""
    forged: Change | None = None
    """Changes an honest, finished result folder; only ``verify`` sees those."""
    in_bundle: bool = False
    """The folder is forged inside a bundle, whose list of checksums is then written again."""
    of_table: bool = False
    """It is a table's folder that is forged, not a run's."""
    scenario: str = "lab-startup"
    """One of tests/sabotage/scenarios/."""
    expected: Word = "fail"
    otherwise: Mapping[Level, Word] = field(default_factory=dict)
    """Where another verdict than ``expected`` is right."""
    unreached: Mapping[Level, str] = field(default_factory=dict)
    """Levels that can't see it by their nature, and why."""

    def expects(self, level: Level) -> Word | None:
        """The verdict that must come; None where the level isn't reached."""
        return None if level in self.unreached else self.otherwise.get(level, self.expected)


def only(*levels: Level, why: str) -> dict[Level, str]:
    """``unreached`` for all levels but these."""
    return {level: why for level in LEVELS if level not in levels}


AFTERWARDS = only("verify", why="the result is changed after it was judged")
