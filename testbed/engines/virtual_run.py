"""A run in virtual time, whichever engine carries it out: its folder, its points, its verdict from the file."""

import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path, PurePath

from testbed import paths
from testbed.engines import judging
from testbed.engines.judging import Judged, judge_from, store_judged, write_broken
from testbed.engines.run import Run
from testbed.errors import CannotRun, TestbedError
from testbed.judge.checks.derived import law_ahead
from testbed.judge.checks.result import Trust, Verdict
from testbed.plan.model import Plan
from testbed.runtime import lock
from testbed.runtime.interrupts import Interrupted
from testbed.series import FromFile
from testbed.series.one_clock import RETENTION
from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import Endpoint
from testbed.services.influx.reader import FromInflux
from testbed.services.influx.server import running, started_elsewhere


class Database:
    """Takes the points of a run in place of those of an earlier repetition; never starts a server.

    The file counts from a fixed date, so that it is the same every time. In the database the run ends now,
    where a dashboard looks for it. ``note`` describes the outcome.
    """

    def __init__(self, plan: Plan, telemetry: Path) -> None:
        self._plan, self._telemetry = plan, telemetry
        self._endpoint: Endpoint | None = None
        self._later_ns = 0
        self.note = "no InfluxDB is up: telemetry.lp has all points"

    def store(self) -> int | None:
        """Write the file's points; returns the number that the database has, None if there is none."""
        try:
            endpoint = running()
            if endpoint is None:
                return None
            lines = self._telemetry.read_text(encoding="utf-8").splitlines()
            self._later_ns = time.time_ns() - max((_time_ns(line) for line in lines), default=0)
            # Repetitions of a run have its name: of two that store at once, each would count the other's points.
            with lock.held(Path(tempfile.gettempdir(), f"ncp-database-{os.getuid()}.lock"), "the database"):
                with Client(endpoint, "admin") as admin:
                    admin.delete_run(self._plan["run"])
                    admin.write(self._moved(lines))
                with Client(endpoint, "reader") as reader:
                    count = FromInflux(reader, self._plan["run"]).count_points()
        except (TestbedError, OSError) as error:
            self.note = f"not stored: {error}"
            return None
        self._endpoint = endpoint
        self.note = f"{count} points at {endpoint.url}{started_elsewhere()}"
        return count

    def store_judged(self, judged: Judged) -> None:
        """Write the points of the verdict that dashboards read, if the database has those of the run."""
        if self._endpoint is not None:
            derived, history = self._moved(judged.derived), self._moved(judged.history)
            moved = dataclasses.replace(judged, derived=derived, history=history)
            with Client(self._endpoint, "admin") as admin:
                admin.write(law_ahead(self._plan), RETENTION)
                store_judged(admin, self._plan, moved, self._telemetry.parent)

    def _moved(self, lines: Iterable[str]) -> list[str]:
        return [f"{line.rsplit(' ', 1)[0]} {_time_ns(line) + self._later_ns}" for line in lines]


def _time_ns(line: str) -> int:
    return int(line.rsplit(" ", 1)[1])


NOT_OF_THE_QUESTION = ("run", "namespace")
"""Keys of a plan that differ between two runs of one question."""


def run_id(prefix: str, plan: Plan, code: bytes) -> str:
    """``<prefix>-<12 hexadecimal digits>``: the same, on every machine, for the same plan and the same code.

    An exactly repeatable run is not another one when it is repeated: it has the same name, the same folder and
    the same points. Another rule in the code gives another name.
    """
    question = {key: value for key, value in plan.items() if key not in NOT_OF_THE_QUESTION}
    digest = hashlib.sha256(json.dumps(question, sort_keys=True).encode())
    digest.update(code)
    return f"{prefix}-{digest.hexdigest()[:12]}"


@cache
def texts(sources: tuple[str, ...]) -> bytes:
    """Names and texts of files and folders of the checkout (of folders Go's and Python's files but for tests), read
    once in a process."""
    return b"".join(
        str(source.relative_to(paths.CHECKOUT)).encode() + b"\0" + source.read_bytes()
        for source in sorted(_files(sources))
    )


def _files(sources: Sequence[str]) -> Iterator[Path]:
    for name in sources:
        place = paths.of_checkout(name)
        found = [place] if place.is_file() else place.rglob("*")
        yield from (path for path in found if is_source(path.relative_to(paths.CHECKOUT), sources))


def is_source(path: PurePath, sources: Sequence[str]) -> bool:
    """Whether a file of the checkout is among ``sources`` (files and folders)."""
    if str(path) in sources:
        return True
    inside = any(path.is_relative_to(source) for source in sources)
    return inside and path.suffix in (".go", ".py") and not path.name.endswith("_test.go")


class VirtualRun(Run):
    """One run of a plan in virtual time."""

    def _broke_down(self, error: Exception) -> None:
        if isinstance(error, Interrupted):  # which leaves no trace: the next attempt is the same
            error.hint = "A run in virtual time begins anew: give the same command."
        else:
            self._write_provenance()
            write_broken(self.plan, self.folder, None, error, getattr(error, "reasons", []))

    def without_database(self, database_points: int | None) -> Verdict:
        with self._own_folder():
            trust = self.carry_out()
            reader = FromFile(self.folder / "telemetry.lp")
            return judge_from(self.plan, self.folder, reader, trust, reader.count_points(), database_points).verdict

    @abstractmethod
    def carry_out(self) -> Trust:
        """Leave ``telemetry.lp`` and ``agents/`` in the folder, and note facts for the provenance."""

    @contextmanager
    def _own_folder(self) -> Iterator[Path]:
        """Make the run's folder anew; raises :class:`CannotRun` while another process makes the same run there."""
        with ExitStack() as held:
            try:
                with _locked(self.folder):
                    shutil.rmtree(self.folder, ignore_errors=True)
                self.folder.mkdir(parents=True)
                held.enter_context(_locked(self.folder))
            except (BlockingIOError, FileExistsError):
                raise CannotRun(
                    "run.made-elsewhere",
                    f"{self.folder}: another process is making this very run",
                    "Wait for it: the result is the same. Or give this one results of its own: "
                    "NCP_TESTBED_RESULTS=FOLDER ./run.sh …",
                ) from None
            (self.folder / "logs").mkdir()
            self._keep_plan_and_scenario()
            yield self.folder

    def _run(self, own: Path) -> Verdict:
        trust = self.carry_out()
        database = Database(self.plan, self.folder / "telemetry.lp")
        with self.progress.step("database") as step:
            points = database.store()
            step.note = database.note
        with self.progress.step("judge and report") as step:
            self._write_provenance()
            reader = FromFile(self.folder / "telemetry.lp")
            judged = judge_from(self.plan, self.folder, reader, trust, reader.count_points(), points)
            database.store_judged(judged)
            judging.leave_report(self.folder, reader)
            step.note = judged.verdict.summary
        return judged.verdict


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder, if it is there; raises BlockingIOError if another process does."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)
