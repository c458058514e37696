"""Makes the runs that the claims need, each by the command that a user would type; finished ones are kept."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
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
from testbed.study.cell import Cell
from testbed.study.claims.judged import SCHEMA
from testbed.study.claims.load import kind_of
from testbed.study.claims.model import RunSpec
from testbed.study.job import when_free
from testbed.study.ledger import STUDY
from testbed.study.record import RunRecord, read_record
from testbed.study.result import CellResult, run_that_counts
from testbed.study.run import run_cells, should_retry

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
class Runs:
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

    def run(
        self, names: Sequence[str], each: Callable[[Mapping[str, Made]], object] = lambda _made: None
    ) -> dict[str, Made]:
        """What became of each; ``each`` gets those so far whenever one has ended."""
        made: dict[str, Made] = {}

        def ended(result: CellResult) -> None:
            made[result.cell] = self.earlier(result.cell) or self.left_out(result.cell) or Made.never(result.cell)
            each({name: made[name] for name in names if name in made})

        cells = [CommandCell(self, name) for name in names]
        run_cells(cells, self.folder, self.progress, describe=self._described, each=ended)
        return {name: made[name] for name in names}

    def earlier(self, key: str) -> Made | None:
        """By its ``made.json``."""
        path = self._home(key) / "made.json"
        return Made.from_json(current(read_json(path), SCHEMA)) if path.is_file() else None

    def is_retried(self, found: Made) -> bool:
        """Whether it is run again to resume: itself, or of a table any of its runs."""
        if not found.judged:
            return found.state == Status.ERROR
        result = confine.inside(self.folder, found.folder)
        counted = (run_that_counts(cell) for cell in result.glob("cells/*/*/*"))
        runs = [run for run in counted if run] or [result]
        records = (read_record(run, self.folder, "") for run in runs)
        return any(record and should_retry(record, 0, self.engine) for record in records)

    def left_out(self, key: str) -> Made | None:
        """What a quick form leaves out."""
        why = self.specs[key].quick.leave_out if self.quick else ""
        return Made(key, self._shown(key), Status.SKIPPED, why) if why else None

    def make(self, key: str) -> Made:
        """The run's command; what became of it is kept, with the seconds of all attempts."""
        spec, home, begun_s = self.specs[key], self._home(key), time.monotonic()
        home.mkdir(parents=True, exist_ok=True)
        before = self.earlier(key)
        waiting = Step("waiting")
        ended = when_free(lambda: self._ended(key), lambda name: self.progress.update(waiting, name))
        size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        latest = home / spec.run / "latest"
        judged = ended.exit_code != Exit.CANNOT_RUN and (latest / "verdict.json").is_file()
        found = Made(
            key,
            self._shown(key),
            of_exit_code(ended.exit_code) if judged else self._state_without_a_run(ended),
            "" if judged else ended.said,
            str(latest.resolve().relative_to(self.folder.resolve())) if judged else "",
            exit_code=ended.exit_code,
            seconds=round(time.monotonic() - begun_s + (before.seconds if before else 0), 1),
            disk_mb=round(size / 1e6, 1),
            shorter=spec.shorter(quick=self.quick),
        )
        write_json(home / "made.json", {"schema": SCHEMA, **asdict(found)})
        return found

    def _state_without_a_run(self, ended: Ended) -> Status:
        if ended.exit_code != Exit.CANNOT_RUN:
            return Status.ERROR
        if ended.error in NOT_CARRIED and self.engine.facts.virtual_time:
            return Status.SKIPPED
        return Status.UNSUPPORTED if ended.error in NOT_CARRIED + LACKING else Status.ERROR

    def makes_many(self, key: str) -> bool:
        """Whether its command is a study of its own."""
        spec = self.specs[key]
        return kind_of(spec) != "scenario" or (spec.options(self.engine.name, quick=self.quick).repeat or 1) > 1

    def expected_s(self, key: str) -> float:
        """By the claims' file."""
        return 60 * self.specs[key].expected_minutes(self.engine.name, quick=self.quick)

    def _described(self, result: CellResult) -> str:
        """What became of it, and why, or how long it took."""
        found = self.earlier(result.cell) or self.left_out(result.cell) or Made.never(result.cell)
        return str(found.state) + (f", {found.seconds:.0f} s" if found.judged else f": {found.why[:160]}")

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
        if (home / spec.run / "latest" / STUDY).is_file():
            command += ["--resume", "latest"]
        if self.cluster and self.makes_many(name):
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


@dataclass(frozen=True, eq=False)
class CommandCell(Cell):
    """A run that claims need, by the command that a user would type."""

    runs: Runs
    name: str
    movable = False

    @property
    def at(self) -> Mapping[str, str]:  # type: ignore[override]
        """Its name."""
        return {"run": self.name}

    @property
    def engine(self) -> Engine:
        """One for all."""
        return self.runs.engine

    @property
    def expected_s(self) -> float:  # type: ignore[override]
        """By the claims' file."""
        return self.runs.expected_s(self.name)

    @property
    def retried(self) -> bool:  # type: ignore[override]
        """A table runs its cells again itself."""
        return not self.runs.makes_many(self.name) or kind_of(self.runs.specs[self.name]) == "sweep"

    @property
    def known(self) -> RunRecord | None:
        """What a quick form leaves out."""
        found = self.runs.left_out(self.name)
        return self._record(found) if found else None

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """The command."""
        return self._record(replace(self.runs, progress=progress).make(self.name))

    def earlier(self, study: Path, lines: Sequence[RunRecord]) -> list[RunRecord]:
        """By its ``made.json``; ``error`` where some of it is to be run again."""
        found = self.runs.earlier(self.name)
        if found is None:
            return []
        again = Status.ERROR if self.runs.is_retried(found) else found.state
        return [self._record(found).model_copy(update={"status": again})]

    def _record(self, found: Made) -> RunRecord:
        return RunRecord(
            run=found.folder, cell=self.id, status=found.state, reason=found.why, seconds=found.seconds or None
        )


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
