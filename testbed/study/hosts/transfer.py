"""Serialization of runs and results. Paths below checkout and results go by name, as they are elsewhere there."""

from __future__ import annotations

import hashlib
import io
import pickle
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import paths

RUN = "plan.json"
"""A folder with this file is a run's: it is replaced as a whole."""


def roots(results: Path) -> dict[str, Path]:
    """What each name stands for in this process."""
    return {"results": results, "checkout": paths.CHECKOUT}


class _Pickler(pickle.Pickler):
    roots: Mapping[str, Path]

    def persistent_id(self, obj: Any) -> tuple[str, str] | None:
        if isinstance(obj, Path):
            for name, root in self.roots.items():
                if obj.is_relative_to(root):
                    return name, str(obj.relative_to(root))
        return None


class _Unpickler(pickle.Unpickler):
    roots: Mapping[str, Path]

    def persistent_load(self, pid: tuple[str, str]) -> Path:
        return self.roots[pid[0]] / pid[1]


def dumps(value: Any, roots: Mapping[str, Path]) -> bytes:
    """Pickle a value, with paths below the roots by their names."""
    file = io.BytesIO()
    pickler = _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL)
    pickler.roots = roots
    pickler.dump(value)
    return file.getvalue()


def loads(data: bytes, roots: Mapping[str, Path]) -> Any:
    """Unpickle a value, with paths below the roots of this process."""
    unpickler = _Unpickler(io.BytesIO(data))
    unpickler.roots = roots
    return unpickler.load()


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
    """Place each run's folder whole or not at all, instead of one of its name."""
    if not data:
        return
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".arriving-") as folder:
        arriving = Path(folder)
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
            for member in tar.getmembers():
                _refuse_outside(member)
            tar.extractall(arriving)
        _merge(arriving, into)


def _refuse_outside(member: tarfile.TarInfo) -> None:
    """Raise Damaged but for folders, files, and links like ``latest``."""
    is_plain = member.isdir() or member.isreg()
    is_sibling = member.issym() and "/" not in member.linkname and member.linkname not in ("", ".", "..")
    if not (is_plain or is_sibling) or member.name.startswith("/") or ".." in Path(member.name).parts:
        raise Damaged(f"{member.name}: not a file of a run")


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
