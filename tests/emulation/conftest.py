"""Whole runs through ``run.sh``, as a user starts them, and what the machine looks like before and after."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import docker
import pytest

from testbed import paths
from testbed.cli.junit import SECOND_TRY
from testbed.exit_codes import Exit
from testbed.runtime.ledger import RUN_LABEL
from testbed.scenario.model import Limits

RUN_SH = str(paths.CHECKOUT / "run.sh")


ON_ANY_MACHINE = (
    "--set",
    "limits.cpu_idle=0",
    "--set",
    "limits.cpu_busy=60min",
    "--set",
    "limits.lateness_p99=1s",
    "--set",
    "limits.lateness_max=1min",
    "--set",
    "limits.delay_error=50ms",
    "--set",
    "limits.rate_error=50%",
)
"""For tests of what a run does, on machines that are busy with other things: how exact the links were is
judged by real runs and by the benchmarks."""


@dataclass(frozen=True)
class Machine:
    """Interfaces that there are, and the network namespaces and containers that are this testbed's.

    Others may come and go: other people's containers, say.
    """

    namespaces: frozenset[str]
    interfaces: frozenset[str]
    containers: frozenset[str]

    @classmethod
    def now(cls) -> "Machine":
        client = docker.from_env()
        try:
            ours = client.containers.list(all=True, filters={"label": RUN_LABEL})
            containers = frozenset(str(container.name) for container in ours)
        finally:
            client.close()
        return cls(
            frozenset(path.name for path in Path("/run/netns").glob("ncp-*")),
            frozenset(path.name for path in Path("/sys/class/net").iterdir()),
            containers,
        )

    def things(self) -> set[str]:
        """All of them, by kind and name."""
        return {f"{kind.name} {name}" for kind in fields(self) for name in getattr(self, kind.name)}


GOES_WITHIN_S = 60.0
"""What tests beside this one make is gone by then."""


def left_behind(before: Set[str], now: Callable[[], Set[str]]) -> set[str]:
    """What was not there before and stays. Other tests may make things meanwhile: those go."""
    left = now() - before
    deadline = time.monotonic() + GOES_WITHIN_S
    while left and time.monotonic() < deadline:
        time.sleep(0.5)
        left &= now()
    return set(left)


@pytest.fixture(autouse=True)
def machine_is_left_as_it_was() -> Iterator[None]:
    """After every test there are no namespaces, interfaces and containers but those that there were before."""
    before = Machine.now().things()
    yield
    assert left_behind(before, lambda: Machine.now().things()) == set()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a run whose results go to the test's own folder."""
    return {**os.environ, "NCP_TESTBED_RESULTS": str(tmp_path / "results")}


def links_were_late(results: Path, since_ns: int) -> bool:
    """Whether a run since then had frames held up for longer than a run that is trusted may: its checks may then fail
    for the machine's sake."""
    limits = Limits.model_validate({})
    return any(
        link["lateness_us"]["p99"] > 1000 * limits.lateness_p99_ms
        or link["lateness_us"]["max"] > 1000 * limits.lateness_max_ms
        for report in results.glob("**/relay.json")
        if report.stat().st_mtime_ns >= since_ns
        for link in json.loads(report.read_text())["links"]
    )


@pytest.fixture
def run_sh(
    environment: dict[str, str], request: pytest.FixtureRequest
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call ``run.sh`` to its end; once more where checks failed in a run whose links were late, and that is told."""

    def call(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        everything = {**environment, **more}
        for attempt in (1, 2):
            begun_ns = time.time_ns()
            done = subprocess.run(
                [RUN_SH, *arguments],
                env=everything,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
            if done.returncode != Exit.FAIL:
                break
            if attempt == 2 or not links_were_late(Path(everything["NCP_TESTBED_RESULTS"]), begun_ns):
                break
            request.node.user_properties.append((SECOND_TRY, "links were late"))
        return done

    return call


def await_transfer(results: Path, is_on: Callable[[], object]) -> None:
    """Wait until a sender's telemetry shows that its transfer is on; ``is_on`` raises when the run has ended."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        is_on()
        for spool in results.glob("*/*/spools/s1-sender/telemetry.lp"):
            if "transfer_start" in spool.read_text():
                return
        time.sleep(0.1)
    raise AssertionError("no transfer after 90 s")


class Started:
    """A run that goes on while the test does something to it."""

    def __init__(self, arguments: tuple[str, ...], environment: dict[str, str], results: Path) -> None:
        self.results = results
        self.process = subprocess.Popen(
            [RUN_SH, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def await_transfer(self) -> None:
        """Wait until the sender's telemetry shows that the transfer is on."""

        def is_on() -> None:
            if self.process.poll() is not None:
                raise AssertionError(f"ended with {self.process.returncode}: {self.process.communicate()}")

        await_transfer(self.results, is_on)

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def end(self, timeout_s: float = 90.0) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        out, err = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, out, err


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Start a run; it is ended with the test, whatever happens."""
    started: list[Started] = []

    def start_it(*arguments: str) -> Started:
        started.append(Started(arguments, environment, tmp_path / "results"))
        return started[-1]

    yield start_it
    for run in started:
        if run.process.poll() is None:
            run.signal(signal.SIGTERM)
            run.process.communicate(timeout=60)


def result_folder(tmp_path: Path, scenario: str = "startup") -> Path:
    """The latest result folder of the test."""
    return (tmp_path / "results" / scenario / "latest").resolve()


def agent_containers() -> list[Any]:
    """The containers of runs that are on."""
    return list(docker.from_env().containers.list(all=True, filters={"label": RUN_LABEL}))
