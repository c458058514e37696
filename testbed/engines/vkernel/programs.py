"""A user's program in guests, one for each seed: alone, or on a host behind a scenario's measured links."""

import hashlib
import itertools
import os
import re
import shlex
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from testbed.documents import write_json
from testbed.engines.vkernel import checkout, guest
from testbed.engines.vkernel.guest import Mount
from testbed.engines.vkernel.run import COMMAND, read_account
from testbed.machine.guest_kernel import Kernel
from testbed.plan.model import Plan

WORK = Path("/work")
"""The guest's place of the folder that the user is in."""
FILES = Path("/results/files")
"""The guest's folder for what a program leaves, ``$OUT``."""
START_S = 10
"""The guest's uptime when a program without a network begins."""
LIMIT_S = 3600.0
"""The limit of wall time."""
HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


@dataclass(frozen=True)
class Program:
    """The user's program, and its place in a network."""

    command: Sequence[str]
    folder: Path
    """The folder that it sees as ``/work``, and starts in."""
    timeout_s: float
    """Virtual seconds."""
    plan: Callable[[int], Plan] | None
    """The network's plan by seed; None where there is no network."""
    host: str
    """The host that it runs on, "" for the sender of the first session."""
    background: Mapping[str, str]
    """Lines of shell that run meanwhile, by host."""


@dataclass(frozen=True)
class Outcome:
    """The end of one seed's run."""

    seed: int
    code: int
    guest_s: float
    """Seconds of the guest's time that it took."""
    wall_s: float
    spins: int
    digest: str
    """SHA-256 of exit code, duration, output and files."""
    difference: str = ""
    """The first thing in which a second run of the seed differed, "" for none, or where there was no second run."""

    @property
    def failed(self) -> bool:
        """Whether the program failed, or was not the same twice."""
        return self.code != 0 or self.difference != ""


@dataclass(frozen=True)
class Job:
    """One run's folder."""

    folder: Path

    @property
    def log(self) -> Path:
        """The guest's own folder: its command, its kernel's log, the program's output."""
        return self.folder / "guest"

    @property
    def stdout(self) -> Path:
        """The program's output."""
        return self.log / "stdout"

    @property
    def stderr(self) -> Path:
        """The program's other output, behind the lines of the network's set-up."""
        return self.log / "stderr"

    @property
    def events(self) -> Path:
        """The system calls of all processes, a line each, where they were requested."""
        return self.log / "events"

    @property
    def files(self) -> Path:
        """The files that the program left, links.csv and captures."""
        return self.folder / "out"

    def last_line(self) -> str:
        """The last line of output, for people."""
        for file in (self.stdout, self.stderr):
            if lines := file.read_text(errors="replace").strip().splitlines():
                return lines[-1].strip()
        return ""


def run(
    kernel: Kernel,
    program: Program,
    seed: int,
    job: Job,
    *,
    events: bool = False,
    pcap: bool = False,
    tell: Callable[[str], None] = lambda _line: None,
    stopped: threading.Event | None = None,
) -> Outcome:
    """Run it once. Raises :class:`RunFailed` where the guest, its network or its links failed, which is no outcome of
    the program."""
    shutil.rmtree(job.folder, ignore_errors=True)
    for folder in (job.log, job.files):
        folder.mkdir(parents=True)
    if events:
        job.events.touch()  # the kernel looks whether it is there
    places = [Mount(program.folder, WORK)]
    limited = ["timeout", "--kill-after=5", f"{program.timeout_s:g}", *program.command]
    command = _in_environment(limited, seed)
    # Programs that know 0 as "never" are not used to a clock that has just begun.
    begun = f"sleep {START_S}; read -r begun _ < /proc/uptime; echo $begun > /job/begun"
    line = f"mkdir {FILES}; {begun}; exec {shlex.join(command)}"
    if program.plan is not None:
        plan = program.plan(seed)
        if pcap:
            plan["traces"] = {"qlog": False, "pcap": [link["name"] for link in plan["links"]]}
        write_json(job.files / "plan.json", plan)
        beside = {host: _in_environment(["bash", "-c", line], seed) for host, line in program.background.items()}
        request = {"host": program.host, "command": command, "background": beside}
        write_json(job.files / "program.json", request)
        places += [*checkout.mounts(), checkout.compiled(kernel)]
        line = COMMAND
    ended = guest.boot(
        kernel, job.log, line, out=job.files, seed=seed, checkout=places, limit_s=LIMIT_S, tell=tell, stopped=stopped
    )
    if program.plan is not None:
        account = read_account(job.files, job.log, ended.code)
        code, guest_s = account["exit_code"], account["program_s"]
        for name in ("plan.json", "program.json"):
            (job.files / name).unlink()
    else:
        code, guest_s = ended.code, ended.uptime_s - float((job.log / "begun").read_text())
    return Outcome(
        seed, code, round(guest_s, 2), round(ended.wall_s, 2), ended.spins, _digest(job, code, ended.uptime_s)
    )


def _in_environment(command: Sequence[str], seed: int) -> list[str]:
    """A command in the user's folder, with an environment of its own."""
    environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]
    return ["env", "-i", "-C", str(WORK), *environment, "TERM=linux", f"OUT={FILES}", f"SEED={seed}", *command]


def run_all(
    kernel: Kernel,
    program: Program,
    seeds: Sequence[int],
    folder: Path,
    ended: Callable[[Outcome, Job], None],
    *,
    check: bool = False,
) -> list[Outcome]:
    """Run every seed, one on each core, and with ``check`` twice; ``folder`` keeps the folders of those that failed, by
    seed, and of the others until ``ended`` was called."""
    stopped = threading.Event()

    def one(seed: int) -> Outcome:
        return (run_twice if check else run)(kernel, program, seed, Job(folder / str(seed)), stopped=stopped)

    if program.plan is not None:
        checkout.compiled(kernel)  # once, before they all need it
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        try:
            for future in as_completed([pool.submit(one, seed) for seed in seeds]):
                outcome = future.result()
                job = Job(folder / str(outcome.seed))
                ended(outcome, job)
                if not outcome.failed:
                    shutil.rmtree(job.folder)
                outcomes.append(outcome)
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
    return sorted(outcomes, key=lambda outcome: outcome.seed)


def run_twice(
    kernel: Kernel, program: Program, seed: int, job: Job, *, stopped: threading.Event | None = None
) -> Outcome:
    """Run a seed twice and compare all system calls; the second run's folder stays beside the first's where they
    differ."""
    again = Job(job.folder.with_name(f"{job.folder.name}-again"))
    first, second = (run(kernel, program, seed, each, events=True, stopped=stopped) for each in (job, again))
    found = first_difference(job, again)
    if not found and first.digest != second.digest:
        found = "output or files differ, and no system call does"
    if not found:
        shutil.rmtree(again.folder)
    return replace(first, difference=found)


def first_difference(one: Job, other: Job) -> str:
    """The first system call that two runs do not share, in words; "" if there is none."""
    with one.events.open(errors="replace") as a, other.events.open(errors="replace") as b:
        for left, right in itertools.zip_longest(a, b):
            if left != right:
                return f"{_event(left)} in one run, {_event(right)} in the other"
    return ""


def _event(line: str | None) -> str:
    if line is None:
        return "nothing more"
    at_ns, pid, number, result, data, name = line.rstrip("\n").split(" ", 5)
    bytes_ = "" if data == "00000000" else f", data {data}"
    return f"{int(at_ns) / 1e9:.6f} s {name}[{pid}] {_calls().get(int(number), f'call {number}')} → {result}{bytes_}"


def _calls() -> dict[int, str]:
    """The names of system calls by number, as far as this machine has them."""
    with suppress(OSError):
        found = re.findall(r"#define __NR_(\w+) (\d+)", HEADER.read_text())
        return {int(number): name for name, number in found}
    return {}


def _digest(job: Job, code: int, guest_s: float) -> str:
    found = hashlib.sha256(f"{code} {guest_s}".encode())
    for file in (job.stdout, job.stderr, *_files_in(job.files)):
        found.update(str(file.relative_to(job.folder)).encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def _files_in(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def keep_summary(folder: Path, program: Program, kernel: Kernel, outcomes: Sequence[Outcome]) -> None:
    """``runs.json``: the command, the kernel and each seed's outcome."""
    document = {
        "command": list(program.command),
        "kernel_sha256": kernel.identity(),
        "virtual_time": kernel.exact,
        "runs": [asdict(outcome) for outcome in outcomes],
    }
    write_json(folder / "runs.json", document)
