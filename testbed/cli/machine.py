"""``up`` and ``down``: the database, which otherwise starts with the first run and stays, and Grafana."""

from __future__ import annotations

import os

from testbed.errors import CannotRun
from testbed.machine import make_ready
from testbed.runtime.progress import Progress
from testbed.services import compose
from testbed.services.influx import server


def up() -> None:
    """Start InfluxDB (a run does so by itself), and Grafana if its image is available."""
    _need_root()
    make_ready(Progress(), "up")
    endpoint = server.ensure()
    print(f"InfluxDB at {endpoint.url}")
    try:
        print(f"Grafana at {compose.start(endpoint)}")
    except compose.NoService as error:
        print(f"no Grafana: {error.message}. Everything else works without it.")


def down() -> None:
    """Stop the testbed's InfluxDB and Grafana; their data stays."""
    _need_root()
    if compose.stop():
        print("Grafana stopped")
    print("InfluxDB stopped" if server.stop() else "InfluxDB was not running")


def _need_root() -> None:
    if os.geteuid() != 0:
        raise CannotRun(
            "cli.database-needs-root",
            "the testbed's database runs under an account of its own, which needs root to start",
            "Use sudo.",
        )
