"""Shows a run's steps while it works: a line for each with its seconds, on stderr."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from testbed.runtime.terminal import as_it_is, printable

if TYPE_CHECKING:
    from testbed.plan.model import Plan


class SoFar(NamedTuple):
    """The number of runs that have ended, and about how many seconds the others take: None before the first has."""

    ended: int
    of: int
    left_s: float | None

    def left(self) -> str:
        """The time left in words; "" of less than a second."""
        if self.left_s is None or self.left_s < 1:
            return "  time left unknown" if self.left_s is None else ""
        return f"  about {self.left_s / 60:.0f} min left" if self.left_s >= 90 else f"  about {self.left_s:.0f} s left"


class Ended(NamedTuple):
    """The result of one of many runs."""

    name: str
    verdict: str
    """A verdict in a word, or the error in place of one; "" where runs have none."""
    text: str
    """A line for people; "" for none."""
    kept: bool
    """Whether it was made before."""


@dataclass
class Step:
    """The step that is on; ``note`` ends up behind its seconds."""

    name: str
    started_s: float = field(default_factory=time.monotonic)
    note: str = ""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self.started_s

    def left(self, least_s: float, done: float = 0.0) -> str:
        """The seconds so far, and about how many are left by the part that is done, or how many it takes at best."""
        if done <= 0:
            return f"{self.elapsed_s:.0f} s, at best {least_s:.0f} s"
        return f"{self.elapsed_s:.0f} s, about {self.elapsed_s * max(0.0, 1 / done - 1):.0f} s left"

    def late(self, expected_s: float) -> str:
        """The seconds that it took in place of those that were expected."""
        return f"{self.elapsed_s:.0f} s ({expected_s:.0f} s were expected)"


class Progress:
    """Prints steps as they end; on a terminal also the current step, with its progress."""

    WIDTH = 22

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self.seconds: dict[str, float] = {}
        """Seconds of each finished step, for provenance."""
        self._last_plain_s = 0.0
        self._below = 0
        """Lines of the terminal below that of the current step."""

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """A step of the run; its line is printed when it ends, or that it failed."""
        step = Step(name)
        self.update(step, "")
        try:
            yield step
        except BaseException:
            self._line(step, f"failed after {step.elapsed_s:.1f} s")
            raise
        finally:
            self.seconds[name] = round(step.elapsed_s, 3)
        self._line(step, f"{step.elapsed_s:5.1f} s  {step.note}".rstrip())

    def update(self, step: Step, text: str) -> None:
        """Say how a long step goes: in place on a terminal, else as a line every 10 s."""
        if self.live:
            self._show(f"  {step.name:<{self.WIDTH}} {text}")
        elif text and step.elapsed_s - self._last_plain_s >= 10:
            self._last_plain_s = step.elapsed_s
            print(f"  {step.name:<{self.WIDTH}} … {text}", file=sys.stderr, flush=True)

    def begun(self, name: str, run: str, engine: str, folder: Path, runs: int, expected_s: float) -> None:
        """Many runs begin, of a table or sweep; their transfers take ``expected_s``. A terminal shows nothing of it."""

    def runs_on(self, step: Step, on: Mapping[str, float], where: str, so_far: SoFar) -> None:
        """Many runs are on, by their seconds, and if not here, ``where``: on a terminal a line for each."""
        head = f"[{so_far.ended}/{so_far.of}]"
        if where or not self.live or len(on) < 2:
            self.update(step, f"{head} {where or ', '.join(on)}{so_far.left()}")
            return
        self.update(step, f"{head}{so_far.left()}")
        size = shutil.get_terminal_size()
        shown = list(on.items())[: max(1, size.lines // 2)]
        lines = [printable(f"    {seconds:5.0f} s  {name}")[: size.columns - 1] for name, seconds in shown]
        sys.stderr.write("".join(f"\n{line}" for line in lines))
        sys.stderr.flush()
        self._below = len(lines)

    def run_ended(self, ended: Ended, so_far: SoFar) -> None:
        """One of many runs has ended, or is known from before."""
        if ended.text:
            more = " (kept)" if ended.kept else so_far.left()
            self.say(f"  [{so_far.ended}/{so_far.of}] {ended.name}: {ended.text}{more}")

    def watching(self, plan: Plan, telemetry: Path) -> AbstractContextManager[object]:
        """While the transfer of ``plan`` is on and its telemetry grows, in a file or a folder of files."""
        return nullcontext()

    def passed_on(self, step: Step, line: str) -> None:
        """A line of a runner in a guest, which has no terminal, about the step that is on here."""
        self.say(line)

    def say(self, text: str) -> None:
        """A line of its own."""
        self._show(f"{text}\n")

    def _show(self, text: str) -> None:
        """Write over the line of the current step, and those below it."""
        up, self._below = self._below, 0
        clear = "\r\033[K" + "\033[A\033[K" * up if self.live else ""
        stream = as_it_is(sys.stderr)
        stream.write(clear + printable(text))
        stream.flush()

    def _line(self, step: Step, text: str) -> None:
        self._last_plain_s = 0.0
        self.say(f"  {step.name:<{self.WIDTH}} {text}")


class QuietProgress(Progress):
    """Times the steps of one of several runs, and shows nothing."""

    def update(self, step: Step, text: str) -> None:
        """Nothing."""

    def runs_on(self, step: Step, on: Mapping[str, float], where: str, so_far: SoFar) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""
