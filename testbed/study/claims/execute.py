"""Makes the runs that the claims need, each by the command that a user would type; finished ones are kept."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from testbed import confine, paths
from testbed.documents import read_json, write_json
from testbed.engines import Engine
from testbed.errors import CODE_FILE, CannotRun
from testbed.exit_codes import Exit
from testbed.judge.status import Status, current, of_exit_code
from testbed.plan.default_engine import DEFAULT
from testbed.runtime import lock
from testbed.runtime.progress import Progress, Step
from testbed.study.attempts import when_free
from testbed.study.claims.judged import SCHEMA
from testbed.study.claims.load import kind_of
from testbed.study.claims.model import RunSpec
from testbed.study.executor import Study
from testbed.study.kept import finished, standing, wanted_again

_VERBS = {"scenario": "run", "table": "table", "sweep": "sweep"}

NOT_CARRIED = ("engine.refuses", "run.none-supported")
"""Errors by which an engine carries no such run: in virtual time on any machine, else with this machine's kernel."""
LACKING = (
    "build.no-go",
    "engine.not-built",
    "kernel.no-netem",
    "kernel.refuses",
    "program.no-docker",
    "program.not-installed",
    "run.needs-root",
    "run.unsupported",
    "setup.machine-lacks",
    "setup.still-missing",
    "topology.needs-mininet",
    "vkernel.none",
    "vkernel.not-built",
)
"""Errors by which this machine lacks what a run needs. Any other by which it can't be made, such as a full disk or a
simulator that was killed, is a run that broke down: another day it has a result."""


@dataclass(frozen=True)
class Ended:
    """How a run's command ended."""

    exit_code: int
    said: str
    """Its error, else its last line."""
    error: str = ""
    """The error's code, "" without one."""


@dataclass(frozen=True)
class Made:
    """What became of a run. ``folder`` is its result folder inside that of all runs, "" without one.

    ``state`` is its verdict, else ``error``, ``unsupported`` by this machine, or ``skipped``: what the engine carries
    on no machine, and what a quick form leaves out."""

    name: str
    command: str
    state: Status
    why: str = ""
    folder: str = ""
    exit_code: int = 0
    seconds: float = 0.0
    disk_mb: float = 0.0
    shorter: bool = False
    """Whether it is the quick form."""

    @property
    def judged(self) -> bool:
        """Whether it has a verdict."""
        return bool(self.folder)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Made:
        """Reads its entry in ``claims.json``, or ``made.json``."""
        return cls(
            **{**{key: value for key, value in document.items() if key != "schema"}, "state": Status(document["state"])}
        )

    @classmethod
    def never(cls, name: str) -> Made:
        """One that was asked for and is not there."""
        return cls(name, "", Status.ERROR, "It was never made.")


@dataclass
class Runs(Study[str, Made]):
    """All runs of one ``all``, by name; ``folder`` is its result folder."""

    specs: Mapping[str, RunSpec]
    folder: Path
    engine: Engine
    quick: bool
    progress: Progress
    link: Literal["auto", "netem", "relay"] = "auto"
    """The middle of the links, on real packets."""
    cluster: bool = False
    """Whether commands that make many runs have them made on the cluster."""

    def engine_of(self, key: str) -> Engine:
        """One for all."""
        return self.engine

    def earlier(self, key: str) -> Made | None:
        """By its ``made.json``."""
        path = self._home(key) / "made.json"
        return Made.from_json(current(read_json(path), SCHEMA)) if path.is_file() else None

    def wanted_again(self, key: str, found: Made) -> bool:
        """Itself, or of a table any of its runs."""
        if not found.judged:
            return found.state == Status.ERROR
        result = confine.inside(self.folder, found.folder)
        cells = (standing(finished(cell)) for cell in result.glob("cells/*/*/*"))
        runs = [run for run in cells if run] or [result]
        return any(wanted_again(run, self.engine) for run in runs)

    def known(self, key: str) -> Made | None:
        """What a quick form leaves out."""
        why = self.specs[key].quick.leave_out if self.quick else ""
        return Made(key, self._shown(key), Status.SKIPPED, why) if why else None

    def make(self, key: str) -> Made:
        """The run's command."""
        spec, home = self.specs[key], self._home(key)
        home.mkdir(parents=True, exist_ok=True)
        waiting = Step("waiting")
        ended = when_free(lambda: self._ended(key), lambda name: self.progress.update(waiting, name))
        size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        latest = home / spec.run / "latest"
        judged = ended.exit_code != Exit.CANNOT_RUN and (latest / "verdict.json").is_file()
        return Made(
            key,
            self._shown(key),
            of_exit_code(ended.exit_code) if judged else self._state_without_a_run(ended),
            "" if judged else ended.said,
            str(latest.resolve().relative_to(self.folder.resolve())) if judged else "",
            exit_code=ended.exit_code,
            disk_mb=round(size / 1e6, 1),
            shorter=spec.shorter(quick=self.quick),
        )

    def _state_without_a_run(self, ended: Ended) -> Status:
        if ended.exit_code != Exit.CANNOT_RUN:
            return Status.ERROR
        if ended.error in NOT_CARRIED and self.engine.facts.virtual_time:
            return Status.SKIPPED
        return Status.UNSUPPORTED if ended.error in NOT_CARRIED + LACKING else Status.ERROR

    def make_trusted(self, key: str) -> Made:
        """With the seconds of all attempts."""
        begun_s = time.monotonic()
        return replace(super().make_trusted(key), seconds=round(time.monotonic() - begun_s, 1))

    def made(self, key: str, found: Made) -> None:
        """Keep it."""
        self._home(key).mkdir(parents=True, exist_ok=True)
        write_json(self._home(key) / "made.json", {"schema": SCHEMA, **asdict(found)})

    def untrusted(self, key: str, found: Made) -> bool:
        """By the command's exit code."""
        return found.exit_code == Exit.UNTRUSTED

    def attempts(self, key: str) -> int:
        """A table makes its cells again itself."""
        is_table = self._makes_many(key) and kind_of(self.specs[key]) != "sweep"
        return 1 if is_table else super().attempts(key)

    def _makes_many(self, key: str) -> bool:
        spec = self.specs[key]
        return kind_of(spec) != "scenario" or (spec.options(self.engine.name, quick=self.quick).repeat or 1) > 1

    def expected_s(self, key: str) -> float:
        """By the claims' file."""
        return 60 * self.specs[key].expected_minutes(self.engine.name, quick=self.quick)

    def word(self, key: str, found: Made) -> str:
        """What became of it."""
        return str(found.state)

    def told(self, key: str, found: Made) -> str:
        """And why, or how long it took."""
        more = f", {found.seconds:.0f} s" if found.judged else f": {found.why[:160]}"
        return self.word(key, found) + more

    def _home(self, name: str) -> Path:
        return self.folder / "runs" / name

    def _ended(self, name: str) -> Ended:
        """How the run's command ended; CannotRun where another run is on."""
        ended = self._run(name)
        if ended.error in lock.BUSY_CODES:
            raise CannotRun("claims.machine-busy", "{said}", said=ended.said)
        return ended

    def _shown(self, name: str) -> str:
        return "./run.sh " + shlex.join(self.arguments(name, self.specs[name]))

    def arguments(self, name: str, spec: RunSpec) -> list[str]:
        """As a user would give them to ``./run.sh``."""
        kind, options = kind_of(spec), spec.options(self.engine.name, quick=self.quick)
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
        if self.engine.name != DEFAULT and kind != "sweep":
            given += ["--engine", self.engine.name]
        if self.link != "auto" and kind != "sweep":
            given += ["--link", self.link]
        return given

    def _run(self, name: str) -> Ended:
        spec = self.specs[name]
        home = self._home(name)
        command = [sys.executable, "-m", "testbed", _VERBS[kind_of(spec)], *self.arguments(name, spec)]
        if (home / spec.run / "latest" / "matrix.json").is_file():
            command += ["--resume", "latest"]
        if self.cluster and self._makes_many(name):
            command.append("--cluster")
        error = home / "error-code"
        error.unlink(missing_ok=True)
        environment = {
            **os.environ,
            "NCP_TESTBED_RESULTS": str(home),
            "PYTHONPATH": str(paths.CHECKOUT),
            CODE_FILE: str(error),
        }
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
                    said = _lines(log, said_from)[-1].strip()[:70]
                    self.progress.update(step, f"about {self.expected_s(name) / 60:.1f} min; {said}")
                    time.sleep(0.5)
            finally:
                _end(child)
        lines = _lines(log, said_from)
        said = next((line for line in lines if line.startswith("error: ")), lines[-1].strip())
        code = error.read_text() if error.is_file() else ""
        error.unlink(missing_ok=True)
        return Ended(int(child.returncode), said.removeprefix("error: "), code)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Where it still runs: it is told to stop and takes its network down itself."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        child.wait()


def _lines(log: Path, start: int) -> list[str]:
    """What it has said, an empty line at least."""
    with log.open("rb") as file:
        file.seek(start)
        return [line for line in file.read().decode(errors="replace").splitlines() if line.strip()] or [""]
