"""A shell in a guest, on this terminal."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from testbed.engines.vkernel import guest
from testbed.errors import BadInput, RunFailed
from testbed.machine.guest_kernel import Kernel

SEED = 1
LIMIT_S = 24 * 3600.0
CODE = Path("exit-code")
"""In the job's folder, what the shell ended with: the kernel's own exit code is another."""


def open_shell(kernel: Kernel, command: str) -> int:
    """A shell, or one command, as root in a guest; returns its exit code."""
    folder = Path(tempfile.mkdtemp(prefix="ncp-guest-shell-"))
    out, job = folder / "out", folder / "job"
    out.mkdir()
    time = "virtual" if kernel.exact else "real"
    print(f"guest kernel in {time} time; /checkout is this checkout, /out is {out}", flush=True)
    if not command:
        return _interactive(kernel, job, out)
    ended = guest.boot(
        kernel, job, guest.ENVIRONMENT + " bash -c " + _quoted(command), out=out, seed=SEED, limit_s=LIMIT_S
    )
    print((job / "stdout").read_text(errors="replace"), end="")
    print((job / "stderr").read_text(errors="replace"), end="")
    print(f"{ended.uptime_s:.2f} s of {time} time in {ended.wall_s:.2f} s")
    return ended.code


def _interactive(kernel: Kernel, job: Path, out: Path) -> int:
    """The guest's console is this terminal, and the shell's own, so that Ctrl-C ends what runs in it."""
    if not sys.stdin.isatty():
        raise BadInput(
            "shell.no-terminal", "shell: this is not a terminal", "./run.sh shell -c 'COMMAND' runs a command."
        )
    leaps = "; while it waits its clock leaps on" if kernel.exact else ""
    print(f"Ctrl-C ends what runs, exit the guest{leaps}", flush=True)
    size = shutil.get_terminal_size()
    guest.prepare(
        job,
        f"stty rows {size.lines} cols {size.columns} </dev/tty0\n"
        + guest.ENVIRONMENT
        + " setsid --ctty --wait bash --norc -i </dev/tty0 >/dev/tty0 2>&1",
        guest.mounts(job, out),
    )
    with guest.memory_folder() as memory:
        subprocess.run(
            guest.kernel_command(kernel, SEED, "con0=fd:0,fd:1 con=null"),
            cwd=job,
            env=guest.environment(kernel, memory),
            check=False,
        )
    if not (job / CODE).exists():
        raise RunFailed("shell.guest-ended", "the guest ended before its shell did; see {job}", job=job)
    return int((job / CODE).read_text())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
