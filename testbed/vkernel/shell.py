"""A shell in a guest, on this terminal."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from testbed.vkernel import guest
from testbed.vkernel.kernel import Kernel

SEED = 1
LIMIT_S = 24 * 3600.0


def open_shell(kernel: Kernel, command: str) -> int:
    """A shell, or one command, as root in a guest; returns its exit code."""
    folder = Path(tempfile.mkdtemp(prefix="ncp-guest-shell-"))
    out, job = folder / "out", folder / "job"
    out.mkdir()
    time = "virtual" if kernel.exact else "real"
    print(f"guest kernel in {time} time; /checkout is this checkout, /out is {out}")
    if not command:
        print("the prompt's clock stands still while nothing runs; exit ends the guest")
        guest.prepare(
            job, guest.ENVIRONMENT + " bash --norc -i </dev/tty0 >/dev/tty0 2>&1", guest.mounts(job, out)
        )
        with guest.memory_folder() as memory:
            return subprocess.run(
                guest.kernel_command(kernel, SEED, console="con0=fd:0,fd:1 con=null"),
                cwd=job, env=guest.environment(kernel, memory), check=False,
            ).returncode  # fmt: skip
    ended = guest.boot(
        kernel, job, guest.ENVIRONMENT + " bash -c " + _quoted(command), out=out, seed=SEED, limit_s=LIMIT_S
    )
    print((job / "stdout").read_text(errors="replace"), end="")
    print((job / "stderr").read_text(errors="replace"), end="")
    print(f"{ended.uptime_s:.2f} s of {time} time in {ended.wall_s:.2f} s")
    return ended.code


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
