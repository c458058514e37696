"""Boots a guest kernel for one job and waits for its end. Needs no root."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import paths
from testbed.engines.vkernel.cores import own_core
from testbed.errors import RunFailed
from testbed.machine.guest_kernel import Kernel

INIT = paths.CHECKOUT / "images" / "vkernel" / "engine-init"
MEMORY = "2G"
"""Of the guest, its files included. What is not used is not taken."""
EPOCH_S = 946_684_800
"""The guest's clock at its start: 2000-01-01 UTC, as in the simulator."""
SYSCALL_NS = 2000
"""What a system call costs in virtual time; without a price, polling would stop the clock."""
CLOCK_NS = 40
"""What reading the clock costs in virtual time, up to the price of a system call; then it is one."""
SPIN_MS = 1000
"""CPU time without a system call after which a program is taken to wait for another, and time goes on."""
END_S = 5.0

CHECKOUT = Path("/checkout")
"""Where the guest sees this checkout."""

DISTUTILS = "stdlib" if sys.version_info < (3, 12) else "local"
"""Mininet compares versions by ``distutils``. While Python has its own, that of setuptools need not be loaded, which
takes half a second in a guest."""

ENVIRONMENT = (
    "exec env -i PATH=$PATH HOME=/root LANG=C.UTF-8 TERM=linux PYTHONPATH=/checkout PYTHONHASHSEED=0 "
    "PYTHONDONTWRITEBYTECODE=1 NCP_TESTBED_STATE=/run/state NCP_TESTBED_RUN=/run/ncp-testbed "
    f"NCP_TESTBED_RESULTS=/results SETUPTOOLS_USE_DISTUTILS={DISTUTILS}"
)
"""What a command of a job starts with: nothing of this machine's environment gets in."""

_BOOT_JOB = '"mount -t hostfs none /mnt -o /proc/self/cwd; exec /bin/bash /mnt/init"'
"""The job's folder is the kernel's working directory, so that the command line, which seeds the guest's random
numbers, is the same for every job."""

Environment = Mapping[str, str]


@dataclass(frozen=True)
class Mount:
    """A folder of this machine in the guest."""

    outside: Path
    inside: Path
    writable: bool = False

    def line(self, link: str) -> str:
        """As the guest's process 1 reads it; ``link`` in the job's folder leads to the folder outside."""
        return f"{'rw' if self.writable else 'ro'}\t/proc/self/cwd/{link}/.\t{self.inside}\n"


@dataclass(frozen=True)
class Ended:
    """How a guest came to its end."""

    code: int
    """The exit code of its command."""
    spins: int
    """How often the spin guard let time pass: depends on the machine's speed, so that nothing is repeatable."""
    uptime_s: float
    """In the guest's own time."""
    wall_s: float
    cpu_s: float
    """Of its kernel and all that ran in it: the wall time of a core that nothing else uses."""


def boot(
    kernel: Kernel,
    job: Path,
    command: str,
    *,
    out: Path,
    seed: int,
    checkout: Sequence[Mount] | None = None,
    further: Sequence[Mount] = (),
    limit_s: float,
    told: Callable[[str], None] = lambda _line: None,
) -> Ended:
    """Run a line of shell as root in a guest; ``job`` keeps what it and its kernel said, ``out`` gets what it
    leaves in ``/results``, and ``checkout`` is what it has of the checkout: all, if nothing is said.

    ``told`` is called with each line on its stderr, as it comes. Raises :class:`RunFailed` if the guest ends
    before its command, or takes longer than ``limit_s`` seconds of wall time.
    """
    prepare(job, command, [*mounts(job, out, checkout), *further])
    with own_core(told) as core, memory_folder() as memory, (job / "kernel.log").open("wb") as log:
        begun_s, before_s = time.monotonic(), _children_cpu_s()
        process = subprocess.Popen(
            [*_pinned(core, kernel), *kernel_command(kernel, seed)],
            cwd=job,
            env=environment(kernel, memory),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _follow(process, job / "stderr", begun_s + limit_s, told)
        finally:
            _end(process)
            for link in job.glob("place*[0-9]"):
                link.unlink()  # to this machine's folders: of no use where the result goes
        wall_s = time.monotonic() - begun_s
    if not (job / "exit-code").exists():
        if wall_s >= limit_s:
            raise RunFailed(
                "vkernel.timeout", "the guest was ended after {limit_s:.0f} s; see {job}", limit_s=limit_s, job=job
            )
        raise RunFailed(
            "vkernel.ended-early", "the guest ended before its command did; see {log}", log=job / "kernel.log"
        )
    code, spins, uptime_s = ((job / name).read_text() for name in ("exit-code", "spins", "uptime"))
    cpu_s = _children_cpu_s() - before_s
    return Ended(int(code), len(spins.splitlines()), float(uptime_s), wall_s, cpu_s)


def _children_cpu_s() -> float:
    """Of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def mounts(job: Path, out: Path, checkout: Sequence[Mount] | None = None) -> list[Mount]:
    """What every guest has of this machine beside its programs."""
    return [
        *(checkout or [Mount(paths.CHECKOUT, CHECKOUT)]),
        Mount(job, Path("/job"), writable=True),
        Mount(out, Path("/out"), writable=True),
    ]


def prepare(job: Path, command: str, places: Sequence[Mount]) -> None:
    """Write what the guest's process 1 reads."""
    (job / "uml").mkdir(parents=True, exist_ok=True)
    for name in ("exit-code", "spins", "uptime"):
        (job / name).unlink(missing_ok=True)
    shutil.copyfile(INIT, job / "init")
    lines = []
    for number, place in enumerate(places):
        # The guest is told no path of this machine: the time that it takes to read one would show.
        link = job / f"place{number}"
        link.unlink(missing_ok=True)
        link.symlink_to(place.outside.resolve())
        lines.append(place.line(link.name))
    (job / "places").write_text("".join(lines))
    (job / "command").write_text(command + "\n")


def kernel_command(kernel: Kernel, seed: int, console: str = "con=null con0=null,fd:1") -> list[str]:
    """The kernel's own command line: constant but for the seed."""
    arguments = [
        f"mem={MEMORY}",
        "rootfstype=hostfs",
        "root=/dev/root",
        "ro",
        "rootflags=/",
        *console.split(),
        "umid=guest",
        "uml_dir=uml",
        "noreboot",
        "quiet",
        "loglevel=3",
    ]
    if kernel.exact:
        arguments += [
            "time-travel=inf-cpu",
            f"time-travel-start={EPOCH_S * 10**9}",
            f"tt-syscall-ns={SYSCALL_NS}",
            f"tt-clock-ns={CLOCK_NS}",
            f"tt-spin-ms={SPIN_MS}",
            f"rng-seed={seed}",
            "random.trust_bootloader=1",
            "norandmaps",
        ]
    # The guest ends with this process, however that ends.
    # -R: what the kernel below draws for its own layout shows in that of the guest's programs.
    return [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "setarch",
        "-R",
        str(kernel.program),
        *arguments,
        "init=/bin/sh",
        "--",
        "-c",
        _BOOT_JOB,
    ]


def environment(kernel: Kernel, memory: Path) -> dict[str, str]:
    shim = {"LD_PRELOAD": str(kernel.preload)} if kernel.preload else {}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(memory), **shim}


def _pinned(core: int, kernel: Kernel) -> list[str]:
    """On one core a guest's system call costs half of what it does on two. Where time is real, the guest goes
    before ordinary programs if that is allowed: what the machine does beside it must not look like a slow link."""
    pinned = ["taskset", "-c", str(core)]
    first = ["chrt", "--rr", "1"]
    if not kernel.exact and subprocess.run([*first, "true"], capture_output=True, check=False).returncode == 0:
        return [*first, *pinned]
    return pinned


@contextlib.contextmanager
def memory_folder() -> Iterator[Path]:
    """Where the file goes that is the guest's memory: memory of this machine if there is enough, else its disk."""
    shared = Path("/dev/shm")
    roomy = os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 3 << 30
    with tempfile.TemporaryDirectory(prefix="ncp-guest-", dir=shared if roomy else None) as folder:
        yield Path(folder)


def _follow(process: subprocess.Popen[bytes], said: Path, until_s: float, told: Callable[[str], None]) -> None:
    """Until the guest has ended or its time is up, pass on what it says."""
    place = 0
    while True:
        over = process.poll() is not None
        if said.exists():
            with said.open("rb") as file:
                file.seek(place)
                *lines, _ = file.read().split(b"\n")
            place += sum(len(line) + 1 for line in lines)
            for line in lines:
                told(line.decode(errors="replace"))
        if over or time.monotonic() > until_s:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the kernel and with it its processes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
