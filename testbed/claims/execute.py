"""Makes the runs that the claims need, each by the command that a user would type; finished ones are kept."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from testbed import paths
from testbed.claims.load import kind_of
from testbed.claims.model import Engine, RunSpec
from testbed.errors import CannotRun, Exit
from testbed.matrix.outcome import write_json
from testbed.runner import live
from testbed.runner.progress import Progress, Step

ATTEMPTS = 3
"""How often a scenario is run before it stays untrusted; a table repeats its cells itself."""
WAIT_FOR_OTHERS_S = 900.0
_VERBS = {"scenario": "run", "table": "table", "sweep": "sweep"}

State = Literal["judged", "unsupported", "broken", "left out"]


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
        """Every run by its name; ``done`` is called after each with those so far."""
        made: dict[str, Made] = {}
        for number, (name, spec) in enumerate(self.specs.items(), start=1):
            place = f"[{number}/{len(self.specs)}]"
            kept = self._kept(name)
            found = kept or self._make(name, spec, place)
            if kept is None:
                write_json(self._home(name) / "made.json", asdict(found))
            made[name] = found
            left_min = self._left_minutes(list(self.specs)[number:])
            self.progress.say(f"  {place} {name}: {_told(found, kept=kept is not None)}{_left(left_min)}")
            done(made)
        return made

    def _home(self, name: str) -> Path:
        return self.folder / "runs" / name

    def _kept(self, name: str) -> Made | None:
        path = self._home(name) / "made.json"
        return Made(**json.loads(path.read_text())) if path.is_file() else None

    def _make(self, name: str, spec: RunSpec, place: str) -> Made:
        arguments = self.arguments(name, spec)
        shown = "./run.sh " + shlex.join(arguments)
        self._home(name).mkdir(parents=True, exist_ok=True)
        if self.quick and spec.quick.leave_out:
            return Made(name, shown, "left out", spec.quick.leave_out)
        expected_min = spec.expected_minutes(self.engine, quick=self.quick)
        start_s = time.monotonic()
        for _ in range(1 if kind_of(spec) == "table" else ATTEMPTS):
            code, last = self._run(name, spec, arguments, f"{place} {name}", expected_min)
            while code == Exit.CANNOT_RUN and last.endswith(live.BUSY):
                self._wait_for_others()
                code, last = self._run(name, spec, arguments, f"{place} {name}", expected_min)
            if code != Exit.UNTRUSTED:
                break
        seconds = time.monotonic() - start_s
        self._pace.append((seconds / 60, expected_min))
        latest = self._home(name) / spec.run / "latest"
        size = sum(path.stat().st_size for path in self._home(name).rglob("*") if path.is_file())
        facts = {
            "exit_code": code,
            "seconds": round(seconds, 1),
            "disk_mb": round(size / 1e6, 1),
            "shorter": spec.shorter(quick=self.quick),
        }
        if code == Exit.CANNOT_RUN:
            return Made(name, shown, "unsupported", last, **facts)  # type: ignore[arg-type]
        if not (latest / "verdict.json").is_file():
            return Made(name, shown, "broken", last, **facts)  # type: ignore[arg-type]
        folder = str(latest.resolve().relative_to(self.folder.resolve()))
        return Made(name, shown, "judged", "", folder, **facts)  # type: ignore[arg-type]

    def arguments(self, name: str, spec: RunSpec) -> list[str]:
        """As a user would give them to ``./run.sh``."""
        kind, options = kind_of(spec), spec.options(quick=self.quick)
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

    def _run(
        self, name: str, spec: RunSpec, arguments: list[str], place: str, expected_min: float
    ) -> tuple[int, str]:
        """Its exit code, and what it said last on stderr."""
        home = self._home(name)
        command = [sys.executable, "-m", "testbed", _VERBS[kind_of(spec)], *arguments]
        if (home / spec.run / "latest" / "matrix.json").is_file():
            command += ["--resume", "latest"]
        environment = {**os.environ, "NCP_TESTBED_RESULTS": str(home), "PYTHONPATH": str(paths.CHECKOUT)}
        step = Step(place)
        log = home / "log.txt"
        said_from = log.stat().st_size if log.is_file() else 0
        with log.open("ab") as output:
            child = subprocess.Popen(
                command, cwd=paths.CHECKOUT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
            try:
                while child.poll() is None:
                    self.progress.update(
                        step, f"about {expected_min:.1f} min; {_last_line(log, said_from)[:70]}"
                    )
                    time.sleep(0.5)
            finally:
                _end(child)
        error = next(
            (line for line in _lines(log, said_from) if line.startswith("error: ")),
            _last_line(log, said_from),
        )
        return int(child.returncode), error.removeprefix("error: ")

    def _wait_for_others(self) -> None:
        since_s = time.monotonic()
        step = Step("waiting")
        time.sleep(2)
        while (holder := live.holder()) is not None:
            if time.monotonic() - since_s > WAIT_FOR_OTHERS_S:
                raise CannotRun(
                    f"{holder} is still on after {WAIT_FOR_OTHERS_S / 60:.0f} minutes; {live.BUSY}"
                )
            self.progress.update(step, holder)
            time.sleep(2)

    def _left_minutes(self, names: list[str]) -> float:
        taken, expected = (sum(pair[i] for pair in self._pace) for i in (0, 1))
        pace = min(3.0, max(0.3, taken / expected)) if expected else 1.0
        return pace * sum(
            self.specs[name].expected_minutes(self.engine, quick=self.quick)
            for name in names
            if self._kept(name) is None and not (self.quick and self.specs[name].quick.leave_out)
        )


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
        return f"{made.state}: {made.why[:160]}"
    word = {Exit.PASS: "pass", Exit.FAIL: "fail", Exit.UNTRUSTED: "untrusted"}.get(
        Exit(made.exit_code), "ended"
    )
    return f"{word}, {made.seconds:.0f} s{' (kept)' if kept else ''}"


def _left(minutes: float) -> str:
    if minutes < 0.1:
        return ""
    return f"  about {minutes:.0f} min left" if minutes >= 1.5 else f"  about {minutes * 60:.0f} s left"
