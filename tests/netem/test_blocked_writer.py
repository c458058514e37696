"""What the guest's kernel holds in sockets: what a stopped writer finds when it goes on, what a paused reader has."""

import os
import subprocess
from pathlib import Path

import pytest

from testbed import paths
from testbed.engines.vkernel import guest
from testbed.engines.vkernel.guest import Mount
from testbed.machine import build
from testbed.machine.guest_kernel import Kernel
from tests.conftest import GUEST_LIMIT_S

TESTS = ("TestBlockedWriterIsWokenAsTheModelHasIt", "TestPausedReaderHoldsWhatTheSimulatorsDoes")


@pytest.fixture(scope="session")
def tests_of_the_agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("go")
    subprocess.run(
        [build.go_tool(), "test", "-c", "-o", str(folder / "drive.test"), "./ncp-agent/endpoint"],
        cwd=paths.CHECKOUT,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
        check=True,
    )
    return folder


def test_the_kernels_sockets_are_the_simulators(exact_kernel: Kernel, tests_of_the_agent: Path, tmp_path: Path) -> None:
    ended = guest.boot(
        exact_kernel,
        tmp_path / "job",
        f"{guest.ENVIRONMENT} /tests/drive.test -test.v -test.run '{'|'.join(TESTS)}'",
        out=tmp_path / "out",
        seed=1,
        limit_s=GUEST_LIMIT_S,
        checkout=[guest.WHOLE_CHECKOUT, Mount(tests_of_the_agent, Path("/tests"))],
    )
    said = (tmp_path / "job" / "stdout").read_text()
    assert ended.code == 0, said
    assert all(f"--- PASS: {test}" in said for test in TESTS), said
