"""What a guest loads of this checkout, in folders of its own: Python's sources and packages of the testbed.

A program that looks through a folder takes memory for each name in it, and the system calls that get it take time.
So a guest sees neither what else lies about in the checkout (results, compiled files, tools for tests) nor anything
of where it is: the same commit is the same to it in every clone.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name

from testbed import paths
from testbed.engines.vkernel import guest
from testbed.engines.vkernel.guest import Mount
from testbed.machine import guest_kernel as kernel
from testbed.machine import packages

SOURCES = ("collectors", "testbed", "topologies")
GROUP = "testbed"
"""Of dependencies: the packages that a guest sees."""
BESIDE_THE_GROUP = ("setuptools",)
"""Of the virtual environment itself; Mininet asks it for versions."""
KEPT_DAYS = 14
"""How long a folder that is not used stays in the cache."""


def mounts() -> list[Mount]:
    """The checkout as a guest sees it."""
    site = site_packages().relative_to(paths.CHECKOUT)
    return [
        Mount(_cached("checkout", _sources_digest(), _copy_sources), guest.CHECKOUT),
        Mount(paths.BINARIES, guest.CHECKOUT / paths.BINARIES.relative_to(paths.CHECKOUT)),
        Mount(_cached("packages", _packages_digest(), _link_packages), guest.CHECKOUT / site),
    ]


def digest() -> str:
    """Changes with every source and package that a guest may load, and with nothing else."""
    both = f"{_sources_digest()} {_packages_digest()}"
    return hashlib.sha256(both.encode()).hexdigest()[:16]


def site_packages() -> Path:
    """Where this checkout's packages are installed."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return paths.CHECKOUT / ".venv" / "lib" / version / "site-packages"


@contextlib.contextmanager
def cache_folder(kind: str, identity: str) -> Iterator[tuple[Path, Path | None]]:
    """A folder of the cache and, if it is not there yet, a scratch folder whose ``made`` becomes it.

    One process at a time makes one. Folders of the same kind that nobody has used for :data:`KEPT_DAYS` go.
    """
    cached = kernel.own_cache() / "vkernel"
    folder = cached / f"{kind}-{identity}"
    cached.mkdir(parents=True, exist_ok=True)
    with (cached / f"{kind}.lock").open("a") as lock:
        if not folder.exists():
            fcntl.flock(lock, fcntl.LOCK_EX)  # several runs may have been begun at once
        if folder.exists():
            with contextlib.suppress(OSError):
                os.utime(folder)
            yield folder, None
            return
        with tempfile.TemporaryDirectory(dir=cached, prefix=f"{kind}.") as scratch:
            made = Path(scratch, "made")
            made.mkdir()
            yield folder, made
            made.chmod(0o755)
            made.rename(folder)
        for old in cached.glob(f"{kind}-*"):
            if old.stat().st_mtime < time.time() - KEPT_DAYS * 86400:
                shutil.rmtree(old, ignore_errors=True)


def _cached(kind: str, identity: str, make: Callable[[Path], None]) -> Path:
    with cache_folder(kind, identity) as (folder, made):
        if made:
            make(made)
    return folder


def _sources() -> list[Path]:
    return [path for name in SOURCES for path in sorted(paths.of_checkout(name).rglob("*.py"))]


@cache
def _sources_digest() -> str:
    found = hashlib.sha256(f"{platform.python_version()} {_settings()}".encode())
    for path in _sources():
        name = str(path.relative_to(paths.CHECKOUT)).encode()
        found.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def _copy_sources(target: Path) -> None:
    for source in _sources():
        copy = target / source.relative_to(paths.CHECKOUT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        os.utime(copy, (0, 0))  # compiled files keep it
    environment = target / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to((paths.CHECKOUT / ".venv" / "bin" / "python").resolve())
    (environment / "pyvenv.cfg").write_text(_settings())
    for place in (paths.BINARIES, site_packages()):
        (target / place.relative_to(paths.CHECKOUT)).mkdir(parents=True)


def _settings() -> str:
    """The virtual environment's, without the command that made it, which names the checkout's folder."""
    lines = (paths.CHECKOUT / ".venv" / "pyvenv.cfg").read_text().splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("command"))


@cache
def _distributions() -> tuple[metadata.Distribution, ...]:
    """What is installed of the group, by name."""
    wanted = {canonicalize_name(line.split("==")[0]) for line in packages.export(GROUP).splitlines()}
    wanted |= set(map(canonicalize_name, BESIDE_THE_GROUP))
    there = {
        canonicalize_name(one.metadata["Name"]): one for one in metadata.distributions(path=[str(site_packages())])
    }
    return tuple(there[name] for name in sorted(wanted & there.keys()))


@cache
def _packages_digest() -> str:
    versions = ", ".join(f"{one.metadata['Name']} {one.version}" for one in _distributions())
    return hashlib.sha256(f"{platform.python_version()} {versions}".encode()).hexdigest()[:16]


def _link_packages(target: Path) -> None:
    """Links, as they are some hundred megabytes; copies where the cache is on another file system."""
    site = site_packages()
    for distribution in _distributions():
        for file in distribution.files or ():
            source = site / file
            if "__pycache__" in file.parts or ".." in file.parts or not source.is_file():
                continue
            link = target / file
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, link)
            except OSError:
                shutil.copy2(source, link)
