"""A real InfluxDB 1.x for tests that need one: started on loopback, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import Endpoint, Login
from tests.ports import held_port


@pytest.fixture(autouse=True)
def checks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans and telemetry of these tests have what their check looks at, and not all evidence of a run."""
    monkeypatch.setattr("testbed.judge.trust.coverage.of_run", lambda _: [])


@pytest.fixture(scope="session")
def influx(tmp_path_factory):
    """A client of an empty server's database ``ncp_testbed``."""
    yield from server(tmp_path_factory)


def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """An empty server with the database ``ncp_testbed``, until the caller is done with it."""
    if shutil.which("influxd") is None:
        pytest.skip("influxd is not installed")
    folder = tmp_path_factory.mktemp("influxdb")
    with ExitStack() as ports:
        yield from _started(folder, *(ports.enter_context(held_port()) for _ in range(2)))


def _started(folder: Path, http: int, rpc: int) -> Iterator[Client]:
    environment = {
        **os.environ,
        "INFLUXDB_HTTP_BIND_ADDRESS": f"127.0.0.1:{http}",
        "INFLUXDB_BIND_ADDRESS": f"127.0.0.1:{rpc}",
        "INFLUXDB_META_DIR": str(folder / "meta"),
        "INFLUXDB_DATA_DIR": str(folder / "data"),
        "INFLUXDB_DATA_WAL_DIR": str(folder / "wal"),
        "INFLUXDB_REPORTING_DISABLED": "true",
        "INFLUXDB_MONITOR_STORE_ENABLED": "false",
    }
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(["influxd", "-config", os.devnull], env=environment, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{http}"
            _wait_until_up(url, server, folder / "log")
            requests.post(f"{url}/query", {"q": 'CREATE DATABASE "ncp_testbed"'}, timeout=10).raise_for_status()
            nobody = Login("", "")
            with Client(Endpoint(url, "ncp_testbed", {"admin": nobody}), "admin") as client:
                yield client
        finally:
            server.terminate()
            server.wait(timeout=20)


def _wait_until_up(url, server, log) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            requests.get(f"{url}/ping", timeout=1)
            return
        except requests.ConnectionError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
    pytest.fail("influxd did not answer within 30 s:\n" + log.read_text())
