"""What ``./run.sh up`` starts: InfluxDB, packaged or from an image, and Grafana where it can be had."""

from __future__ import annotations

import os
import shutil
import time

import requests

from testbed import paths
from testbed.influx import server
from testbed.influx import state as influx_state
from testbed.influx.endpoint import Endpoint, external
from testbed.influx.state import State
from testbed.services import compose, environment, grafana

HEALTHY_TIMEOUT_S = 90.0


def influxdb() -> Endpoint:
    """InfluxDB: the image that ``INFLUXDB_IMAGE`` names, else the machine's own package, else the default image."""
    if external() is None and (os.environ.get("INFLUXDB_IMAGE") or not shutil.which("influxd")):
        state, port = State.here(), influx_state.port()
        state.prepare(port)
        environment.write(f"http://127.0.0.1:{port}", state.logins())
        compose.have_image("influxdb")
        server.stop()
        compose.start("influxdb")
    return server.ensure()


def start_grafana(endpoint: Endpoint) -> str:
    """Grafana's URL, once it answers; NoService with the reason in one line if there is none."""
    State.here().folder.mkdir(parents=True, exist_ok=True)
    environment.write(endpoint.url, endpoint.logins)
    paths.results().mkdir(parents=True, exist_ok=True)
    compose.start("grafana")
    deadline = time.monotonic() + HEALTHY_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            if requests.get(f"http://127.0.0.1:{grafana.port()}/api/health", timeout=2).ok:
                return grafana.base_url()
        except requests.RequestException:
            pass
        time.sleep(0.5)
    raise compose.NoService(f"it did not answer within {HEALTHY_TIMEOUT_S:.0f} s; see `docker logs`")
