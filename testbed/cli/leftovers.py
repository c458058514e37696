"""What killed runs left behind on this machine, removed before a run and by ``clean``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def docker_client() -> Any | None:
    """A client of the Docker engine, or None where none answers."""
    import docker
    from docker.errors import DockerException

    try:
        return docker.from_env(timeout=20)
    except DockerException:
        return None


def remove_leftovers(say: Callable[[str], None]) -> None:
    """Remove what killed runs left behind, and say so."""
    from testbed.runner import live

    for what in live.remove_leftovers(docker_client()):
        say(f"  left by a run that was killed: removed {what}")
