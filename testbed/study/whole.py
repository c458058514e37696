"""A study that is told from its beginning to its end, or how to go on where it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.runtime.progress import Progress
from testbed.study.executor import Found, Key, Study
from testbed.study.folder import kept_when_stopped


@dataclass(frozen=True)
class Whole:
    """What is said of it. ``expected_s`` is what its transfers take, ``how`` how they are made, ``go_on`` what the user
    does to go on, after "To go on,"."""

    name: str
    folder: Path
    engine: str
    expected_s: float
    how: str
    go_on: str

    def run(
        self,
        study: Study[Key, Found],
        keys: Sequence[Key],
        progress: Progress,
        done: Callable[[dict[Key, Found]], object] | None = None,
    ) -> dict[Key, Found]:
        """All cells' outcomes, as :meth:`Study.run` has them."""
        place = self.folder
        progress.begun(self.name, place.name, self.engine, place, len(keys), self.expected_s)
        progress.say(f"{self.name} {place.name}: {len(keys)} runs, {self.how}, results in {place}")
        with kept_when_stopped(progress, f"To go on, {self.go_on}"):
            return study.run(keys, done)
