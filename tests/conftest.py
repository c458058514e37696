"""What all tests share: tests marked ``emulation`` need root and are skipped, with that reason, without; and a real
InfluxDB of the test's own: a free port, a folder of its own, stopped at the end."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from testbed import influx

# Time is judged in benchmarks: a busy machine must not fail a property.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() == 0:
        return
    skip = pytest.mark.skip(reason="needs root, for network namespaces")
    for item in items:
        if "emulation" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
def endpoint(influx_state: Path) -> influx.Endpoint:
    """A running server."""
    return influx.ensure()
