"""An image in a program's place: what the Docker engine says of it, for the plan."""

from __future__ import annotations

from typing import Any

from testbed import paths
from testbed.errors import BadInput, CannotRun

UNPACKED = paths.CHECKOUT / ".build" / "program-images"
"""Folders with the files of images, by the images' ids."""


def inspected(image: str, where: str) -> dict[str, Any]:
    """The plan's keys of an image: its entry point, its id, where its files will be; and its variables as
    ``image_environment``. Raises :class:`BadInput` for one
    that the engine has not, and :class:`CannotRun` where no engine answers."""
    import docker
    from docker.errors import DockerException, ImageNotFound

    try:
        client = docker.from_env()
        try:
            attributes = client.images.get(image).attrs
        finally:
            client.close()
    except ImageNotFound as error:
        raise BadInput(
            "program.no-image", f"{where}: program.image: there is no image {image!r} here; docker pull or build it"
        ) from error
    except DockerException as error:
        raise CannotRun(
            "program.no-docker", f"{where}: program.image: no Docker engine answers ({error})", "See ./run.sh doctor."
        ) from error
    config = attributes["Config"]
    command = [*(config.get("Entrypoint") or []), *(config.get("Cmd") or [])]
    if not command:
        raise BadInput(
            "program.no-entry-point",
            f"{where}: program.image: {image!r} has no entry point; that is the program that is started",
        )
    identity = str(attributes["Id"]).removeprefix("sha256:")
    return {
        "image": image,
        "command": command,
        "folder": str(UNPACKED / identity),
        "sha256": identity,
        "working_folder": config.get("WorkingDir") or "/",
        "image_environment": config.get("Env") or [],
    }
