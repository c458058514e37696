"""Makes the runs that the claims need, each by the command that a user would type; finished ones are kept."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from testbed import paths
from testbed.claims.load import kind_of
from testbed.claims.model import Engine, RunSpec
from testbed.errors import Exit
from testbed.matrix.outcome import finished, standing, wanted_again, write_json
from testbed.runner import live
from testbed.runner.attempts import attempts_of, until_trusted
from testbed.runner.progress import Progress, QuietProgress, Step
from testbed.runner.side_by_side import side_by_side, width_of

_VERBS = {"scenario": "run", "table": "table", "sweep": "sweep"}

State = Literal["judged", "unsupported", "not carried", "broken", "left out"]
"""``unsupported`` by this machine; ``not carried`` by the engine, on any machine."""


@dataclass(frozen=True)
class Made:
    """What became of a run. ``folder`` is its result folder inside that of all runs, "" without one."""

    name: str
    command: str
    state: State
    why: str = ""
    folder: str = ""
    exit_code: int = 0
    seconds: float = 0.0
    disk_mb: float = 0.0
    shorter: bool = False
    """Whether it is the quick form."""

    @classmethod
    def never(cls, name: str) -> Made:
        """One that was asked for and is not there."""
        return cls(name, "", "broken", "It was never made.")


@dataclass
class Runs:
    """All runs of one ``all``; ``folder`` is its result folder."""

    specs: Mapping[str, RunSpec]
    folder: Path
    engine: Engine
    quick: bool
    progress: Progress
    link: Literal["auto", "netem", "relay"] = "auto"
    """The middle of the links, on real packets."""
    _pace: list[tuple[float, float]] = field(default_factory=list)
    """Minutes taken and expected, of those made so far."""

    def make(self, done: Callable[[dict[str, Made]], object]) -> dict[str, Made]:
        """Every run by its name; ``done`` is called after each with those so far.

        One that is made again is what it was until then.
        """
        earlier = {name: found for name in self.specs if (found := self._earlier(name))}
        again = [name for name, found in earlier.items() if self._wanted_again(found)]
        made: dict[str, Made] = {}
        todo: list[str] = []
        width = width_of(self.engine)

        def left() -> str:
            return _left(self._left_minutes([name for name in todo if name not in made]) / width)

        def settle(name: str, found: Made, *, kept: bool = False) -> None:
            made[name] = found
            place = f"[{len(made)}/{len(self.specs)}]"
            self.progress.say(f"  {place} {name}: {_told(found, kept=kept)}{left()}")
            so_far = earlier | made
            done({name: so_far[name] for name in self.specs if name in so_far})

        def ended(name: str, found: Made, seconds: float) -> None:
            if found.state == "judged":
                self._pace.append((seconds / 60, self._expected_min(name)))
            write_json(self._home(name) / "made.json", asdict(found))
            settle(name, found)

        if again:
            self.progress.say(f"  not to be trusted, or broken down, so made again: {', '.join(again)}")
        for name, spec in self.specs.items():
            if name in earlier and name not in again:
                settle(name, earlier[name], kept=True)
            elif self.quick and spec.quick.leave_out:
                settle(name, Made(name, self._shown(name), "left out", spec.quick.leave_out))
            else:
                todo.append(name)
        step = Step("runs")

        def on(running: Sequence[str]) -> None:
            self.progress.update(step, ", ".join(running) + left())

        one = replace(self, progress=QuietProgress()) if width > 1 else self
        side_by_side(todo, one.make_one, ended, width=width, on=on)
        return made

    def _home(self, name: str) -> Path:
        return self.folder / "runs" / name

    def _earlier(self, name: str) -> Made | None:
        path = self._home(name) / "made.json"
        return Made(**json.loads(path.read_text())) if path.is_file() else None

    def _wanted_again(self, made: Made) -> bool:
        """Itself, or of a table any of its runs."""
        if made.state != "judged":
            return made.state == "broken"
        result = self.folder / made.folder
        cells = (standing(finished(cell)) for cell in result.glob("cells/*/*/*"))
        runs = [run for run in cells if run] or [result]
        return any(wanted_again(run, self.engine) for run in runs)

    def make_one(self, name: str) -> Made:
        """One run, again while it is untrusted."""
        spec = self.specs[name]
        self._home(name).mkdir(parents=True, exist_ok=True)
        begun_s = time.monotonic()
        code, last = until_trusted(
            lambda: self._attempt(name),
            lambda ended: ended[0] == Exit.UNTRUSTED,
            1 if self._is_table(spec) else attempts_of(self.engine),  # a table makes its cells again itself
        )
        size = sum(path.stat().st_size for path in self._home(name).rglob("*") if path.is_file())
        latest = self._home(name) / spec.run / "latest"
        state: State = "judged"
        if code == Exit.CANNOT_RUN:
            state = "unsupported" if self.engine == "mininet" else "not carried"
        elif not (latest / "verdict.json").is_file():
            state = "broken"
        return Made(
            name,
            self._shown(name),
            state,
            "" if state == "judged" else last,
            str(latest.resolve().relative_to(self.folder.resolve())) if state == "judged" else "",
            exit_code=code,
            seconds=round(time.monotonic() - begun_s, 1),
            disk_mb=round(size / 1e6, 1),
            shorter=spec.shorter(quick=self.quick),
        )

    def _is_table(self, spec: RunSpec) -> bool:
        return kind_of(spec) == "table" or (spec.options(self.engine, quick=self.quick).repeat or 1) > 1

    def _attempt(self, name: str) -> tuple[int, str]:
        """The exit code of the run's command, and what it said last on stderr."""
        while True:
            code, last = self._run(name)
            if code != Exit.CANNOT_RUN or not last.endswith(live.BUSY):
                return code, last
            live.wait_for_others(partial(self.progress.update, Step("waiting")))

    def _shown(self, name: str) -> str:
        return "./run.sh " + shlex.join(self.arguments(name, self.specs[name]))

    def _expected_min(self, name: str) -> float:
        return self.specs[name].expected_minutes(self.engine, quick=self.quick)

    def arguments(self, name: str, spec: RunSpec) -> list[str]:
        """As a user would give them to ``./run.sh``."""
        kind, options = kind_of(spec), spec.options(self.engine, quick=self.quick)
        given = [spec.run]
        for assignment in options.set:
            given += ["--set", assignment]
        if options.rows:
            given += ["--rows", ",".join(options.rows)]
        if options.columns:
            given += ["--columns", ",".join(options.columns)]
        if options.repeat and (kind == "table" or options.repeat > 1):
            given += ["--repeat", str(options.repeat)]
        if spec.shorter(quick=self.quick):
            given.append("--quick")
        if self.engine != "mininet" and kind != "sweep":
            given += ["--engine", self.engine]
        if self.link != "auto" and kind != "sweep":
            given += ["--link", self.link]
        return given

    def _run(self, name: str) -> tuple[int, str]:
        spec = self.specs[name]
        home = self._home(name)
        command = [sys.executable, "-m", "testbed", _VERBS[kind_of(spec)], *self.arguments(name, spec)]
        if (home / spec.run / "latest" / "matrix.json").is_file():
            command += ["--resume", "latest"]
        environment = {**os.environ, "NCP_TESTBED_RESULTS": str(home), "PYTHONPATH": str(paths.CHECKOUT)}
        step = Step(name)
        log = home / "log.txt"
        said_from = log.stat().st_size if log.is_file() else 0
        with log.open("ab") as output:
            child = subprocess.Popen(
                command,
                cwd=paths.CHECKOUT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                while child.poll() is None:
                    said = _last_line(log, said_from)[:70]
                    self.progress.update(step, f"about {self._expected_min(name):.1f} min; {said}")
                    time.sleep(0.5)
            finally:
                _end(child)
        error = next(
            (line for line in _lines(log, said_from) if line.startswith("error: ")), _last_line(log, said_from)
        )
        return int(child.returncode), error.removeprefix("error: ")

    def _left_minutes(self, names: list[str]) -> float:
        taken, expected = (sum(pair[i] for pair in self._pace) for i in (0, 1))
        pace = min(3.0, max(0.3, taken / expected)) if expected else 1.0
        return pace * sum(self._expected_min(name) for name in names)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Where it still runs: it is told to stop and takes its network down itself."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        child.wait()


def _lines(log: Path, start: int) -> list[str]:
    with log.open("rb") as file:
        file.seek(start)
        return [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]


def _last_line(log: Path, start: int) -> str:
    lines = _lines(log, start)
    return lines[-1].strip() if lines else ""


def _told(made: Made, *, kept: bool) -> str:
    if made.state != "judged":
        open_ = made.state in ("not carried", "left out")
        return f"{'not covered' if open_ else made.state}: {made.why[:160]}"
    word = {Exit.PASS: "pass", Exit.FAIL: "fail", Exit.UNTRUSTED: "untrusted"}.get(Exit(made.exit_code), "ended")
    return f"{word}, {made.seconds:.0f} s{' (kept)' if kept else ''}"


def _left(minutes: float) -> str:
    if minutes < 0.1:
        return ""
    return f"  about {minutes:.0f} min left" if minutes >= 1.5 else f"  about {minutes * 60:.0f} s left"
