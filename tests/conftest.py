"""What all tests share: tests marked ``root`` or ``packets`` need root and are skipped, with that reason, without;
guests with virtual time and runs in them; and a real InfluxDB of the test's own: a free port, a folder of its own,
stopped at the end."""

import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from testbed.engines.vkernel.run import GuestRun
from testbed.machine import guest_kernel as kernel
from testbed.machine.guest_kernel import Kernel
from testbed.plan.model import Traces
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.services.influx import server as influx
from testbed.services.influx.endpoint import Endpoint
from tests.ports import held_port
from tests.ready import in_a_guest as prepare

# Time is judged in benchmarks: a busy machine must not fail a property. A push draws the same examples each time; a
# night draws others, and keeps those that fail in .hypothesis/.
# Where CI is set, Hypothesis' own profile draws the same at night, too, and keeps nothing.
USUAL = settings.get_profile("default")
settings.register_profile("push", USUAL, deadline=None, derandomize=True)
settings.register_profile("night", USUAL, deadline=None)
settings.load_profile("push")


TESTS = Path(__file__).parent
GUEST_LIMIT_S = 1200
"""For a test in a guest. A busy machine changes nothing of its results, but makes each system call wait."""


PURE = {
    *("checks", "claims", "cli", "docs", "elsewhere", "graph", "judge", "mutants", "plan"),
    *("report", "scenario", "study", "sweep", "tables", "words"),
}
"""Folders whose tests are quick, but for those that are marked otherwise."""
PARTS = ("nightly", "alone", "packets", "runs", "guest", "saboteurs", "golden", "pure")
"""Each test is of exactly one; noxfile.py has a session for each."""
FOLDERS = {"sabotage": "saboteurs", "golden": "golden"}
"""Those whose tests are of one part, but for those that are marked otherwise."""


def part_of(item: pytest.Item) -> str:
    """When a test is carried out, by its marks, its fixtures and its folder."""
    marked = [name for name in ("nightly", "alone", "packets", "runs") if item.get_closest_marker(name)]
    if marked:
        return marked[0]
    if "exact_kernel" in getattr(item, "fixturenames", ()):
        return "guest"
    folder, *files = item.path.relative_to(TESTS).parts
    if folder in FOLDERS:
        return FOLDERS[folder]
    return "pure" if not item.get_closest_marker("root") and (folder in PURE or not files) else "runs"


@functools.cache
def parts_of_file(file: Path) -> frozenset[str]:
    """The parts of which a file may have tests, by its folder and by the words in it and in the folder's conftest.py:
    importing a file whose tests are all of other sessions takes time for nothing."""
    folder, *files = file.relative_to(TESTS).parts
    beside = file.parent / "conftest.py"
    text = file.read_text() + (beside.read_text() if files and beside.exists() else "")
    found = {name for name in ("nightly", "alone", "packets", "runs") if f"mark.{name}" in text}
    found |= {"guest"} if "exact_kernel" in text or "guest_run" in text else set()
    found.add(FOLDERS.get(folder, "pure" if folder in PURE or not files else "runs"))
    return frozenset(found | {"runs"} if "mark.root" in text else found)


def pytest_addoption(parser: pytest.Parser) -> None:
    what = "only tests of this part, or of several; other files are not even imported"
    parser.addoption("--part", action="append", choices=PARTS, default=[], help=what)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether a file has nothing of the parts that are to be carried out; None leaves it to others."""
    chosen = config.getoption("part")
    of_tests = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if chosen and of_tests and not parts_of_file(collection_path) & set(chosen) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    chosen = config.getoption("part")
    for item in items:
        part = part_of(item)
        item.add_marker(part)
        if part not in parts_of_file(item.path):
            raise pytest.UsageError(f"{item.nodeid}: nothing in its file or its folder's conftest.py says {part}")
    if chosen:
        others = [item for item in items if part_of(item) not in chosen]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if part_of(item) in chosen]
    # What takes longest begins first, so that no worker ends long after the others.
    items.sort(key=lambda item: "exact_kernel" not in getattr(item, "fixturenames", ()))
    for item in items:
        if "exact_kernel" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(GUEST_LIMIT_S))
    if os.geteuid() == 0:
        return
    skip = pytest.mark.skip(reason="needs root, for network namespaces")
    for item in items:
        if any(item.get_closest_marker(name) for name in ("root", "packets", "alone")):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def exact_kernel() -> Kernel:
    """The kernel with virtual time. Tests don't build it: that takes minutes and is a step of ``./run.sh test``."""
    program = kernel.built()
    if program is None:
        reason = kernel.why_not_buildable() or "./run.sh doctor --build builds it"
        pytest.skip(f"the guest kernel is not built. {reason}")
    return Kernel(program, exact=True)


@pytest.fixture
def guest_run(exact_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., GuestRun]:
    """Carry out a scenario in a guest, to its verdict; without a database."""
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")

    def run(
        scenario: str,
        *changed: str,
        quick: bool = False,
        seed: int | None = None,
        results: str = "results",
        traces: Traces | None = None,
    ) -> GuestRun:
        """``changed`` as for ``--set``; results go to that folder of the test's own."""
        monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / results))
        loaded = load(scenario, list(changed), quick=quick)
        found = prepare(loaded, Progress(), seed=seed, quick=quick, traces=traces)
        assert found.kernel == exact_kernel
        found.execute()
        assert found.repeatable, "no program span"
        return found

    return run


@pytest.fixture
def free_port() -> Iterator[int]:
    with held_port() as port:
        yield port


@pytest.fixture
def influx_state(monkeypatch: pytest.MonkeyPatch, free_port: int) -> Iterator[Path]:
    """State folder and port for ``influx.ensure()``; nothing is started yet."""
    # Not pytest's own folder: that one is closed to the user that influxd runs as.
    state = Path(tempfile.mkdtemp(prefix="ncp-testbed-test-"))
    state.chmod(0o755)
    for name in ("URL", "USER", "PASSWORD"):
        monkeypatch.delenv(f"NCP_TESTBED_INFLUX_{name}", raising=False)
    monkeypatch.setenv("NCP_TESTBED_STATE", str(state))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", str(free_port))
    yield state
    influx.stop()
    shutil.rmtree(state)


@pytest.fixture
def endpoint(influx_state: Path) -> Endpoint:
    """A running server."""
    return influx.ensure()
