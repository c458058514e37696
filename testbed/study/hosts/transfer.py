"""Serialisation of runs and results. Paths below checkout and results are relative, as both are elsewhere on hosts."""

from __future__ import annotations

import hashlib
import io
import pickle
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import paths

RUN = "plan.json"
"""A folder with this file is a run's: it is replaced as a whole."""


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        for name, root in _roots().items() if isinstance(obj, Path) else ():
            if obj.is_relative_to(root):
                return _path, (name, str(obj.relative_to(root)))
        return NotImplemented


def _roots() -> dict[str, Path]:
    return {"results": paths.results(), "checkout": paths.CHECKOUT}


def _path(root: str, relative: str) -> Path:
    return _roots()[root] / relative


def dumps(value: Any) -> bytes:
    """Pickle a value, with paths relative to results and checkout."""
    file = io.BytesIO()
    _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


def loads(data: bytes) -> Any:
    """Unpickle a value, with paths in the results and the checkout of this process."""
    return pickle.loads(data)


class Damaged(Exception):
    """Data that is not as it was sent."""


@dataclass(frozen=True)
class Packed:
    """Bytes with their SHA-256 at the sender."""

    body: bytes
    sha256: str

    @classmethod
    def of(cls, body: bytes) -> Packed:
        """Computes the SHA-256."""
        return cls(body, hashlib.sha256(body).hexdigest())

    def checked(self) -> bytes:
        """The bytes; raises :class:`Damaged` where their SHA-256 is another."""
        found = hashlib.sha256(self.body).hexdigest()
        if found != self.sha256:
            raise Damaged(f"{len(self.body)} bytes with SHA-256 {found[:12]}…, not {self.sha256[:12]}…")
        return self.body


def pack(folder: Path) -> bytes:
    """Packs the contents of a folder."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as tar:
        tar.add(folder, arcname=".")
    return file.getvalue()


def unpack(data: bytes, into: Path) -> None:
    """Place each run's folder whole or not at all, in place of one of its name."""
    into.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=into, prefix=".arriving-") as folder,
        tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar,
    ):
        for member in tar.getmembers():  # folders, files, and links like ``latest``
            is_sibling = member.issym() and "/" not in member.linkname and member.linkname not in ("", ".", "..")
            is_inside = not member.name.startswith("/") and ".." not in Path(member.name).parts
            if not (is_inside and (member.isdir() or member.isreg() or is_sibling)):
                raise Damaged(f"{member.name}: not a file of a run")
        tar.extractall(folder)
        _merge(Path(folder), into)


def _merge(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir()):
        there = target / entry.name
        if entry.is_symlink() or not entry.is_dir():
            entry.replace(there)
        elif there.exists() and not (entry / RUN).exists():
            _merge(entry, there)
        else:
            shutil.rmtree(there, ignore_errors=True)
            entry.rename(there)
