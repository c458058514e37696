"""What a run tells while it works: one line per step with its seconds, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


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
