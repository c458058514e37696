"""A study whose cells are runs of scenarios, each with a result folder of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed import engines
from testbed.engines import Engine, Run
from testbed.errors import Unsupported
from testbed.plan.resolve import expected_transfer_s
from testbed.runner.progress import Progress
from testbed.study import kept
from testbed.study.carry_out import carry_out, note_code
from testbed.study.cell import Cell
from testbed.study.executor import USUAL_S, Found, Key, Study


@dataclass
class Runs(Study[Key, Found]):
    """``folder`` is the study's own result folder."""

    folder: Path
    engine: Engine
    progress: Progress
    _known: dict[Hashable, tuple[str | None, float]] = field(default_factory=dict, init=False)
    """Why a cell can't be made here, and what its transfer takes in seconds."""

    @abstractmethod
    def cell(self, key: Key) -> Cell:
        """What is run."""

    @abstractmethod
    def read(self, key: Key, run: Path, attempts: int) -> Found:
        """What a finished run of a cell, by its result folder, says of it."""

    def unsupported(self, key: Key, why: str) -> Found:
        """Of a cell that can't be made here; raises :class:`Unsupported` where a study has no word for it."""
        raise Unsupported(f"{self.name(key)}: {why}")

    def alike(self, key: Key) -> Hashable:
        """What cells have in common whose plans differ in the seed alone."""
        return key

    def place(self, key: Key) -> Path:
        """The folder of a cell's runs."""
        return self.folder / self.cell(key).folder

    def make(self, key: Key) -> Found:
        """A run, to its verdict."""
        cell, place = self.cell(key), self.place(key)
        run = cell.run(place)
        self.carry_out(cell, run)
        note_code(run.folder, cell.programs)
        return self.read(key, run.folder, len(kept.finished(place)))

    def carry_out(self, cell: Cell, run: Run) -> None:
        """With all that a run leaves."""
        carry_out(run, self.progress)

    def earlier(self, key: Key) -> Found | None:
        """By the runs that were made of it before."""
        runs = kept.finished(self.place(key))
        run = kept.standing(runs)
        return None if run is None else self.read(key, run, runs.index(run) + 1)

    def wanted_again(self, key: Key, found: Found) -> bool:
        """By the run that it is judged by."""
        run = kept.standing(kept.finished(self.place(key)))
        return run is not None and kept.wanted_again(run, self.engine_of(key))

    def known(self, key: Key) -> Found | None:
        """Where it can't be made here."""
        why = self.why_unsupported(key)
        return None if why is None else self.unsupported(key, why)

    def expected_s(self, key: Key) -> float:
        """In virtual time what a run transfers says little of how long it takes."""
        return USUAL_S + (0.0 if self.engine_of(key).exact() else self._of(key)[1])

    def why_unsupported(self, key: Key) -> str | None:
        """Why a cell can't be made here, as far as that is known before it is tried; or None."""
        return self._of(key)[0]

    def refuse_if_none_can_be_made(self, keys: Sequence[Key]) -> None:
        """Raise :class:`Unsupported` where it is known of every cell that it can't be made here."""
        reasons = {self.why_unsupported(key) for key in keys}
        if reasons and None not in reasons:
            raise Unsupported(
                f"none of these can be run with --engine {self.engine.name}: "
                + "; ".join(sorted(str(reason) for reason in reasons))
            )

    def _of(self, key: Key) -> tuple[str | None, float]:
        alike = self.alike(key)
        if alike not in self._known:
            plan = self.cell(key).plan()
            self._known[alike] = ("; ".join(engines.of(plan).refuses(plan)) or None, expected_transfer_s(plan))
        return self._known[alike]
