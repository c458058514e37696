"""What the guest loads of Python, compiled in a guest: so that no path of this machine is in it.

A compiled file carries the path of its source. Of another length it takes other memory, and the system calls that
get it take time.
"""

from __future__ import annotations

from pathlib import Path

from testbed.engines.vkernel import checkout, guest
from testbed.errors import RunFailed
from testbed.machine.guest_kernel import Kernel

INSIDE = Path("/pycache")
LIMIT_S = 600.0


def compiled(chosen: Kernel) -> Path:
    """The folder for :data:`INSIDE`, made when a source has changed; raises :class:`RunFailed`."""
    with checkout.cache_folder("python", checkout.digest()) as (folder, made):
        if made:
            _compile(chosen, made)
    return folder


def _compile(chosen: Kernel, out: Path) -> None:
    job = out.parent / "job"
    job.mkdir()
    command = (
        f"{guest.ENVIRONMENT} PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=/out "
        "/checkout/.venv/bin/python -c 'from testbed.engines.vkernel import inside; inside.preload()'"
    )
    ended = guest.boot(chosen, job, command, out=out, seed=1, limit_s=LIMIT_S, checkout=checkout.mounts())
    if ended.code:
        raise RunFailed(
            "vkernel.runner-not-loaded",
            "the guest can't load the runner: {said}",
            said=(job / "stderr").read_text()[-300:],
        )
