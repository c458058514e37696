"""Runs Grafana, the service of docker-compose.yml, by ``docker compose`` or ``docker-compose``, whichever is there; its
passwords, ports and paths are in ``.env``."""

import os
import secrets
import shutil
import subprocess

from testbed import paths
from testbed.errors import CannotRun
from testbed.services import grafana
from testbed.services.influx.endpoint import Endpoint, answers_within, write_secret
from testbed.services.influx.state import State

ENVIRONMENT = paths.CHECKOUT / ".env"
IMAGE = "grafana/grafana:9.3.16"
"""Grafana's where GRAFANA_IMAGE names no other, as in docker-compose.yml."""
PROJECT = "ncp-testbed"

PULL_TIMEOUT_S = 600
START_TIMEOUT_S = 120
HEALTHY_TIMEOUT_S = 90.0


class NoService(CannotRun):
    """A service can't be had here; the text is one line that says why."""


def command() -> list[str]:
    """The command of compose on this machine; NoService if it has none."""
    for found in (["docker", "compose"], ["docker-compose"]):
        # Docker may be without its plugin.
        if shutil.which(found[0]) and not subprocess.run([*found, "version"], capture_output=True).returncode:
            return found
    raise NoService(
        "compose.not-installed", "neither `docker compose` nor `docker-compose` is installed (Debian: docker-compose)"
    )


def image() -> str:
    """Grafana's image."""
    return os.environ.get("GRAFANA_IMAGE", "") or IMAGE


def have_image() -> None:
    """Pull Grafana's image unless it is here; NoService if it can't be had."""
    if subprocess.run(["docker", "image", "inspect", image()], capture_output=True, check=False).returncode:
        print(f"pulling {image()} …", flush=True)
        _run(["docker", "pull", "--quiet", image()], PULL_TIMEOUT_S)


def write_environment(endpoint: Endpoint) -> None:
    """Write ``.env`` for its owner only."""
    # Stored beside InfluxDB's passwords, since Grafana's volume is the machine's as well.
    password = State.here().folder / "grafana-password"
    if not password.exists():
        write_secret(password, secrets.token_urlsafe(24))
    values = {
        "COMPOSE_PROJECT_NAME": PROJECT,
        "GRAFANA_IMAGE": image(),
        "NCP_TESTBED_INFLUX_URL": endpoint.url,
        "NCP_TESTBED_INFLUX_READER": endpoint.logins["reader"].username,
        "NCP_TESTBED_INFLUX_READER_PASSWORD": endpoint.logins["reader"].password,
        "NCP_TESTBED_GRAFANA_PORT": str(grafana.port()),
        "NCP_TESTBED_GRAFANA_PASSWORD": password.read_text(),
        "NCP_TESTBED_RESULTS": str(paths.results().resolve()),
    }
    lines = ["# Written by `./run.sh up`; changes here are lost.", *(f"{k}={v}" for k, v in values.items())]
    write_secret(ENVIRONMENT, "\n".join(lines) + "\n")


def start(endpoint: Endpoint) -> str:
    """Start it; its URL once it answers, or NoService if it can't be had or does not start."""
    State.here().folder.mkdir(parents=True, exist_ok=True)
    write_environment(endpoint)
    paths.results().mkdir(parents=True, exist_ok=True)
    compose = command()
    have_image()
    _run([*compose, "up", "--detach", "--no-build"], START_TIMEOUT_S)
    if not answers_within(HEALTHY_TIMEOUT_S, f"http://127.0.0.1:{grafana.port()}/api/health"):
        raise NoService("compose.not-healthy", f"it did not answer within {HEALTHY_TIMEOUT_S:.0f} s; see `docker logs`")
    return grafana.base_url()


def stop() -> bool:
    """Stop and remove its container, keeping its volume; False when there was none."""
    if not containers():
        return False
    _run([*command(), "down"], START_TIMEOUT_S)
    return True


def containers() -> list[str]:
    """Names of the project's running containers."""
    if not shutil.which("docker"):
        return []
    label = f"label=com.docker.compose.project={PROJECT}"
    requested = ["docker", "ps", "--format", "{{.Names}}", "--filter", label]
    done = subprocess.run(requested, capture_output=True, text=True, check=False)
    return done.stdout.split()


def _run(arguments: list[str], timeout_s: float) -> None:
    try:
        done = subprocess.run(
            arguments, cwd=paths.CHECKOUT, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise NoService("compose.timeout", f"`{' '.join(arguments)}` did not end within {timeout_s:.0f} s") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise NoService("compose.failed", f"`{' '.join(arguments)}` failed: {why}")
