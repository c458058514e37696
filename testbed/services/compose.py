"""Runs Grafana, the service of docker-compose.yml, by ``docker compose`` or ``docker-compose``, whichever is there."""

from __future__ import annotations

import shutil
import subprocess
import time

import requests

from testbed import paths
from testbed.errors import CannotRun
from testbed.services import environment, grafana
from testbed.services.influx.endpoint import Endpoint
from testbed.services.influx.state import State

PULL_TIMEOUT_S = 600
START_TIMEOUT_S = 120
HEALTHY_TIMEOUT_S = 90.0


class NoService(CannotRun):
    """A service can't be had here; the text is one line that says why."""


def command() -> list[str]:
    """The command of compose on this machine; NoService if it has none."""
    if shutil.which("docker"):
        plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        if plugin.returncode == 0:
            return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise NoService(
        "compose.not-installed", "neither `docker compose` nor `docker-compose` is installed (Debian: docker-compose)"
    )


def have_image() -> None:
    """Pull Grafana's image unless it is here; NoService if it can't be had."""
    image = environment.image()
    if subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode == 0:
        return
    print(f"pulling {image} …", flush=True)
    try:
        done = subprocess.run(
            ["docker", "pull", "--quiet", image], capture_output=True, text=True, timeout=PULL_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NoService(
            "compose.pull-timeout",
            "its image {image} was not here after {pull_timeout_s} s of pulling",
            image=image,
            pull_timeout_s=PULL_TIMEOUT_S,
        ) from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["docker pull failed"])[-1]
        raise NoService(
            "compose.no-image", "its image {image} can't be had: {why}", image=image, why=why.rsplit(": ", 1)[-1]
        )


def start(endpoint: Endpoint) -> str:
    """Start it; its URL once it answers, or NoService if it can't be had or does not start."""
    State.here().folder.mkdir(parents=True, exist_ok=True)
    environment.write(endpoint.url, endpoint.logins)
    paths.results().mkdir(parents=True, exist_ok=True)
    compose = command()
    have_image()
    _compose([*compose, "up", "--detach", "--no-build"])
    deadline = time.monotonic() + HEALTHY_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            if requests.get(f"http://127.0.0.1:{grafana.port()}/api/health", timeout=2).ok:
                return grafana.base_url()
        except requests.RequestException:
            pass
        time.sleep(0.5)
    raise NoService(
        "compose.not-healthy",
        "it did not answer within {healthy_timeout_s:.0f} s; see `docker logs`",
        healthy_timeout_s=HEALTHY_TIMEOUT_S,
    )


def stop() -> bool:
    """Stop and remove its container, keeping its volume; False when there was none."""
    if not containers():
        return False
    _compose([*command(), "down"])
    return True


def containers() -> list[str]:
    """Names of the project's running containers."""
    if not shutil.which("docker"):
        return []
    label = f"label=com.docker.compose.project={environment.PROJECT}"
    requested = ["docker", "ps", "--format", "{{.Names}}", "--filter", label]
    done = subprocess.run(requested, capture_output=True, text=True, check=False)
    return done.stdout.split()


def _compose(arguments: list[str]) -> None:
    try:
        done = subprocess.run(
            arguments, cwd=paths.CHECKOUT, capture_output=True, text=True, timeout=START_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise NoService(
            "compose.timeout",
            "`{command}` did not end within {timeout_s:.0f} s",
            command=" ".join(arguments),
            timeout_s=START_TIMEOUT_S,
        ) from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise NoService("compose.failed", "`{command}` failed: {why}", command=" ".join(arguments), why=why)
