"""The guest's kernel is killed in mid-run: the run ends, as FAIL, and says which log tells more."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from testbed import paths
from testbed.machine.guest_kernel import Kernel
from tests.conftest import GUEST_LIMIT_S


def test_the_guest_kernel_is_killed(exact_kernel: Kernel, tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "testbed", "startup", "--quick", "--engine", "vkernel"],
        cwd=paths.CHECKOUT,
        env={**os.environ, "NCP_TESTBED_RESULTS": str(tmp_path), "NCP_TESTBED_STATE": str(tmp_path / "state")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        guest = kernel_of(run, exact_kernel, tmp_path)
        time.sleep(1)
        its_own = guest.children(recursive=True)
        guest.kill()
        out, err = run.communicate(timeout=120)
    finally:
        run.kill()
        run.wait()
    folder = (tmp_path / "startup" / "latest").resolve()
    assert run.returncode == 1, out + err
    assert out.splitlines()[-1] == f"FAIL startup {folder.name}"
    assert f"the guest ended before its command did; see {folder}/logs/guest/kernel.log" in err
    assert "Traceback" not in out + err
    _, alive = psutil.wait_procs(its_own, timeout=10)
    assert not alive, "its processes end with it"


def kernel_of(run: subprocess.Popen[str], kernel: Kernel, results: Path) -> psutil.Process:
    """The guest that a run has started for its job in a result folder, not to compile Python; waits for it."""
    deadline = time.monotonic() + GUEST_LIMIT_S / 2
    while time.monotonic() < deadline and run.poll() is None:
        for process in psutil.Process(run.pid).children(recursive=True):
            with suppress(psutil.Error):  # it has ended
                if process.exe() == str(kernel.program.resolve()) and results in Path(process.cwd()).parents:
                    return process
        time.sleep(0.05)
    run.kill()
    raise AssertionError(f"no guest: {run.communicate()}")
