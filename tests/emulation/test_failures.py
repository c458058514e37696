"""What goes wrong: one clear message, the right exit code, nothing left behind."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from testbed import paths
from testbed.services.influx import server
from tests.emulation.conftest import ON_ANY_MACHINE, Machine, Started, agent_containers, result_folder

pytestmark = pytest.mark.packets

Call = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., Started]


def test_bad_input_is_refused_before_anything_is_made(run_sh: Call, tmp_path: Path) -> None:
    done = run_sh("startup", "--set", "links.fast.delay=-50ms")
    assert done.returncode == 2, done.stderr
    assert "negative" in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_link_that_is_not_what_was_asked_ends_the_run(run_sh: Call, tmp_path: Path) -> None:
    # No link is exact to the nanosecond, so this limit can't be kept.
    done = run_sh("startup", "--quick", "--runtime", "process", "--set", "limits.delay_error=1ns")
    assert done.returncode == 3, done.stderr
    folder = result_folder(tmp_path)
    assert done.stdout.splitlines()[-1] == f"UNTRUSTED startup {folder.name}"
    assert "link fast ab: delay" in done.stderr
    assert (folder / "links.csv").exists()


NICE, REAL_TIME = ("nice", "-n", "-20"), ("chrt", "--rr", "5")
HARD_END_S: dict[tuple[str, ...], float] = {NICE: 10.0, REAL_TIME: 4.0}
"""When busy loops end by themselves, whatever becomes of the test. Real-time ones leave little to others."""


@contextmanager
def busy_loop_on_each_core(priority: tuple[str, ...]) -> Iterator[None]:
    """High priority against everything: in a session of their own the scheduler would weigh the sessions instead."""
    spin = f"import time; end = time.monotonic() + {HARD_END_S[priority]}\nwhile time.monotonic() < end: pass"
    loops = [
        subprocess.Popen(["taskset", "-c", str(core), *priority, sys.executable, "-c", spin], start_new_session=True)
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        for loop in loops:
            with suppress(OSError):  # a kernel without such groups
                Path(f"/proc/{loop.pid}/autogroup").write_text("-20")
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.alone
@pytest.mark.parametrize("priority", [NICE, REAL_TIME], ids=["nice", "real-time"])
def test_a_starved_machine_is_not_trusted(start: Start, tmp_path: Path, priority: tuple[str, ...]) -> None:
    run = start(
        "startup",
        "--runtime",
        "process",
        "--set",
        "transfer=4MiB",
        "--set",
        "transfer_time=2min",
        # Only the load during the transfer is meant, not what others do before it.
        "--set",
        "limits.delay_error=1s",
        "--set",
        "limits.rate_error=100%",
    )
    run.await_transfer()
    with busy_loop_on_each_core(priority):
        code, out, err = run.end()
    assert code == 3, out + err
    assert out.splitlines()[-1] == f"UNTRUSTED startup {result_folder(tmp_path).name}"
    verdict = json.loads((result_folder(tmp_path) / "verdict.json").read_text())
    assert verdict["verdict"] == "untrusted"
    assert any("CPU time" in reason or "late" in reason for reason in verdict["trust"]["reasons"])


def test_ctrl_c_takes_everything_down_and_keeps_the_data(start: Start, tmp_path: Path) -> None:
    run = start("startup", *ON_ANY_MACHINE)
    run.await_transfer()
    assert agent_containers()
    run.signal(signal.SIGINT)
    code, out, err = run.end()
    assert code == 130, err
    assert "stopped by SIGINT" in err
    folder = result_folder(tmp_path)
    assert out.splitlines()[-1] == f"INTERRUPTED startup {folder.name}"
    assert "transfer_start" in (folder / "telemetry.lp").read_text()


def test_a_killed_agent_ends_the_run(start: Start, tmp_path: Path) -> None:
    run = start("startup", *ON_ANY_MACHINE)
    run.await_transfer()
    sender = next(container for container in agent_containers() if container.name.endswith("-s1-sender"))
    sender.kill()
    code, _, err = run.end()
    assert code == 1
    assert "agent s1-sender on h1 ended with 137" in err
    assert "ncp_connection" in (result_folder(tmp_path) / "telemetry.lp").read_text()


def test_clean_removes_what_a_killed_run_left_and_nothing_else(start: Start, run_sh: Call, tmp_path: Path) -> None:
    subprocess.run(["ip", "netns", "add", "ncp-0000"], check=True)  # by its name like ours, but nobody's record
    try:
        run = start("startup", *ON_ANY_MACHINE)
        run.await_transfer()
        namespaces_then = Machine.now().namespaces
        run.signal(signal.SIGKILL)
        run.process.communicate(timeout=30)
        assert agent_containers(), "the containers outlive a killed run"
        done = run_sh("clean")
        assert done.returncode == 0, done.stderr
        own = json.loads((result_folder(tmp_path) / "plan.json").read_text())["namespace"]
        assert own in namespaces_then
        assert own not in Machine.now().namespaces
        assert f"removed namespace {own}" in done.stdout
        assert agent_containers() == []
        assert "ncp-0000" in Machine.now().namespaces
        assert run_sh("clean").stdout == "nothing to remove\n"
    finally:
        subprocess.run(["ip", "netns", "delete", "ncp-0000"], check=True)


def test_influxdbs_port_held_by_something_else(run_sh: Call, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = run_sh(
            "startup", "--quick", NCP_TESTBED_INFLUX_PORT=str(port), NCP_TESTBED_STATE=str(tmp_path / "state")
        )
    assert done.returncode == 4, done.stderr
    assert str(port) in done.stderr
    assert server.status().state in ("running", "stopped"), "the machine's own server is as it was"


def test_docker_not_answering(run_sh: Call) -> None:
    done = run_sh("startup", "--no-setup", DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert done.returncode == 4, done.stderr
    assert "docker engine: installed but does not answer" in done.stderr
    assert "--runtime process" in done.stderr


def test_without_root() -> None:
    unprivileged = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    done = subprocess.run(
        [*unprivileged, sys.executable, "-m", "testbed", "startup", "--engine", "mininet"],
        cwd=paths.CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "needs root" in done.stderr
