"""What a run makes is in its ledger first, and goes with it; what others made stays."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from testbed.cli.machine import clean
from testbed.errors import CannotRun, RunFailed
from testbed.runtime import leftovers, live, lock
from testbed.runtime.ledger import NAME, RUN_LABEL, RUN_VARIABLE, Ledger
from testbed.services.influx import server
from tests.raises import raises

RUN = "20261122-000000-abcd"


def no_docker() -> None:
    return None


@pytest.fixture(autouse=True)
def own_machine_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("NCP_TESTBED_RUN", str(folder))
    return folder


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process of somebody else."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def dead(folder: Path) -> Ledger:
    """The ledger of a run whose process is gone."""
    ledger = Ledger.open(folder / RUN, RUN, "startup")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    lines = ledger.file.read_text().splitlines()
    owner = json.loads(lines[0]) | {"pid": ended.pid, "pid_started": 1}
    ledger.file.write_text("\n".join([json.dumps(owner), *lines[1:]]) + "\n")
    found = Ledger.read(ledger.file)
    assert found is not None
    return found


def test_it_is_written_before_anything_is_made_and_torn_down_latest_first(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / RUN, RUN, "startup")
    for name in ("first", "second"):
        ledger.will_make("folder", str(tmp_path / name))
        (tmp_path / name).mkdir()
    assert list(ledger.entries()) == [
        ("folder", str(tmp_path / "second")),
        ("folder", str(tmp_path / "first")),
        ("processes", RUN),
        ("folder", str(tmp_path / RUN)),
    ]
    removed = leftovers.tear_down(ledger, no_docker)
    assert removed.things == [f"folder {tmp_path / name}" for name in ("second", "first", RUN)]
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]


def test_a_tear_down_that_was_interrupted_is_finished_by_the_next(own_machine_state: Path) -> None:
    ledger = dead(own_machine_state)
    ledger.will_make("folder", str(own_machine_state / "x"))  # never made
    ledger.will_make("container", "ncp-abcd-s1-sender")
    without = leftovers.tear_down(ledger, no_docker)
    assert without.things == []
    assert "the Docker engine does not answer" in without.problems[0]
    assert ledger.file.exists(), "it is still needed"
    found = leftovers.remove_leftovers(lambda: Docker({}))
    assert found.problems == []
    assert not ledger.file.exists()
    assert leftovers.remove_leftovers(no_docker).things == []


def test_a_dry_run_names_what_would_go_and_removes_nothing(own_machine_state: Path) -> None:
    ledger = dead(own_machine_state)
    for name in ("made", "never-made"):
        ledger.will_make("folder", str(own_machine_state / name))
    (own_machine_state / "made").mkdir()
    ledger.will_make("container", "ours")
    engine = Docker({"ours": {RUN_LABEL: RUN}, "theirs": {}})
    would = leftovers.remove_leftovers(lambda: engine, dry_run=True)
    assert engine.closed
    assert would.things == ["container ours", f"folder {own_machine_state / 'made'}", f"folder {ledger.file.parent}"]
    assert set(engine.labels) == {"ours", "theirs"}
    assert leftovers.remove_leftovers(lambda: engine).things == would.things
    assert set(engine.labels) == {"theirs"}


def test_a_last_line_that_was_cut_off_is_of_nothing_that_was_made(own_machine_state: Path) -> None:
    ledger = dead(own_machine_state)
    with ledger.file.open("a") as file:
        file.write('{"kind": "namespace", "na')
    assert [kind for kind, _ in ledger.entries()] == ["processes", "folder"]
    assert leftovers.remove_leftovers(no_docker).problems == []


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def until(holds: Callable[[], bool]) -> None:
    """A process that was just started is not yet what it will be: in its namespace, with its environment."""
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to be so within 10 s")


def test_processes_are_known_by_their_mark(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    ledger = Ledger.open(tmp_path / RUN, RUN, "startup")
    deaf = "trap '' TERM; sleep 60 & wait; wait"
    marked = {**os.environ, RUN_VARIABLE: RUN}
    with subprocess.Popen(["sh", "-c", deaf], env=marked, start_new_session=True) as ours:
        until(lambda: RUN_VARIABLE in Path(f"/proc/{ours.pid}/environ").read_text())
        removed = leftovers.tear_down(ledger, no_docker)
        assert ours.wait(timeout=30) != 0
    assert f"processes {RUN}" in removed.things
    assert sleeper.poll() is None


class Docker:
    """As much of an engine as the ledger asks of: containers by name, with their labels."""

    def __init__(self, labels: dict[str, dict[str, str]]) -> None:
        self.labels = labels
        self.containers = self

    def get(self, name: str) -> "Container":
        from docker.errors import NotFound

        if name not in self.labels:
            raise NotFound(name)
        return Container(self, name)

    def list(self, all: bool, filters: dict[str, str]) -> "list[Container]":  # noqa: A002
        return [Container(self, name) for name, labels in self.labels.items() if filters["label"] in labels]

    def close(self) -> None:
        self.closed = True


class Container:
    def __init__(self, engine: Docker, name: str) -> None:
        self.engine, self.name, self.labels = engine, name, engine.labels[name]

    def remove(self, force: bool) -> None:
        del self.engine.labels[self.name]


def test_a_container_of_that_name_without_the_mark_stays(own_machine_state: Path) -> None:
    ledger = dead(own_machine_state)
    for name in ("theirs", "another-run's", "ours"):
        ledger.will_make("container", name)
    engine = Docker({"theirs": {}, "another-run's": {RUN_LABEL: "other"}, "ours": {RUN_LABEL: RUN}})
    assert "container ours" in leftovers.tear_down(ledger, lambda: engine).things
    assert set(engine.labels) == {"theirs", "another-run's"}


def test_after_a_power_cut_containers_are_known_by_their_label(own_machine_state: Path) -> None:
    live_one = Ledger.open(own_machine_state / "live", "live", "startup")
    engine = Docker({"theirs": {}, "lost": {RUN_LABEL: RUN}, "on": {RUN_LABEL: "live"}})
    assert leftovers.remove_leftovers(lambda: engine).things == ["container lost"]
    assert set(engine.labels) == {"theirs", "on"}
    assert live_one.file.exists()


def test_a_folder_that_somebody_has_made_is_not_taken(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / RUN, RUN, "startup")
    (tmp_path / "theirs").mkdir()
    with raises(RunFailed, "run.object-exists"):
        ledger.will_make("folder", str(tmp_path / "theirs"))
    leftovers.tear_down(ledger, no_docker)
    assert (tmp_path / "theirs").is_dir()


def test_only_run_leaves_nothing_and_restores_what_it_changed(own_machine_state: Path) -> None:
    before = tempfile.gettempdir()
    with suppress(ZeroDivisionError), live.only_run(RUN, "startup", "ncp-abcd") as own:
        assert (own / NAME).exists()
        assert Path(tempfile.mkdtemp()).parent.name == f"ncp-testbed-{RUN}"
        holder = lock.holder()
        assert holder
        assert holder.startswith(f"startup {RUN}: ")
        assert f"(pid {os.getpid()}, since " in holder
        with raises(CannotRun, "run.machine-busy"), live.only_run("other", "startup", "ncp-ffff"):
            pass
        raise ZeroDivisionError
    assert tempfile.gettempdir() == before
    assert RUN_VARIABLE not in os.environ
    assert [path.name for path in own_machine_state.iterdir()] == ["lock"]
    assert not (Path(before) / f"ncp-testbed-{RUN}").exists()


def test_a_run_that_is_on_is_left_alone(own_machine_state: Path) -> None:
    with live.only_run(RUN, "startup", "ncp-abcd") as own:
        (own / "control").mkdir()
        beginning = own_machine_state / "20261122-000001-abcd"
        beginning.mkdir()
        assert leftovers.remove_leftovers(no_docker).things == []
        assert (own / "control").is_dir()
    assert leftovers.remove_leftovers(no_docker).things == [f"folder {beginning}"]


def test_where_the_state_is_moved_to_nothing_else_goes(own_machine_state: Path) -> None:
    """NCP_TESTBED_RUN may be a folder that has others' in it, be it /home or /tmp."""
    (own_machine_state / "alice").mkdir()
    (own_machine_state / "20261122-000001-abcd").mkdir()
    (own_machine_state / "20261122-000001-abcd" / "thesis.tex").write_text("mine")
    (own_machine_state / "20261122-000002-abcd").symlink_to(own_machine_state / "alice")
    before = set(own_machine_state.rglob("*"))
    assert leftovers.remove_leftovers(no_docker).things == []
    assert set(own_machine_state.rglob("*")) == before


def test_a_ledger_that_another_user_wrote_is_none(
    own_machine_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    ledger = dead(own_machine_state)
    ledger.will_make("folder", str(precious))
    precious.mkdir()
    writer = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: writer + 1)
    assert leftovers.remove_leftovers(no_docker).things == []
    assert precious.is_dir()
    monkeypatch.setattr(os, "geteuid", lambda: writer)
    assert f"folder {precious}" in leftovers.remove_leftovers(no_docker).things


@settings(
    max_examples=int(os.environ.get("NCP_TESTBED_EXAMPLES", "50")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    damage=st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["run", "scenario", "pid", "pid_started", "kind", "name"]), inner)
            ),
            max_leaves=8,
        ).map(lambda document: json.dumps(document).encode()),
    ),
    first=st.booleans(),
)
def test_a_damaged_ledger_keeps_no_run_from_beginning(tmp_path: Path, damage: bytes, first: bool) -> None:
    folder = tmp_path / RUN
    if not folder.exists():
        Ledger.open(folder, RUN, "startup")
    whole = json.dumps({"run": RUN, "scenario": "startup", "pid": 1, "pid_started": 1}).encode()
    (folder / NAME).write_bytes(damage if first else whole + b"\n" + damage + b"\n")
    ledger = Ledger.read(folder / NAME)
    if ledger is not None:
        assert not first or isinstance(ledger.owner.alive, bool)
        assert all(kind in ("folder", "processes", "namespace", "container") for kind, _ in ledger.entries())


@pytest.mark.root
def test_a_namespace_goes_with_what_runs_in_it_and_a_foreign_one_stays(own_machine_state: Path) -> None:
    ours, theirs = f"ncp-test-{os.getpid()}", f"ncp-test-{os.getpid()}-theirs"
    subprocess.run(["ip", "netns", "add", theirs], check=True)
    try:
        ledger = dead(own_machine_state)
        with raises(RunFailed, "run.object-exists"):
            ledger.will_make("namespace", theirs)
        ledger.will_make("namespace", ours)
        subprocess.run(["ip", "netns", "add", ours], check=True)
        with subprocess.Popen(["ip", "netns", "exec", ours, "sleep", "60"]) as inside:
            until(lambda: str(inside.pid) in _said("ip", "netns", "pids", ours).split())
            found = leftovers.remove_leftovers(no_docker)
            inside.wait(timeout=30)
        assert f"namespace {ours}" in found.things
        there = _said("ip", "netns").split()
        assert ours not in there
        assert theirs in there
    finally:
        subprocess.run(["ip", "netns", "delete", theirs], check=True)


def test_clean_says_which_run_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(leftovers, "docker_client", no_docker)
    monkeypatch.setattr(server, "running", lambda: None)  # which has runs of other tests
    app = typer.Typer()
    app.callback()(lambda: None)  # so that the one verb is named
    app.command()(clean)
    with live.only_run(RUN, "startup", "ncp-abcd"):
        said, holder = CliRunner().invoke(app, ["clean"]).stdout, lock.holder()
        assert said == f"{holder} is running; it removes what it has made\nnothing else to remove\n"
    assert CliRunner().invoke(app, ["clean"]).stdout == "nothing to remove\n"
