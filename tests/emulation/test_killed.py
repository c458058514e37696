"""A run that is ended at a random moment leaves the machine as it found it, and what others made on it alone.

What is expected: SIGINT and SIGTERM end it with 130 and INTERRUPTED, and nothing is left; after SIGKILL ``clean``
removes all of it; a second ``clean`` finds nothing.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from testbed import paths
from testbed.exit_codes import Exit
from testbed.runtime import lock
from testbed.runtime.ledger import NAME, RUN_VARIABLE
from tests.emulation.conftest import ON_ANY_MACHINE, Machine, Started, left_behind

pytestmark = pytest.mark.packets

Start = Callable[..., Started]
Call = Callable[..., subprocess.CompletedProcess[str]]

STEPS = ("build", "startup", "database", "network", "calibrate links", "agents ready", "transfer", "drain", "tear down")
"""What a run says that it has done, in order; it is ended some time after one of them."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
EACH_NIGHT = 50


def things() -> set[str]:
    """What a run could leave behind."""
    return Machine.now().things() | {
        *(f"namespace {path.name}" for path in Path("/run/netns").glob("*")),
        *(f"process {pid}" for pid in marked_processes()),
        *(str(path) for path in paths.live_runs().glob(f"*/{NAME}")),
        *(str(path) for path in Path("/tmp").glob("ncp-testbed-2*")),
    }


def marked_processes() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{RUN_VARIABLE}=".encode() in path.read_bytes():
                yield path.parent.name
        except OSError:
            continue


@pytest.fixture
def others(tmp_path: Path) -> Iterator[None]:
    """A namespace named as ours are, a bridge, a container and a Mininet host of somebody else's."""
    client = docker.from_env()
    images = [tag for image in client.images.list() for tag in image.tags if "ncp-agent" in tag]
    name = f"ncp-{os.getpid() % 10000:04d}"
    bridge = f"br-{os.getpid() % 10000}"
    host = subprocess.Popen(["unshare", "--net", "--", "sleep", "600"])
    subprocess.run(["ip", "netns", "add", name], check=True)
    subprocess.run(["ip", "link", "add", bridge, "type", "bridge"], check=True)
    container = client.containers.create(images[0], name=f"{name}-s1-sender", labels={"somebody": "else"})
    try:
        yield
        assert host.poll() is None
        assert (Path("/run/netns") / name).exists()
        assert (Path("/sys/class/net") / bridge).exists()
        container.reload()
    finally:
        container.remove(force=True)
        client.close()
        subprocess.run(["ip", "link", "delete", bridge], check=False)
        subprocess.run(["ip", "netns", "delete", name], check=False)
        host.kill()
        host.wait()


def await_step(run: Started, name: str) -> None:
    """Until the run says that it is over, or has ended."""
    assert run.process.stderr is not None
    for line in run.process.stderr:
        if line.strip().startswith(name):
            return


def end_at_a_random_moment(start: Start, run_sh: Call, number: signal.Signals, seed: int) -> None:
    moment = random.Random(f"{seed} {number.name}")
    step, later_s = moment.choice(STEPS), moment.uniform(0, 1.5)
    told = f"{number.name} {later_s:.3f} s after {step!r}"
    lock.wait_for_others(lambda _: None)
    run_sh("clean")
    before = things()
    run = start("startup", "--quick", "--set", "transfer=2MiB", *ON_ANY_MACHINE)
    await_step(run, step)
    time.sleep(later_s)
    done = run.process.poll() is not None
    if not done:
        run.signal(number)
    code, out, err = run.end()
    last = (out.splitlines() or [""])[-1]
    if number == signal.SIGKILL:
        assert run_sh("clean").returncode == Exit.PASS, told
    elif code == 130:
        assert last.startswith("INTERRUPTED"), f"{told}: {out}{err}"
    else:  # it was faster
        assert last.partition(" ")[0] in ("PASS", "FAIL", "UNTRUSTED"), f"{told}: {code} {out}{err}"
        assert code in (Exit.PASS, Exit.FAIL, Exit.UNTRUSTED), told
    assert left_behind(before, things) == set(), told
    assert run_sh("clean").stdout == "nothing to remove\n", told


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_run_ended_at_a_random_moment_leaves_nothing(start, run_sh, number) -> None:
    end_at_a_random_moment(start, run_sh, number, seed=1)


@pytest.mark.nightly
@pytest.mark.timeout(7200)
@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_fifty_random_moments(start, run_sh, number) -> None:
    for seed in range(2, 2 + EACH_NIGHT):
        end_at_a_random_moment(start, run_sh, number, seed)
