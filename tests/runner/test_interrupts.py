"""Signals end a run where it works, and not where it is taken down."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import paths
from testbed.cli.outcome import ended_early
from testbed.runtime.interrupts import SIGNALS, Interrupted, interruptible, uninterruptible
from tests.raises import raises


@pytest.fixture(autouse=True)
def handlers_as_before() -> Iterator[None]:
    # As a terminal leaves them: under nohup, SIGHUP would be ignored.
    found = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    after = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGHUP, found)
    assert after == before


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_each_signal_ends_the_work(number: signal.Signals) -> None:
    with raises(Interrupted, "run.stopped", signal=number.name), interruptible():
        os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_tearing_down_goes_on(number: signal.Signals) -> None:
    with interruptible(), uninterruptible():
        os.kill(os.getpid(), number)


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_last_line_says_interrupted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended_early(Interrupted("run.stopped", "stopped by SIGINT"), "startup x", tmp_path) == 130
    said = capsys.readouterr()
    assert said.out == "INTERRUPTED startup x\n"
    assert "stopped by SIGINT" in said.err


def test_a_stopped_run_in_virtual_time_promises_no_report(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "testbed", "startup", "--engine", "sim", "--set", "transfer=4GiB"]
    place = {**os.environ, "NCP_TESTBED_RESULTS": str(tmp_path)}
    run = subprocess.Popen(command, cwd=paths.CHECKOUT, env=place, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("startup/sim-*/telemetry.lp")):
        assert run.poll() is None
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 130
    assert "stopped by SIGINT" in said
    assert "begins anew: give the same command" in said
    assert "report draws it" not in said
