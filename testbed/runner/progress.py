"""What a run tells while it works: one line per step with its seconds, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from testbed.plan.model import Plan


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


class Progress:
    """Prints steps as they end; on a terminal also the step that is on, with what it says of itself."""

    WIDTH = 22

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self.seconds: dict[str, float] = {}
        """Seconds of each finished step, for provenance."""
        self._last_plain_s = 0.0

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
            sys.stderr.write(f"\r\033[K  {step.name:<{self.WIDTH}} {text}")
            sys.stderr.flush()
        elif text and step.elapsed_s - self._last_plain_s >= 10:
            self._last_plain_s = step.elapsed_s
            print(f"  {step.name:<{self.WIDTH}} … {text}", file=sys.stderr, flush=True)

    def watching(self, plan: Plan, telemetry: Path) -> AbstractContextManager[object]:
        """While the transfer of ``plan`` is on and its telemetry grows, in a file or a folder of files."""
        return nullcontext()

    def passed_on(self, step: Step, line: str) -> None:
        """A line of a runner in a guest, which has no terminal, about the step that is on here."""
        self.say(line)

    def say(self, text: str) -> None:
        """A line of its own."""
        clear = "\r\033[K" if self.live else ""
        print(f"{clear}{text}", file=sys.stderr, flush=True)

    def _line(self, step: Step, text: str) -> None:
        self._last_plain_s = 0.0
        self.say(f"  {step.name:<{self.WIDTH}} {text}")


class QuietProgress(Progress):
    """For one of several runs: its steps are timed, not told."""

    def update(self, step: Step, text: str) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""
