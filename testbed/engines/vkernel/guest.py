"""Boots a guest kernel for one job and waits for its end, or with a shell on this terminal. Needs no root."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import NamedTuple, TextIO

import psutil

from testbed import paths
from testbed.engines.emulation.telemetry import GrowingFiles
from testbed.errors import BadInput, RunFailed
from testbed.machine.guest_kernel import Kernel
from testbed.runtime.lock import try_take
from testbed.runtime.processes import children_cpu_s, end_group

INIT = paths.CHECKOUT / "images" / "vkernel" / "engine-init"
MEMORY = "2G"
"""Memory of the guest, its files included. The host gives no more than the guest uses."""
EPOCH_S = 946_684_800
"""The guest's clock at its start: 2000-01-01 UTC, as in the simulator."""
SYSCALL_NS = 2000
"""The price of a system call in virtual time; without one, polling would stop the clock."""
CLOCK_NS = 40
"""The price of reading the clock in virtual time, up to that of a system call; then it is one."""
SPIN_MS = 1000
"""CPU time without a system call after which a program is taken to wait for another, and time goes on."""
END_S = 5.0
LOOK_S = 0.2
SHELL_SEED = 1

CHECKOUT = Path("/checkout")
"""The checkout's place in the guest."""

DISTUTILS = "stdlib" if sys.version_info < (3, 12) else "local"
"""Mininet compares versions by ``distutils``. While Python has its own, that of setuptools need not be loaded, which
takes half a second in a guest."""

ENVIRONMENT = (
    "exec env -i PATH=$PATH HOME=/root LANG=C.UTF-8 TERM=linux PYTHONPATH=/checkout PYTHONHASHSEED=0 "
    "PYTHONDONTWRITEBYTECODE=1 NCP_TESTBED_STATE=/run/state NCP_TESTBED_RUN=/run/ncp-testbed "
    f"NCP_TESTBED_RESULTS=/results SETUPTOOLS_USE_DISTUTILS={DISTUTILS}"
)
"""The beginning of a job's command: nothing of this machine's environment gets in."""

_BOOT_JOB = '"mount -t hostfs none /mnt -o /proc/self/cwd; exec /bin/bash /mnt/init"'
"""The job's folder is the kernel's working directory, so that the command line, which seeds the guest's random
numbers, is the same for every job."""
_ARGUMENTS = "umid=guest uml_dir=uml noreboot quiet loglevel=3"
_VIRTUAL_TIME = (
    f"time-travel=inf-cpu time-travel-start={EPOCH_S * 10**9} tt-syscall-ns={SYSCALL_NS} tt-clock-ns={CLOCK_NS} "
    f"tt-spin-ms={SPIN_MS} rng-seed={{seed}} random.trust_bootloader=1 norandmaps"
)


class Mount(NamedTuple):
    """A folder of this machine in the guest."""

    outside: Path
    inside: Path
    writable: bool = False


WHOLE_CHECKOUT = Mount(paths.CHECKOUT, CHECKOUT)


class Ended(NamedTuple):
    """The end of a guest."""

    code: int
    """The exit code of its command."""
    spins: int
    """The number of times that the spin guard let time pass: depends on the machine's speed, so the run is not
    repeatable."""
    uptime_s: float
    """Seconds of the guest's own time."""
    wall_s: float
    cpu_s: float
    """CPU time of its kernel and all that ran in it: the wall time of a core that nothing else uses."""


def boot(
    kernel: Kernel,
    job: Path,
    command: str,
    *,
    out: Path,
    seed: int,
    checkout: Sequence[Mount] = (WHOLE_CHECKOUT,),
    limit_s: float,
    tell: Callable[[str], None] = lambda _line: None,
    stopped: Event | None = None,
) -> Ended:
    """Run a line of shell as root in a guest; ``job`` keeps its output and that of its kernel, ``out`` gets the files
    that it leaves in ``/results``, and ``checkout`` is the part of the checkout that it has, with further folders: all
    by default.

    ``tell`` gets each line of its stderr, as it comes. Raises :class:`RunFailed` if the guest ends
    before its command, is ``stopped``, or takes longer than ``limit_s`` seconds of wall time.
    """
    prepare(job, command, out, checkout)
    with _own_core(tell) as core, memory_folder() as memory, (job / "kernel.log").open("wb") as log:
        begun_s, before_s = time.monotonic(), children_cpu_s()
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
            _follow(process, job / "stderr", begun_s + limit_s, tell, stopped)
        finally:
            if process.poll() is None:
                end_group(process, END_S)
            for link in job.glob("place*[0-9]"):
                link.unlink()  # to this machine's folders: of no use where the result goes
        wall_s = time.monotonic() - begun_s
    if not (job / "exit-code").exists():
        if wall_s >= limit_s:
            raise RunFailed("vkernel.timeout", f"the guest was ended after {limit_s:.0f} s; see {job}")
        log_file = job / "kernel.log"
        raise RunFailed("vkernel.ended-early", f"the guest ended before its command did; see {log_file}")
    code, spins, uptime_s = ((job / name).read_text() for name in ("exit-code", "spins", "uptime"))
    return Ended(int(code), len(spins.splitlines()), float(uptime_s), wall_s, children_cpu_s() - before_s)


def prepare(job: Path, command: str, out: Path, checkout: Sequence[Mount]) -> None:
    """Write the files that the guest's process 1 reads: it has ``checkout`` and two folders of every guest."""
    places = [*checkout, Mount(job, Path("/job"), writable=True), Mount(out, Path("/out"), writable=True)]
    (job / "uml").mkdir(parents=True, exist_ok=True)
    for name in ("exit-code", "spins", "uptime"):
        (job / name).unlink(missing_ok=True)
    shutil.copyfile(INIT, job / "init")
    lines = []
    for number, place in enumerate(places):
        # The guest sees no path of this machine, but a link in its job: the time that it takes to read one would show.
        link = job / f"place{number}"
        link.unlink(missing_ok=True)
        link.symlink_to(place.outside.resolve())
        lines.append(f"{'rw' if place.writable else 'ro'}\t/proc/self/cwd/{link.name}/.\t{place.inside}\n")
    (job / "places").write_text("".join(lines))
    (job / "command").write_text(command + "\n")


def kernel_command(kernel: Kernel, seed: int, console: str = "con=null con0=null,fd:1") -> list[str]:
    """The kernel's own command line: constant but for the seed."""
    arguments = f"mem={MEMORY} rootfstype=hostfs root=/dev/root ro rootflags=/ {console} {_ARGUMENTS}".split()
    if kernel.exact:
        arguments += _VIRTUAL_TIME.format(seed=seed).split()
    # The guest ends with this process, however that ends.
    # -R: the layout that the kernel below draws for itself shows in that of the guest's programs.
    host = ["setpriv", "--pdeathsig", "KILL", "setarch", "-R", str(kernel.program)]
    return [*host, *arguments, "init=/bin/sh", "--", "-c", _BOOT_JOB]


def environment(kernel: Kernel, memory: Path) -> dict[str, str]:
    """The kernel's environment, with ``memory`` as the folder of the guest's memory."""
    shim = {"LD_PRELOAD": str(kernel.preload)} if kernel.preload else {}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": str(memory), **shim}


@contextlib.contextmanager
def _own_core(tell: Callable[[str], None]) -> Iterator[int]:
    """Hold a core that this process may use and that has no guest of this user, the idlest of them: none disturbs
    another. Waits for one, and says so."""
    waited = False
    while (found := _free_core()) is None:
        if not waited:
            tell("  waiting for a core: each has a guest")
            waited = True
        time.sleep(LOOK_S)
    core, lock = found
    with lock:
        yield core


def _free_core() -> tuple[int, TextIO] | None:
    """A core, and the open file that holds it until it is closed."""
    idle = psutil.cpu_times_percent(interval=LOOK_S, percpu=True)
    allowed = sorted(os.sched_getaffinity(0), key=lambda core: -idle[core].idle if core < len(idle) else 0.0)
    for core in allowed:
        lock = (Path(tempfile.gettempdir()) / f"ncp-guest-{os.getuid()}-core-{core}.lock").open("a")
        if try_take(lock):
            return core, lock
        lock.close()
    return None


def _pinned(core: int, kernel: Kernel) -> list[str]:
    """The command that pins a guest to a core: on one core its system calls cost half of what they do on two. Where
    time is real, the guest goes before ordinary programs if that is allowed: other load of the machine must not look
    like a slow link."""
    pinned = ["taskset", "-c", str(core)]
    first = ["chrt", "--rr", "1"]
    if not kernel.exact and subprocess.run([*first, "true"], capture_output=True, check=False).returncode == 0:
        return [*first, *pinned]
    return pinned


@contextlib.contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder for the guest's memory: in memory of this machine if there is enough, else on its disk."""
    shared = Path("/dev/shm")
    roomy = os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 3 << 30
    with tempfile.TemporaryDirectory(prefix="ncp-guest-", dir=shared if roomy else None) as folder:
        yield Path(folder)


def _follow(
    process: subprocess.Popen[bytes], said: Path, until_s: float, tell: Callable[[str], None], stopped: Event | None
) -> None:
    """Pass on the guest's output, until it has ended, is stopped or its time is up."""
    output = GrowingFiles(said)
    while True:
        over = process.poll() is not None
        for lines in output.new_lines():
            for line in lines:
                tell(line)
        if over or time.monotonic() > until_s or (stopped and stopped.is_set()):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)


def open_shell(kernel: Kernel, work: Path) -> int:
    """Root's shell in a guest, in the folder ``work``, which is read-only there; returns its exit code. It has this
    terminal as its console, so that Ctrl-C ends the shell's command."""
    if not sys.stdin.isatty():
        raise BadInput("guest.no-terminal", "guest: this is not a terminal", "./run.sh guest COMMAND runs a command.")
    folder = Path(tempfile.mkdtemp(prefix="ncp-guest-"))
    out, job = folder / "out", folder / "job"
    out.mkdir()
    time = "virtual" if kernel.exact else "real"
    print(f"guest kernel in {time} time; /work is {work}, /out is {out}", flush=True)
    leaps = "; while it waits its clock leaps on" if kernel.exact else ""
    print(f"Ctrl-C ends what runs, exit the guest{leaps}", flush=True)
    size = shutil.get_terminal_size()
    command = (
        f"stty rows {size.lines} cols {size.columns} </dev/tty0\n"
        f"cd /work; {ENVIRONMENT} setsid --ctty --wait bash --norc -i </dev/tty0 >/dev/tty0 2>&1"
    )
    prepare(job, command, out, [WHOLE_CHECKOUT, Mount(work, Path("/work"))])
    with memory_folder() as memory:
        on_terminal = kernel_command(kernel, SHELL_SEED, "con0=fd:0,fd:1 con=null")
        subprocess.run(on_terminal, cwd=job, env=environment(kernel, memory), check=False)
    code = job / "exit-code"  # the kernel's own exit code is another
    if not code.exists():
        raise RunFailed("guest.ended", f"the guest ended before its shell did; see {job}")
    return int(code.read_text())
