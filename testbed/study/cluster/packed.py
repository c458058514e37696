"""What goes to a worker and comes back. Paths go by name, as the checkout and the results are elsewhere there."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import paths

CHECKOUT, RESULTS = "checkout", "results"
RUN = "plan.json"
"""A folder with this file is a run's: it is replaced as a whole."""


def places(results: Path) -> dict[str, Path]:
    """What each name stands for in this process."""
    return {RESULTS: results, CHECKOUT: paths.CHECKOUT}


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, roots: Mapping[str, Path]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.roots = roots

    def persistent_id(self, obj: Any) -> tuple[str, str] | None:
        if isinstance(obj, Path):
            for name, root in self.roots.items():
                if obj.is_relative_to(root):
                    return name, str(obj.relative_to(root))
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, roots: Mapping[str, Path]) -> None:
        super().__init__(file)
        self.roots = roots

    def persistent_load(self, pid: tuple[str, str]) -> Path:
        name, path = pid
        return self.roots[name] / path


def dumps(thing: Any, roots: Mapping[str, Path]) -> bytes:
    """Pickled, with paths below the roots by their names."""
    file = io.BytesIO()
    _Pickler(file, roots).dump(thing)
    return file.getvalue()


def loads(data: bytes, roots: Mapping[str, Path]) -> Any:
    """What was pickled, with paths below the roots of this process."""
    return _Unpickler(io.BytesIO(data), roots).load()


class Damaged(Exception):
    """What arrived is not what was sent."""


@dataclass(frozen=True)
class Packed:
    """Bytes with the SHA-256 that they had where they were packed."""

    body: bytes
    sha256: str

    @classmethod
    def of(cls, body: bytes) -> Packed:
        """Sealed."""
        return cls(body, hashlib.sha256(body).hexdigest())

    def checked(self) -> bytes:
        """The bytes; raises :class:`Damaged` where they are others."""
        found = hashlib.sha256(self.body).hexdigest()
        if found != self.sha256:
            raise Damaged(f"{len(self.body)} bytes with SHA-256 {found[:12]}…, not {self.sha256[:12]}…")
        return self.body


def pack(folder: Path) -> bytes:
    """All that is in a folder; b"" where there is nothing."""
    if not any(folder.iterdir()):
        return b""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as tar:
        tar.add(folder, arcname=".")
    return file.getvalue()


def unpack(data: bytes, into: Path) -> None:
    """Put it where it belongs: each run's folder whole or not at all, in place of one of its name."""
    if not data:
        return
    into.mkdir(parents=True, exist_ok=True)
    arriving = into / f".arriving-{os.getpid()}"
    shutil.rmtree(arriving, ignore_errors=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
            for member in tar.getmembers():
                _refuse_outside(member)
            tar.extractall(arriving)
        _merge(arriving, into)
    finally:
        shutil.rmtree(arriving, ignore_errors=True)


def _refuse_outside(member: tarfile.TarInfo) -> None:
    """Only folders, files, and links like ``latest``."""
    is_plain = (
        member.isdir()
        or member.isreg()
        or (member.issym() and "/" not in member.linkname and member.linkname not in ("", ".", ".."))
    )
    if not is_plain or member.name.startswith("/") or ".." in Path(member.name).parts:
        raise Damaged(f"{member.name}: not a file of a run")


def _merge(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir()):
        there = target / entry.name
        if entry.is_symlink() or not entry.is_dir():
            entry.replace(there)
        elif not there.exists():
            entry.rename(there)
        elif (entry / RUN).exists():
            shutil.rmtree(there)
            entry.rename(there)
        else:
            _merge(entry, there)
