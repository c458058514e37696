"""The files of an image, unpacked once: they are the root of what its program sees, on every engine alike."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from testbed.plan.model import Plan

PLACES = ("in", "out", "proc", "dev", "tmp")
"""What is put there of the machine's, or made."""


def unpacked(plan: Plan) -> Path:
    """Where the files are; the Docker engine is asked for them if they are not there yet."""
    folder = Path(plan["program"]["folder"])
    if folder.is_dir():
        return folder
    import docker

    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch, "made")
        made.mkdir()
        client = docker.from_env()
        try:
            container = client.containers.create(plan["program"]["sha256"])
            try:
                with tempfile.TemporaryFile() as exported:
                    chunks: Any = container.export()
                    exported.writelines(chunks)
                    exported.seek(0)
                    _extract(exported, made)
            finally:
                container.remove(force=True)
        finally:
            client.close()
        for name in PLACES:
            (made / name).mkdir(exist_ok=True)
        made.chmod(0o755)
        made.rename(folder)
    return folder


def _extract(exported: IO[bytes], into: Path) -> None:
    """Nothing lands elsewhere, whatever links the image has, and no file of it gives anybody a right."""

    def files(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
        for member in archive:
            if not (member.isdev() or member.isfifo()):
                yield member

    with tarfile.open(fileobj=exported) as archive:
        options: Any = {"filter": "tar"}
        archive.extractall(into, members=files(archive), numeric_owner=True, **options)
