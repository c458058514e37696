"""``.env``, from which docker-compose.yml takes passwords, ports and paths."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from testbed import paths
from testbed.services import grafana
from testbed.services.influx.endpoint import Login, Role
from testbed.services.influx.state import State

FILE = paths.CHECKOUT / ".env"

IMAGE = "grafana/grafana:9.3.16"
"""Grafana's where GRAFANA_IMAGE names no other, as in docker-compose.yml."""

PROJECT = "ncp-testbed"


def image() -> str:
    """Grafana's image."""
    return os.environ.get("GRAFANA_IMAGE", "") or IMAGE


def write(influx_url: str, logins: dict[Role, Login]) -> None:
    """Write ``.env`` for its owner only."""
    values = {
        "COMPOSE_PROJECT_NAME": PROJECT,
        "GRAFANA_IMAGE": image(),
        "NCP_TESTBED_INFLUX_URL": influx_url,
        "NCP_TESTBED_INFLUX_READER": logins["reader"].username,
        "NCP_TESTBED_INFLUX_READER_PASSWORD": logins["reader"].password,
        "NCP_TESTBED_GRAFANA_PORT": str(grafana.port()),
        "NCP_TESTBED_GRAFANA_PASSWORD": _grafana_password(State.here()),
        "NCP_TESTBED_RESULTS": str(paths.results().resolve()),
    }
    lines = ["# Written by `./run.sh up`; changes here are lost.", *(f"{k}={v}" for k, v in values.items())]
    _write_secret(FILE, "\n".join(lines) + "\n")


def _grafana_password(state: State) -> str:
    """Password of Grafana's administrator; stored beside InfluxDB's, since Grafana's volume is the machine's as
    well."""
    path = state.folder / "grafana-password"
    if not path.exists():
        _write_secret(path, secrets.token_urlsafe(24))
    return path.read_text()


def _write_secret(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
