"""The checkout as a guest sees it: Python's sources and packages of the testbed, in folders of their own.

A program that looks through a folder takes memory for each name in it, and the system calls that get it take time.
So a guest sees neither other files of the checkout (results, compiled files, tools for tests) nor its place on this
machine: the same commit is the same to it in every clone.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name

from testbed import paths
from testbed.documents import whole
from testbed.engines.vkernel import guest
from testbed.engines.vkernel.guest import Mount
from testbed.errors import RunFailed
from testbed.machine import guest_kernel as kernel
from testbed.machine import packages
from testbed.machine.guest_kernel import Kernel
from testbed.plan.codes import KEPT, PEER
from testbed.runtime import lock

SOURCES = ("collectors", "testbed", "topologies")
GROUP = "testbed"
"""The group of dependencies that a guest sees."""
BESIDE_THE_GROUP = ("setuptools",)
"""Packages of the virtual environment itself, which Mininet needs for versions."""
KEPT_DAYS = 14
"""The days that an unused folder stays in the cache."""
PYTHON_CACHE = Path("/pycache")
"""The guest's folder of compiled Python."""
COMPILED_S = 600.0


def mounts() -> list[Mount]:
    """The folders of the checkout in a guest."""
    site = site_packages().relative_to(paths.CHECKOUT)
    return [
        Mount(cached("checkout", _sources_digest(), _copy_sources), guest.CHECKOUT),
        Mount(paths.BINARIES, guest.CHECKOUT / paths.BINARIES.relative_to(paths.CHECKOUT)),
        Mount(cached("packages", _packages_digest(), _link_packages), guest.CHECKOUT / site),
    ]


def compiled(chosen: Kernel) -> Mount:
    """All Python that a guest loads, compiled in a guest when a source has changed; raises :class:`RunFailed`.

    A compiled file has the path of its source. One of another length takes other memory, and the system calls that get
    it take time: no path of this machine may be in it.
    """
    return Mount(cached("python", digest(), lambda folder: _compile(chosen, folder)), PYTHON_CACHE)


def _compile(chosen: Kernel, out: Path) -> None:
    job = out.parent / "job"
    job.mkdir()
    command = (
        f"{guest.ENVIRONMENT} PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=/out "
        "/checkout/.venv/bin/python -c 'from testbed.engines.emulation import inside; inside.preload()'"
    )
    ended = guest.boot(chosen, job, command, out=out, seed=1, limit_s=COMPILED_S, checkout=mounts())
    if ended.code:
        said = (job / "stderr").read_text()[-300:]
        raise RunFailed("vkernel.runner-not-loaded", f"the guest can't load the runner: {said}")


def digest() -> str:
    """A digest of all sources and packages that a guest may load, and of nothing else."""
    both = f"{_sources_digest()} {_packages_digest()}"
    return hashlib.sha256(both.encode()).hexdigest()[:16]


def site_packages() -> Path:
    """The folder of this checkout's packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return paths.CHECKOUT / ".venv" / "lib" / version / "site-packages"


def cached(kind: str, identity: str, make: Callable[[Path], None]) -> Path:
    """A folder of the cache, filled by ``make`` if it is not there yet, by one process at a time. Folders of the same
    kind that nobody has used for :data:`KEPT_DAYS` go."""
    cached = kernel.own_cache() / "vkernel"
    folder = cached / f"{kind}-{identity}"
    cached.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        os.utime(folder)
        return folder
    with lock.held(cached / f"{kind}.lock", f"the guests' {kind}"):  # several runs may have been begun at once
        if folder.exists():
            return folder
        with whole(folder) as made:
            make(made)
        for old in cached.glob(f"{kind}-*"):
            if old.stat().st_mtime < time.time() - KEPT_DAYS * 86400:
                shutil.rmtree(old, ignore_errors=True)
    return folder


def _sources() -> Iterator[tuple[Path, Path]]:
    """The sources, each with its path in the checkout."""
    for name in SOURCES:
        for path in sorted(paths.of_checkout(name).rglob("*.py")):
            yield path, path.relative_to(paths.CHECKOUT)


@cache
def _sources_digest() -> str:
    found = hashlib.sha256(f"{platform.python_version()} {_settings()}".encode())
    for path, name in _sources():
        found.update(str(name).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


def _copy_sources(target: Path) -> None:
    for source, name in _sources():
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        os.utime(copy, (0, 0))  # compiled files keep it
    environment = target / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to((paths.CHECKOUT / ".venv" / "bin" / "python").resolve())
    (environment / "pyvenv.cfg").write_text(_settings())
    for place in (paths.BINARIES, site_packages(), paths.CHECKOUT / PEER, KEPT):
        (target / place.relative_to(paths.CHECKOUT)).mkdir(parents=True)


def _settings() -> str:
    """The settings of the virtual environment, without the command that made it, which names the checkout's folder."""
    lines = (paths.CHECKOUT / ".venv" / "pyvenv.cfg").read_text().splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("command"))


@cache
def _distributions() -> tuple[metadata.Distribution, ...]:
    """The installed packages of the group, by name."""
    names = {canonicalize_name(line.split("==")[0]) for line in packages.export(GROUP).splitlines()}
    names |= set(map(canonicalize_name, BESIDE_THE_GROUP))
    installed = metadata.distributions(path=[str(site_packages())])
    there = {canonicalize_name(one.metadata["Name"]): one for one in installed}
    return tuple(there[name] for name in sorted(names & there.keys()))


@cache
def _packages_digest() -> str:
    versions = ", ".join(f"{one.metadata['Name']} {one.version}" for one in _distributions())
    return hashlib.sha256(f"{platform.python_version()} {versions}".encode()).hexdigest()[:16]


def _link_packages(target: Path) -> None:
    """Link them, as they are some hundred megabytes; copy where the cache is on another file system."""
    site = site_packages()
    for file in (file for distribution in _distributions() for file in distribution.files or ()):
        source, link = site / file, target / file
        if "__pycache__" in file.parts or ".." in file.parts or not source.is_file():
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, link)
        except OSError:
            shutil.copy2(source, link)
