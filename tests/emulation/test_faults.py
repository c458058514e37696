"""Faults in mid-run, a row of docs/results/faults.md each: no hang, no false PASS, the data kept, and clear words."""

import http.client
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from testbed.runtime import live, lock
from testbed.services.influx import server as influx
from testbed.services.influx.endpoint import Endpoint
from tests.emulation.conftest import agent_containers, result_folder
from tests.emulation.faults import SHORT, Start, await_process, broke_down, hit, kept, namespace, run_of, verdict_of

pytestmark = pytest.mark.packets


@pytest.fixture(autouse=True)
def nobody_else() -> None:
    if lock.holder() is not None:
        lock.wait_for_others(lambda _: None)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ncp-link", "relay"), "link relay ended with -9"),
        (("ncp-collect",), "telemetry collectors ended with -9"),
        (("ncp-push",), "telemetry pusher ended with -9"),
        (("socat", "TCP-LISTEN:8086,bind=198.19.0.1,reuseaddr,fork"), "telemetry gateway ended with -9"),
        (("tcpdump",), "capture fast-h1 ended with -9"),
    ],
    ids=["relay", "collector", "pusher", "gateway", "capture"],
)
def test_a_part_is_killed(start: Start, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    """Each gives evidence of the run: without it nothing is proven."""
    run = start(*SHORT, *(("--pcap", "fast") if "tcpdump" in words else ()))
    run.await_transfer()
    hit(tmp_path, *words)
    broke_down(run, tmp_path, says, word="untrusted")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("words", "says"),
    [(("ncp-collect",), ".lp has had no new sample for 3 s"), (("ncp-link", "relay"), "relay/telemetry.lp has had no")],
    ids=["collector", "relay"],
)
def test_a_sampler_hangs(start: Start, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    run = start(*SHORT, "--set", "transfer=20MiB")
    run.await_transfer()
    hit(tmp_path, *words, number=signal.SIGSTOP)
    broke_down(run, tmp_path, says, word="untrusted")


DYING = """
import pathlib, psutil
dies, look = pathlib.Path({file!r}), psutil.cpu_times
psutil.cpu_times = lambda: look(*[None] * 2 * dies.exists())
"""


@pytest.mark.nightly
def test_the_sampler_of_the_host_s_load_dies(start: Start, environment: dict[str, str], tmp_path: Path) -> None:
    """It is a thread of the runner, and has no process to kill."""
    dies = tmp_path / "dies"
    (tmp_path / "sitecustomize.py").write_text(DYING.format(file=str(dies)))
    environment["PYTHONPATH"] = str(tmp_path)
    run = start(*SHORT)
    run.await_transfer()
    dies.touch()
    broke_down(run, tmp_path, "the host's load: ", word="untrusted")


def test_the_probe_is_killed(start: Start, tmp_path: Path) -> None:
    run = start(*SHORT)
    await_process(tmp_path, "ncp-link", "probe")
    hit(tmp_path, "ncp-link", "probe")
    broke_down(run, tmp_path, "the probe of links ended with -9", transferring=False)


@pytest.mark.nightly
def test_a_sender_hangs(start: Start, tmp_path: Path) -> None:
    run = start(*SHORT)
    run.await_transfer()
    hit(tmp_path, "ncp-agent", "sender", number=signal.SIGSTOP)
    broke_down(run, tmp_path, "agent s1-sender on h1 has not answered for 10 s")


@pytest.mark.nightly
def test_a_receiver_hangs(start: Start, tmp_path: Path) -> None:
    run = start(*SHORT)
    run.await_transfer()
    hit(tmp_path, "ncp-agent", "receiver", number=signal.SIGSTOP)
    broke_down(run, tmp_path, "agent s1-receiver on h2 has not answered for 10 s")


def pause_reading(tmp_path: Path, for_ms: int) -> None:
    """Have the receiver stop reading all its sockets, which nobody planned."""
    path = next(Path(live.directory(run_of(tmp_path))).glob("**/s1-receiver/control.sock"))
    for connection in (1, 2):
        asking = http.client.HTTPConnection("localhost")
        asking.sock = socket.socket(socket.AF_UNIX)
        asking.sock.connect(str(path))
        asking.request("POST", f"/pause-read?connection={connection}&ms={for_ms}")
        assert asking.getresponse().status == 200
        asking.close()


@pytest.mark.nightly
def test_an_agent_stops_reading_and_goes_on(start: Start, tmp_path: Path) -> None:
    run = start(*SHORT)
    run.await_transfer()
    pause_reading(tmp_path, 2000)
    code, out, err = run.end()
    assert code in (0, 1), out + err
    payload, database = verdict_of(tmp_path)["checks"][-2:]
    assert (payload["judge"], payload["status"]) == ("payload_intact", "pass"), payload
    assert (database["judge"], database["status"]) == ("points_stored", "pass"), database
    arrived = [
        (point["time"], point["fields"]["bytes"])
        for point in kept(tmp_path)
        if point["measurement"] == "ncp_session" and point["tags"]["role"] == "receiver"
    ]
    grown = [time_ns for (time_ns, now), (_, before) in zip(arrived[1:], arrived, strict=False) if now > before]
    grown = [arrived[0][0], *grown, arrived[-1][0]]  # it may stop before the first sample, or until the last
    assert max(later - earlier for earlier, later in itertools.pairwise(grown)) > 1.5e9, "it did stop"


@pytest.mark.nightly
def test_an_agent_stops_reading_for_good(start: Start, tmp_path: Path) -> None:
    run = start(*SHORT, "--set", "transfer_time=10s")
    run.await_transfer()
    pause_reading(tmp_path, 600_000)
    broke_down(run, tmp_path, "the transfer is not over after 4", "it was stopped")


@pytest.mark.nightly
def test_a_link_is_removed_by_hand(start: Start, tmp_path: Path) -> None:
    run = start(*SHORT)
    run.await_transfer()
    subprocess.run(["ip", "-n", namespace(tmp_path), "link", "delete", "l1a"], check=True)
    broke_down(run, tmp_path, "link relay ended with 1: ncp-link: link fast: interface l1a is gone", word="untrusted")


HOG = """
import pathlib, os, sys
pathlib.Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
taken = b"x" * (16 << 20)
sys.stdin.read()
"""
"""Takes half of the agent's memory. The kernel ends who has most, so it takes several, none of which has."""


def memory_group(pid: int) -> Path:
    """The control group that limits a process's memory."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return Path("/sys/fs/cgroup/memory") / path.lstrip("/")
        if number == "0" and not controllers and Path("/sys/fs/cgroup/cgroup.controllers").exists():
            return Path("/sys/fs/cgroup") / path.lstrip("/")
    raise AssertionError("no control group")


@pytest.mark.nightly
def test_an_agent_runs_out_of_memory(start: Start, tmp_path: Path) -> None:
    run = start(*(word if word != "process" else "docker" for word in SHORT))
    run.await_transfer()
    sender = next(container for container in agent_containers() if container.name.endswith("-s1-sender"))
    sender.update(mem_limit="32m", memswap_limit="32m")
    pid = sender.attrs["State"]["Pid"]
    Path(f"/proc/{pid}/oom_score_adj").write_text("1000")  # it is the one to be ended
    command = [sys.executable, "-c", HOG, str(memory_group(pid))]
    hogs = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(4)]
    try:
        broke_down(run, tmp_path, "agent s1-sender on h1 ended with 137: out of memory (limit 32 MiB)")
    finally:
        for hog in hogs:
            hog.kill()
            hog.communicate()


@contextmanager
def own_database(environment: dict[str, str]) -> Iterator[Endpoint]:
    """A server that only this test has; the run is told of it."""
    endpoint = influx.ensure()
    environment.update({name: value for name, value in os.environ.items() if name.startswith("NCP_TESTBED_INFLUX")})
    environment["NCP_TESTBED_STATE"] = os.environ["NCP_TESTBED_STATE"]
    yield endpoint


@contextmanager
def held_up(pid: int, *, for_s: float, of_s: float) -> Iterator[None]:
    """A process that stands still for a part of the time."""
    process, over = psutil.Process(pid), threading.Event()

    def hold_up() -> None:
        while not over.wait(of_s - for_s):
            process.suspend()
            over.wait(for_s)
            process.resume()

    thread = threading.Thread(target=hold_up)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.nightly
def test_influxdb_is_slow(influx_state: Path, environment: dict[str, str], start: Start, tmp_path: Path) -> None:
    with own_database(environment):
        run = start(*SHORT)
        run.await_transfer()
        pid = influx.status().pid
        assert pid is not None
        with held_up(pid, for_s=1.6, of_s=2.0):
            code, out, err = run.end()
    assert code in (0, 1), out + err
    verdict = verdict_of(tmp_path)
    database = verdict["checks"][-1]
    assert (verdict["broken"], database["judge"], database["status"]) == (None, "points_stored", "pass"), out + err
    assert f"{len(kept(tmp_path)):,} points in telemetry.lp" in database["reason"]


@pytest.mark.nightly
def test_influxdb_hangs_for_good(influx_state: Path, environment: dict[str, str], start: Start, tmp_path: Path) -> None:
    with own_database(environment):
        run = start(*SHORT)
        run.await_transfer()
        process = psutil.Process(influx.status().pid)
        process.suspend()
        try:
            # Its limit is that of a query, and it is asked twice.
            broke_down(run, tmp_path, "InfluxDB at http://127.0.0.1:", "does not answer", timeout_s=200)
        finally:
            process.resume()


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of its own, in memory."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3g,mode=755", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resize(disk: Path, more_bytes: int) -> None:
    """So much is free of it from now on."""
    size = shutil.disk_usage(disk).used + more_bytes
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def test_the_result_disk_is_full(start: Start, tmp_path: Path) -> None:
    with small_disk(tmp_path / "results") as disk:
        run = start(*SHORT)
        run.await_transfer()
        resize(disk, 256 << 10)
        code, out, err = run.end()
        assert code in (1, 4), out + err
        assert "No space left on device" in err + out or "no space left on device" in err + out
        assert "NCP_TESTBED_RESULTS moves them" in err
        assert "Traceback" not in out + err
        assert not out.rstrip().splitlines() or not out.splitlines()[-1].startswith("PASS")
        spools = list((result_folder(tmp_path) / "spools").rglob("*.lp"))
        assert any("ncp_connection" in spool.read_text() for spool in spools), "what was written before is kept"
        assert "spools" in err


@pytest.mark.nightly
def test_influxdbs_disk_is_full(influx_state: Path, environment: dict[str, str], start: Start, tmp_path: Path) -> None:
    with small_disk(influx_state) as disk, own_database(environment):
        run = start(*SHORT)
        run.await_transfer()
        resize(disk, 64 << 10)
        code, out, err = run.end()
        assert code == 1, out + err
        assert kept(tmp_path)
        resize(disk, 1 << 30)
        influx.stop()


STEPPED = """
import pathlib, time
stepped, here = pathlib.Path({file!r}), {{name: getattr(time, name) for name in ("time", "time_ns")}}
time.time = lambda: here["time"]() + 3600 * stepped.exists()
time.time_ns = lambda: here["time_ns"]() + 3600 * 10**9 * stepped.exists()
"""


@pytest.mark.nightly
def test_the_clock_is_stepped(start: Start, environment: dict[str, str], tmp_path: Path) -> None:
    """That of the runner alone: this machine's is others' as well."""
    stepped = tmp_path / "stepped"
    (tmp_path / "sitecustomize.py").write_text(STEPPED.format(file=str(stepped)))
    environment["PYTHONPATH"] = str(tmp_path)
    run = start(*SHORT)
    run.await_transfer()
    stepped.touch()
    code, out, err = run.end()
    assert code == 3, out + err
    assert "this machine's clock was set forward by 3600.0 s during the run" in out
    assert verdict_of(tmp_path)["verdict"] == "untrusted"


@pytest.mark.nightly
def test_grafana_is_gone(start: Start, environment: dict[str, str], tmp_path: Path) -> None:
    environment["NCP_TESTBED_GRAFANA_URL"] = "http://127.0.0.1:1"
    run = start(*SHORT)
    code, out, err = run.end()
    assert code in (0, 1), out + err
    assert verdict_of(tmp_path)["broken"] is None


@contextmanager
def own_engine(folder: Path) -> Iterator[Callable[[], None]]:
    """A Docker engine of the test's own; calling what is yielded restarts it."""
    log = (folder / "log").open("ab")
    command = [
        # In a network namespace of its own: it would take the machine's bridge for its to remove.
        *("unshare", "--net", "--", "dockerd", "--host", f"unix://{folder}/sock", "--pidfile", f"{folder}/pid"),
        *("--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"),
        *("--bridge", "none", "--iptables=false", "--ip6tables=false"),
    ]
    engine: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        engine.append(subprocess.Popen(command, stdout=log, stderr=log))
        deadline = time.monotonic() + 60
        while subprocess.run(["docker", "version"], capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.1)

    def restart() -> None:
        engine[-1].terminate()
        engine[-1].wait(60)
        begin()

    try:
        begin()
        yield restart
    finally:
        engine[-1].terminate()
        engine[-1].wait(60)
        log.close()


@pytest.mark.nightly
def test_the_docker_engine_is_restarted(
    start: Start,
    run_sh: Callable[..., subprocess.CompletedProcess[str]],
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="ncp-testbed-test-"))
    environment["DOCKER_HOST"] = f"unix://{folder}/sock"
    monkeypatch.setenv("DOCKER_HOST", environment["DOCKER_HOST"])
    with own_engine(folder) as restart:
        run = start(*(word if word != "process" else "docker" for word in SHORT))
        run.await_transfer()
        restart()
        code, out, err = run.end()
        assert code == 1, out + err
        assert "Traceback" not in out + err
        assert "agent s1-" in err
        assert kept(tmp_path)
        assert run_sh("clean").returncode == 0
        assert agent_containers() == []
    shutil.rmtree(folder, ignore_errors=True)
