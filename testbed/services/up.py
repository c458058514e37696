"""Starts Grafana and waits until it answers."""

from __future__ import annotations

import time

import requests

from testbed import paths
from testbed.services import compose, environment, grafana
from testbed.services.influx.endpoint import Endpoint
from testbed.services.influx.state import State

HEALTHY_TIMEOUT_S = 90.0


def start_grafana(endpoint: Endpoint) -> str:
    """Grafana's URL, once it answers; NoService with the reason in one line if there is none."""
    State.here().folder.mkdir(parents=True, exist_ok=True)
    environment.write(endpoint.url, endpoint.logins)
    paths.results().mkdir(parents=True, exist_ok=True)
    compose.start()
    deadline = time.monotonic() + HEALTHY_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            if requests.get(f"http://127.0.0.1:{grafana.port()}/api/health", timeout=2).ok:
                return grafana.base_url()
        except requests.RequestException:
            pass
        time.sleep(0.5)
    raise compose.NoService(
        "compose.not-healthy",
        "it did not answer within {healthy_timeout_s:.0f} s; see `docker logs`",
        healthy_timeout_s=HEALTHY_TIMEOUT_S,
    )
