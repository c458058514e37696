"""Opens a shell in a guest, on this terminal."""

from __future__ import annotations

import shlex
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


def open_shell(kernel: Kernel, command: str) -> int:
    """A shell, or one command, as root in a guest; returns its exit code."""
    folder = Path(tempfile.mkdtemp(prefix="ncp-guest-shell-"))
    out, job = folder / "out", folder / "job"
    out.mkdir()
    time = "virtual" if kernel.exact else "real"
    print(f"guest kernel in {time} time; /checkout is this checkout, /out is {out}", flush=True)
    if not command:
        return _interactive(kernel, job, out)
    line = f"{guest.ENVIRONMENT} bash -c {shlex.quote(command)}"
    ended = guest.boot(kernel, job, line, out=out, seed=SEED, limit_s=LIMIT_S)
    for stream in ("stdout", "stderr"):
        print((job / stream).read_text(errors="replace"), end="")
    print(f"{ended.uptime_s:.2f} s of {time} time in {ended.wall_s:.2f} s")
    return ended.code


def _interactive(kernel: Kernel, job: Path, out: Path) -> int:
    """Give the guest this terminal as its console, and the shell's own, so that Ctrl-C ends the shell's command."""
    if not sys.stdin.isatty():
        raise BadInput(
            "shell.no-terminal", "shell: this is not a terminal", "./run.sh shell -c 'COMMAND' runs a command."
        )
    leaps = "; while it waits its clock leaps on" if kernel.exact else ""
    print(f"Ctrl-C ends what runs, exit the guest{leaps}", flush=True)
    size = shutil.get_terminal_size()
    command = (
        f"stty rows {size.lines} cols {size.columns} </dev/tty0\n"
        f"{guest.ENVIRONMENT} setsid --ctty --wait bash --norc -i </dev/tty0 >/dev/tty0 2>&1"
    )
    guest.prepare(job, command, guest.mounts(job, out))
    with guest.memory_folder() as memory:
        kernel_command = guest.kernel_command(kernel, SEED, "con0=fd:0,fd:1 con=null")
        subprocess.run(kernel_command, cwd=job, env=guest.environment(kernel, memory), check=False)
    code = job / "exit-code"  # the kernel's own exit code is another
    if not code.exists():
        raise RunFailed("shell.guest-ended", f"the guest ended before its shell did; see {job}")
    return int(code.read_text())
