"""What the guest loads of Python, compiled in a guest: so that no path of this machine is in it.

A compiled file carries the path of its source. Of another length it takes other memory, and the system calls that
get it take time.
"""

from __future__ import annotations

import fcntl
import hashlib
import platform
import tempfile
from pathlib import Path

from testbed import paths
from testbed.errors import RunFailed
from testbed.vkernel import guest, kernel
from testbed.vkernel.kernel import Kernel

INSIDE = Path("/pycache")
SOURCES = ("collectors", "testbed", "topologies")
LIMIT_S = 600.0


def compiled(chosen: Kernel) -> Path:
    """The folder for :data:`INSIDE`, made when a source has changed; raises :class:`RunFailed`."""
    folder = kernel.own_cache() / "vkernel" / f"python-{_digest()}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "python.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several runs may have been begun at once
        if not folder.exists():
            _compile(chosen, folder)
    return folder


def _compile(chosen: Kernel, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="python.") as scratch:
        job, out = Path(scratch, "job"), Path(scratch, "out")
        job.mkdir()
        out.mkdir()
        command = (
            f"{guest.ENVIRONMENT} PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=/out "
            "/checkout/.venv/bin/python -c 'from testbed.vkernel import inside; inside.preload()'"
        )
        ended = guest.boot(chosen, job, command, out=out, seed=1, limit_s=LIMIT_S)
        if ended.code:
            raise RunFailed(f"the guest can't load the runner: {(job / 'stderr').read_text()[-300:]}")
        out.chmod(0o755)
        out.rename(folder)


def _digest() -> str:
    """Changes with each source's size and time, which is what Python compares."""
    digest = hashlib.sha256(f"{paths.CHECKOUT}\0{platform.python_version()}".encode())
    stamp = paths.CHECKOUT / ".venv" / "stamp"
    files = [path for name in SOURCES for path in sorted((paths.CHECKOUT / name).rglob("*.py"))]
    for path in (stamp, *files):
        if path.exists():
            facts = path.stat()
            digest.update(f"{path}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]
