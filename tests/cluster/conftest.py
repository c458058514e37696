"""What tests with a cluster of processes share."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from testbed import paths
from testbed.machine import build
from tests.cluster.loopback import Loopback, loopback

SWEEP = """\
name: tiny
title: Windows
scenario: startup
seconds: {seconds}s
parameters:
  ncp.send_window: [{windows}]
policies: [nkp24, delivery-rate]
seeds: {seeds}
plots:
  - {{figure: of_bound, x: ncp.send_window}}
"""
SAME = ("table.csv", "table.parquet", "verdict.json", "report.html")
"""What a sweep tells, and must be the same bytes wherever its runs were made."""


@dataclass
class Place:
    """Where a test has its state and results."""

    path: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def sweep(self, *, seconds: float, seeds: int, windows: str = "512KiB, 1MiB, 2MiB") -> Path:
        """The file of a sweep of two runs for each seed and window."""
        file = self.path / f"tiny-{seeds}.yaml"
        file.write_text(SWEEP.format(seconds=seconds, seeds=seeds, windows=windows))
        return file

    def start(self, results: str, *arguments: str, said: Path | None = None) -> subprocess.Popen[str]:
        """A command of the testbed's, as a user gives it; what it says goes on in the file ``said``, if given."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(paths.CHECKOUT),
            "PYTHONUNBUFFERED": "1",
            "NCP_TESTBED_RESULTS": str(self.path / results),
            "NCP_TESTBED_STATE": str(self.path / "state"),
        }
        with said.open("a") if said else nullcontext(subprocess.PIPE) as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "testbed", *arguments],
                cwd=paths.CHECKOUT,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def run(self, results: str, *arguments: str, within_s: float | None = 600) -> str:
        """What it says, to its end."""
        process = self.start(results, *arguments)
        said, _ = process.communicate(timeout=within_s)
        assert process.returncode == 0, said
        return said

    def end(self) -> None:
        """What a test that failed has left."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def made(self, results: str) -> list[str]:
        """The runs of the sweep in the order that they came in, those that came twice twice."""
        file = self.path / results / "tiny" / "runs.jsonl"
        return [line.split('"')[3] for line in file.read_text().splitlines() if line] if file.is_file() else []

    def told(self, results: str) -> dict[str, bytes]:
        """What the sweep tells."""
        return {name: (self.path / results / "tiny" / "latest" / name).read_bytes() for name in SAME}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    build.build_programs("ncp-sim")
    made = Place(tmp_path)
    yield made
    made.end()


@pytest.fixture
def cluster_of(place: Place) -> Iterator[Callable[..., Loopback]]:
    """Makes a cluster with workers of the names given."""
    if not importlib.util.find_spec("distributed"):
        pytest.skip("distributed is not installed: the dependency group cluster has it")
    with loopback(place.path / "cluster", ()) as made:

        def with_workers(*names: str) -> Loopback:
            for name in names:
                made.start_worker(name)
            made.write_file()
            return made

        yield with_workers
