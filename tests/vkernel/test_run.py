"""Whole runs in a guest: the same bytes each time, whatever else the machine does and wherever it is."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.engines.engine import Options
from testbed.engines.vkernel.engine import ENGINE
from testbed.engines.vkernel.run import GuestRun, run_id
from testbed.errors import CannotRun
from testbed.interchange.traces.agree import disagreements
from testbed.machine.guest_kernel import Kernel
from tests.raises import raises


@contextmanager
def busy_machine() -> Iterator[None]:
    """Every core has something else to do."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def test_the_same_bytes_each_time(guest_run: Callable[..., GuestRun]) -> None:
    short = ("startup", "ncp.transfer=2MiB")  # a few seconds of transfer
    first = guest_run(*short, quick=True, results="first")
    with busy_machine():
        second = guest_run(*short, quick=True, results="second/deeper")
    another = guest_run(*short, quick=True, seed=7, results="another", traces={"qlog": True, "pcap": ["all"]})
    hashes = [hashlib.sha256((r.folder / "telemetry.lp").read_bytes()).hexdigest() for r in (first, second)]
    assert first.plan["run"] == second.plan["run"] != another.plan["run"]
    assert hashes[0] == hashes[1]
    for name in ("links.csv", "agents/s1-sender.json", "agents/s1-receiver.json"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes(), name
    one, other = ((r.folder / "agents" / "s1-receiver.json").read_text() for r in (first, another))
    assert json.loads(one)["sha256"] != json.loads(other)["sha256"]
    facts = json.loads((first.folder / "provenance.json").read_text())
    assert facts["engine"]["repeatable"] is True
    assert facts["engine"]["model"] == "network-only model: one core, CPU free"
    assert facts["guest"]["kernel"]["netem"] is True
    assert len(list((another.folder / "traces").iterdir())) == 6
    assert disagreements(another.folder) == []


def test_another_kernel_is_another_run(tmp_path: Path) -> None:
    plan: Any = {"run": "x", "namespace": "y", "seed": 1, "sessions": []}
    kernels = []
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        kernels.append(Kernel(tmp_path / name, exact=True))
    first, second = (run_id(plan, kernel) for kernel in kernels)
    assert first == run_id(plan | {"run": "z"}, kernels[0])
    assert first != second
    real = Kernel(tmp_path / "one", exact=False)
    assert run_id(plan, real) != run_id(plan, real), "where time is real no run is another one's repetition"


def test_what_has_no_end_where_the_cpu_is_free_is_refused() -> None:
    links = [{"name": "fast", "rate_bps": 0}, {"name": "slow", "rate_bps": 8}]
    checks = [{"name": "idle", "series": "host_cpu"}, {"name": "windows", "series": "window_packets"}]
    plan: Any = {"links": links, "checks": checks}
    assert ENGINE.unsupported(plan) == [
        "links.fast: it has no rate, and where the CPU is free it would be infinitely fast",
        "checks.idle: series host_cpu, and the CPU is free in the guest",
    ]


def test_containers_are_refused() -> None:
    ENGINE.refuse_options(Options())
    with raises(CannotRun, "vkernel.docker-given"):
        ENGINE.refuse_options(Options(runtime="docker"))
    with raises(CannotRun, "vkernel.relay-given"):
        ENGINE.refuse_options(Options(link="relay"))


def test_the_command_line_tells_what_was_asked_from_what_is_so_anyway(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "testbed", "startup", "--engine", "vkernel", "--runtime", "docker"]
    done = subprocess.run(command, cwd=paths.CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert "--runtime docker: the guest has no container engine" in done.stderr
