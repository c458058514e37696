"""A study whose cells are runs of scenarios, each with a result folder of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed.engines import Engine, Run
from testbed.errors import Unsupported
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.plan.lasts import expected_transfer_s
from testbed.runtime.progress import Progress
from testbed.study import kept
from testbed.study.carry_out import carry_out, note_code
from testbed.study.cell import Cell
from testbed.study.executor import USUAL_S, Found, Study, Way
from testbed.study.programs import build_missing


@dataclass
class Runs(Study[Cell, Found]):
    """``folder`` is the study's own result folder."""

    movable = True
    folder: Path
    progress: Progress
    _known: dict[Cell, tuple[str, float]] = field(default_factory=dict, init=False)
    """Why a cell can't be made here, and what its transfer takes in seconds."""

    def __getstate__(self) -> dict[str, object]:
        """For other processes, which make one cell and need to know nothing of the others."""
        return {**self.__dict__, "_known": {}}

    @abstractmethod
    def read(self, key: Cell, run: Path, attempts: int) -> Found:
        """What a finished run of a cell, by its result folder, says of it."""

    def unsupported(self, key: Cell, why: str) -> Found:
        """Of a cell that can't be made here; raises :class:`Unsupported` where a study has no word for it."""
        raise Unsupported("run.unsupported", "{name}: {why}", name=self.name(key), why=why)

    def carry_out(self, run: Run) -> None:
        """With all that a run leaves."""
        carry_out(run, self.progress)

    def engine_of(self, key: Cell) -> Engine:
        """Each has its own."""
        return key.engine

    def way_of(self, key: Cell) -> Way:
        """As it was chosen."""
        return Way(key.engine.name, key.choices.runtime, key.choices.middle)

    def result_folder(self) -> Path:
        """The study's."""
        return self.folder

    def make(self, key: Cell) -> Found:
        """A run, to its verdict."""
        build_missing(key.programs)
        place = self.folder / key.folder
        run = key.run(place)
        self.carry_out(run)
        note_code(run.folder, key.programs)
        return self.read(key, run.folder, len(kept.finished(place)))

    def earlier(self, key: Cell) -> Found | None:
        """By the runs that were made of it before."""
        runs = kept.finished(self.folder / key.folder)
        run = kept.standing(runs)
        return None if run is None else self.read(key, run, runs.index(run) + 1)

    def arrived(self, key: Cell, found: Found) -> Found:
        """By its runs, of which some may have been made before, elsewhere."""
        return self.earlier(key) or found

    def wanted_again(self, key: Cell, found: Found) -> bool:
        """By the run that it is judged by."""
        run = self._standing(key)
        return run is not None and kept.wanted_again(run, key.engine)

    def untrusted(self, key: Cell, found: Found) -> bool:
        """By the run that it is judged by."""
        run = self._standing(key)
        return run is not None and read_verdict(run).verdict == Status.UNTRUSTED

    def known(self, key: Cell) -> Found | None:
        """Where it can't be made here."""
        why = self.why_unsupported(key)
        return self.unsupported(key, why) if why else None

    def name(self, key: Cell) -> str:
        """Its place in the study."""
        return " ".join(key.key)

    def word(self, key: Cell, found: Found) -> str:
        """The verdict of the run that it is judged by."""
        run = self._standing(key)
        return Status.UNSUPPORTED if run is None else read_verdict(run).verdict

    def expected_s(self, key: Cell) -> float:
        """In virtual time what a run transfers says little of how long it takes."""
        return USUAL_S + (0.0 if key.engine.exact() else self.transfer_s(key))

    def transfer_s(self, key: Cell) -> float:
        """What its transfer takes at its links' full rate."""
        return self._of(key)[1]

    def why_unsupported(self, key: Cell) -> str:
        """Why a cell can't be made here, as far as that is known before it is tried; "" where nothing is. Raises
        :class:`BadInput` where there is no plan of it."""
        return self._of(key)[0]

    def refuse_if_none_can_be_made(self, keys: Sequence[Cell]) -> None:
        """Raise :class:`Unsupported` where it is known of every cell that it can't be made here, and
        :class:`BadInput` for what is wrong with any of them."""
        reasons = {self.why_unsupported(key): key.engine.name for key in keys}
        if reasons and "" not in reasons:
            named = ", ".join(sorted(set(reasons.values())))
            raise Unsupported(
                "run.none-supported",
                "none of these can be run with --engine {engine}: {reasons}",
                engine=named,
                reasons="; ".join(sorted(reasons)),
            )

    def _standing(self, key: Cell) -> Path | None:
        return kept.standing(kept.finished(self.folder / key.folder))

    def _of(self, key: Cell) -> tuple[str, float]:
        if key not in self._known:
            plan = key.plan()
            self._known[key] = ("; ".join([*key.refuses(plan), *key.engine.refuses(plan)]), expected_transfer_s(plan))
        return self._known[key]


class Folders(Runs[Path]):
    """What is found of a cell is the folder of the run that was made of it last."""

    def read(self, key: Cell, run: Path, attempts: int) -> Path:
        """It is read when others are there, too."""
        return run

    def told(self, key: Cell, found: Path) -> str:
        """The run's own verdict."""
        return read_verdict(found).verdict
