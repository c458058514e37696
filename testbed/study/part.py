"""One of several parts of a study, made by a process that knows of no other: for sites that start such processes, each
with its number."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from testbed.engines import Engine
from testbed.study.executor import Ended, Found, Here, Key, On, Study


class PartMade(Exception):
    """A part is made: what was asked is not, so nothing can be said of it here."""


class Part(Here):
    """Makes the cells of part ``number`` (from 0) of ``of`` on this machine, ``cores`` of them at once where time is
    virtual, then ends the study. Which part a cell is in follows from its name alone, so a part that begins again goes
    on with its own."""

    def __init__(self, number: int, of: int, cores: int) -> None:
        self.number, self.of, self.cores = number, of, cores

    def width(self, engine: Engine) -> int:
        """Not more than it was given: a container's share of a machine is not seen from inside."""
        return min(self.cores, engine.width())

    def make(self, study: Study[Key, Found], keys: Sequence[Key], ended: Ended[Key, Found], on: On[Key]) -> None:
        """Its own cells; raises :class:`PartMade` then."""
        mine = [key for key in keys if part_of(study.name(key), self.of) == self.number]
        if mine:
            super().make(study, mine, ended, on)
        raise PartMade(f"part {self.number} of {self.of}: {len(mine)} runs made")


def part_of(name: str, of: int) -> int:
    """Which of so many parts a cell is in, from 0."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % of
