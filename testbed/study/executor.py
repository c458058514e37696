"""Makes the cells of a study: in this process, side by side, or wherever an executor has them made; each until it can
be trusted, what is finished already left as it is, and one progress line for all."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from typing_extensions import Self

from testbed.engines import Engine
from testbed.plan.model import Middle, Runtime
from testbed.runtime.interrupts import interruptible
from testbed.runtime.progress import Ended as EndedRun
from testbed.runtime.progress import Progress, QuietProgress, SoFar, Step
from testbed.study.attempts import attempts_of, until_trusted
from testbed.study.side_by_side import side_by_side

USUAL_S = 8.0
"""What a cell is taken to cost of which nothing is known, until cells of this study tell better."""
RECENT = 8
"""So many of the last cells say how fast it goes."""
NAMED = 6
"""So many cells are named in one line."""

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")
Ended = Callable[[Key, Found, float], object]
"""Gets a cell with what was found, and its seconds."""
On = Callable[[Sequence[Key], str], object]
"""Gets the cells that are on and, if not here, where."""


class Way(NamedTuple):
    """How a cell is made, as far as a machine has to be able to do it."""

    engine: str
    runtime: Runtime = "docker"
    middle: Middle = "relay"


class Study(ABC, Generic[Key, Found]):
    """What is asked of many cells. A judgement over many runs says here how one of its cells is made and read; how
    they are all made is the same for every study."""

    progress: Progress
    movable = False
    """Whether a cell can be made on another machine: pickled, the study and the key are all that it takes."""

    @abstractmethod
    def engine_of(self, key: Key) -> Engine:
        """What a cell is run on."""

    def way_of(self, key: Key) -> Way:
        """What a machine that makes it has to be able to do."""
        return Way(self.engine_of(key).name)

    def result_folder(self) -> Path | None:
        """Where what is known of its machines goes; None: nowhere."""
        return None

    @abstractmethod
    def make(self, key: Key) -> Found:
        """One attempt at a cell. Side by side this is called in another process, on a copy of the study."""

    def earlier(self, key: Key) -> Found | None:
        """What is finished of a cell; None where nothing is."""
        return None

    def wanted_again(self, key: Key, found: Found) -> bool:
        """Whether a cell with such an earlier outcome is made again."""
        return False

    def known(self, key: Key) -> Found | None:
        """What becomes of a cell that needs no run: it is left out, or can't be made here."""
        return None

    def untrusted(self, key: Key, found: Found) -> bool:
        """Whether another attempt is worth while."""
        return False

    def attempts(self, key: Key) -> int:
        """How many there are at most."""
        return attempts_of(self.engine_of(key))

    def expected_s(self, key: Key) -> float:
        """What a cell costs, beside others of this study."""
        return USUAL_S

    def name(self, key: Key) -> str:
        """A cell's name in lines of progress."""
        return str(key)

    def word(self, key: Key, found: Found) -> str:
        """What came of a cell, for programs: its verdict, or what kept it from one; "" where cells have none."""
        return ""

    def told(self, key: Key, found: Found) -> str:
        """What is said of a cell when it is made; "" of cells that are too many for a line each, or of good ones."""
        return ""

    def arrived(self, key: Key, found: Found) -> Found:
        """What is found of a cell that another machine made, now that all that it left is here."""
        return found

    def made(self, key: Key, found: Found) -> None:
        """Called in this process with each cell that was made now."""

    def make_trusted(self, key: Key) -> Found:
        """A cell, again while it can't be trusted."""
        return until_trusted(lambda: self.make(key), lambda found: self.untrusted(key, found), self.attempts(key))

    def quiet(self) -> Self:
        """A copy that tells nothing, for other processes."""
        one = copy.copy(self)
        one.progress = QuietProgress()
        return one

    def run(self, keys: Sequence[Key], done: Callable[[dict[Key, Found]], object] | None = None) -> dict[Key, Found]:
        """All cells' outcomes, in order; ``done``, if given, is called after each that is new, with those so far.

        A cell that is made again has its earlier outcome until then. An error of a cell that is no outcome, and Ctrl-C,
        end them all and are raised.
        """
        with interruptible():
            return _Made(self, keys, done).all()


class Executor(ABC):
    """Where the cells of a study are made."""

    @abstractmethod
    def width(self, engine: Engine) -> int:
        """How many go at once."""

    @abstractmethod
    def make(self, study: Study[Key, Found], keys: Sequence[Key], ended: Ended[Key, Found], on: On[Key]) -> None:
        """Make cells whose engines go at the same width, begun in order; ``ended`` gets each with what was found and
        its seconds, ``on`` is told again and again which are on and, if not here, where. An error of a cell, and
        Ctrl-C, end all others and are raised."""


class Here(Executor):
    """On this machine: one at a time in this process, else each in one of its own."""

    def width(self, engine: Engine) -> int:
        """By the cores, where time is virtual."""
        return engine.width()

    def make(self, study: Study[Key, Found], keys: Sequence[Key], ended: Ended[Key, Found], on: On[Key]) -> None:
        """Those in virtual time side by side."""
        width = self.width(study.engine_of(keys[0]))

        def in_turn(key: Key) -> Found:
            on([key], "")
            return study.make_trusted(key)

        if width == 1 or len(keys) == 1:
            side_by_side(keys, in_turn, ended, width=1)
            return
        side_by_side(keys, study.quiet().make_trusted, ended, width=width, on=lambda running: on(running, ""))


HERE = Here()
_chosen: ContextVar[Executor] = ContextVar("executor", default=HERE)


@contextmanager
def made_by(executor: Executor) -> Iterator[None]:
    """Studies that are run inside have their cells made there, if they can be moved."""
    before = _chosen.set(executor)
    try:
        yield
    finally:
        _chosen.reset(before)


class _Made(Generic[Key, Found]):
    """The cells of a study while they are made."""

    def __init__(
        self, study: Study[Key, Found], keys: Sequence[Key], done: Callable[[dict[Key, Found]], object] | None
    ) -> None:
        self.study, self.keys, self.done = study, keys, done
        self.executor = _chosen.get() if study.movable else HERE
        self.earlier = {key: found for key in keys if (found := study.earlier(key)) is not None}
        self.found: dict[Key, Found] = {}
        self.todo: list[Key] = []
        self.widths: dict[Key, int] = {}
        """How many of its kind are made side by side."""
        self.left_s = 0.0
        """By what cells are expected to take. Kept as they end: where they are thousands, nothing is asked of each of
        them whenever one has ended."""
        self.paces: list[tuple[float, float]] = []
        """Seconds taken and expected."""
        self.step = Step("runs")
        self.begun_s: dict[Key, float] = {}
        """When each that is on was first seen to be, in seconds since the step began."""

    def all(self) -> dict[Key, Found]:
        """Those first of which most go at once: in virtual time, as many as there are cores; then the others."""
        study = self.study
        again = [key for key, found in self.earlier.items() if study.wanted_again(key, found)]
        self._tell_earlier(again)
        for key in self.keys:
            if key in self.earlier and key not in again:
                self._settle(key, self.earlier[key], kept=True)
            elif (known := study.known(key)) is not None:
                self._settle(key, known)
            else:
                self.todo.append(key)
        self.widths = {key: self.executor.width(study.engine_of(key)) for key in self.todo}
        self.left_s = sum(map(self._share_s, self.todo))
        for width in sorted(set(self.widths.values()), reverse=True):
            group = [key for key in self.todo if self.widths[key] == width]
            self.executor.make(study, group, self._ended, self._on)
        if self.todo:
            taken_s = self.step.elapsed_s
            study.progress.say(f"  {len(self.todo)} runs in {taken_s:.1f} s, {taken_s / len(self.todo):.2f} s each")
        return {key: self.found[key] for key in self.keys}

    def _ended(self, key: Key, found: Found, seconds: float) -> None:
        self.paces.append((seconds, self.study.expected_s(key)))
        self.left_s -= self._share_s(key)
        self.study.made(key, found)
        self._settle(key, found)

    def _settle(self, key: Key, found: Found, *, kept: bool = False) -> None:
        self.found[key] = found
        ended = EndedRun(self.study.name(key), self.study.word(key, found), self.study.told(key, found), kept)
        self.study.progress.run_ended(ended, self._so_far())
        if self.done and not kept:
            so_far = self.earlier | self.found
            self.done({each: so_far[each] for each in self.keys if each in so_far})

    def _share_s(self, key: Key) -> float:
        return self.study.expected_s(key) / self.widths[key]

    def _on(self, running: Sequence[Key], where: str) -> None:
        now_s = self.step.elapsed_s
        self.begun_s = {key: self.begun_s.get(key, now_s) for key in running}
        on = {self.study.name(key): now_s - begun_s for key, begun_s in self.begun_s.items()}
        self.study.progress.runs_on(self.step, on, where, self._so_far())

    def _tell_earlier(self, again: Sequence[Key]) -> None:
        if kept := len(self.earlier) - len(again):
            self.study.progress.say(f"  {kept} of {len(self.keys)} runs are finished already, and kept")
        if again:
            names = ", ".join(self.study.name(key) for key in again[:NAMED])
            more = f" and {len(again) - NAMED} more" if len(again) > NAMED else ""
            self.study.progress.say(
                f"  {len(again)} of {len(self.keys)} can't be trusted or broke down; made again: {names}{more}"
            )

    def _so_far(self) -> SoFar:
        """With the time left, by what the last cells took."""
        taken, expected = (sum(pace[i] for pace in self.paces[-RECENT:]) for i in (0, 1))
        pace = taken / expected if expected else 1.0
        return SoFar(len(self.found), len(self.keys), pace * self.left_s)
