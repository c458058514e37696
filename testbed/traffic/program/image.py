"""The files of an image, unpacked once: they are the root of what its program sees, on every engine alike."""

import contextlib
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from testbed.documents import whole
from testbed.errors import RunFailed
from testbed.plan.model import Plan

PLACES = ("in", "out", "proc", "dev", "tmp")
"""Folders in an image that are the machine's, or are made."""


def unpacked(plan: Plan) -> Path:
    """The folder of its files; the Docker engine exports them if they are not there yet."""
    folder = Path(plan["program"]["folder"])
    if folder.is_dir():
        return folder
    import docker

    with whole(folder) as made, contextlib.closing(docker.from_env()) as client:
        container = client.containers.create(plan["program"]["sha256"])
        try:
            exported: Any = container.export()
            _extract(exported, made)
        finally:
            container.remove(force=True)
        for name in PLACES:
            (made / name).mkdir(exist_ok=True)
    return folder


def _extract(exported: Iterable[bytes], into: Path) -> None:
    """Unpack by GNU tar, which lets nothing land elsewhere, whatever links an image has. Devices are the machine's."""
    command = ["tar", "--extract", "--numeric-owner", "--exclude=dev/*", f"--directory={into}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as tar:
        assert tar.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it says why
            for chunk in exported:
                tar.stdin.write(chunk)
        said = tar.communicate()[1].decode(errors="replace").strip()
    if tar.returncode:
        raise RunFailed(
            "program.image-not-unpacked",
            f"the image can't be unpacked: {said.splitlines()[-1] if said else tar.returncode}",
        )
