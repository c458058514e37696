"""``guest``: any program in a kernel of its own, in virtual time, behind links or alone, for one seed or many."""

import statistics
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from testbed import paths
from testbed.cli.options import SetOption
from testbed.cli.outcome import shown
from testbed.errors import BadInput
from testbed.exit_codes import Exit
from testbed.message import unknown
from testbed.runtime.progress import Progress, SoFar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from testbed.engines.vkernel.programs import Job, Outcome, Program
    from testbed.machine.guest_kernel import Kernel
    from testbed.plan.model import Plan

DAY_S = 86400.0
EXAMINED = 5
"""The number of failed seeds that run again, with captures and system calls."""


def guest(
    command: Annotated[list[str] | None, typer.Argument(metavar="[--] COMMAND…", help="None: root's shell.")] = None,
    scenario: Annotated[str, typer.Option(help="Run it behind the measured links of this one.")] = "",
    on: Annotated[str, typer.Option(metavar="HOST", help="On this host; usually the first session's sender.")] = "",
    background: Annotated[
        list[str], typer.Option(metavar="HOST=COMMAND", help="Meanwhile run this on another host.")
    ] = [],  # noqa: B006
    set_: SetOption = [],  # noqa: B006
    seed: Annotated[int, typer.Option(help="Seed of all that is random.", min=0)] = 1,
    repeat: Annotated[int, typer.Option(help="Run so many seeds, from --seed on, on all cores.", min=1)] = 1,
    check: Annotated[bool, typer.Option("--check", help="Run each seed twice; name the first difference.")] = False,
    timeout: Annotated[str, typer.Option(help="End it after so much virtual time, with exit code 124.")] = "24h",
) -> None:
    """Run a program in a Linux kernel of its own, in virtual time, without root: the same each time for a seed.

    It starts in this folder, which is read-only as /work, and has this machine's programs. What it leaves in $OUT is
    kept. Behind links, hosts have names: `ip netns exec HOST`, and HOST or HOST-LINK as an address.
    """
    from testbed.engines.vkernel import guest as guests
    from testbed.engines.vkernel.programs import Program
    from topologies.units import parse_duration_s

    try:
        timeout_s = parse_duration_s(timeout)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--timeout") from error
    if not scenario and (on or background or set_):
        raise typer.BadParameter("names a host or a link, which --scenario has", param_hint="--on, --background, --set")
    if not command and (scenario or repeat > 1 or check):
        raise typer.BadParameter("a command is missing, as in: ./run.sh guest -- ping -c 3 127.0.0.1")
    progress = Progress()
    kernel, plan = _prepared(scenario, set_, progress)
    if not command:
        raise typer.Exit(guests.open_shell(kernel, Path.cwd()))
    beside = dict(_background(text) for text in background)
    if plan is not None:
        hosts = [host["name"] for host in plan(seed)["hosts"]]
        for name in filter(None, (on, *beside)):
            if name not in hosts:
                raise BadInput.of(unknown("guest.no-such-host", "host", name, hosts))
    program = Program(command, Path.cwd(), timeout_s, plan, on, beside)
    if repeat == 1 and not check:
        raise typer.Exit(_run_once(kernel, program, seed, progress))
    folder, seeds = _folder(), range(seed, seed + repeat)
    code = _run_seeds(kernel, program, seeds, folder, progress, check=check)
    print(f"{'FAIL' if code else 'PASS'} guest {folder.name}")
    raise typer.Exit(code)


def _background(text: str) -> tuple[str, str]:
    host, found, command = text.partition("=")
    if not found or not command.strip():
        raise BadInput(
            "guest.bad-background",
            f"--background {text!r}: that is no host and command",
            "For example: --background h2=my-server",
        )
    return host, command


def _prepared(
    scenario: str, assignments: list[str], progress: Progress
) -> "tuple[Kernel, Callable[[int], Plan] | None]":
    """The kernel, and the plan of the links by seed; raises :class:`CannotRun` where there is none."""
    from testbed.engines import named
    from testbed.engines.engine import Options
    from testbed.engines.vkernel.build import ready_kernel
    from testbed.scenario.load import load

    if not scenario:
        return ready_kernel(progress), None
    engine, loaded = named("vkernel"), load(scenario, assignments)
    programs = engine.prepare(progress, "process")

    def plan(seed: int) -> "Plan":
        found = engine.plan(loaded, programs, engine.choices(Options(seed=seed)))
        engine.refuse(found)
        return found

    plan(1)
    return ready_kernel(progress), plan


def selftest(
    suite: Annotated[Literal["mptcp"], typer.Argument(help="The one that there is.")],
    test: Annotated[str, typer.Argument(help="One of its tests.")] = "simult_flows",
    seed: Annotated[int, typer.Option(help="Seed of all that is random.", min=0)] = 1,
    repeat: Annotated[int, typer.Option(help="Run so many seeds, from --seed on, on all cores.", min=1)] = 2,
    check: Annotated[bool, typer.Option("--check", help="Run each seed twice; name the first difference.")] = False,
) -> None:
    """Run the Linux kernel's own tests, unmodified, in virtual time, where nothing is late because a machine is busy.

    They come from the source package that the guest is built of. cases.csv and cases.svg have each case's times.
    """
    from testbed.engines.vkernel import selftests
    from testbed.engines.vkernel.programs import Program

    progress = Progress()
    kernel, _ = _prepared("", [], progress)
    program = Program(selftests.command(test), selftests.folder(), DAY_S, None, "", {})
    found: dict[int, list[selftests.Case]] = {}

    def look(outcome: "Outcome", job: "Job") -> None:
        found[outcome.seed] = list(selftests.cases(job.stdout.read_text(errors="replace")))

    folder = _folder()
    code = _run_seeds(kernel, program, range(seed, seed + repeat), folder, progress, look, check=check)
    selftests.write_report(folder, test, found)
    for line in selftests.summary(found):
        print(line)
    print(f"{'FAIL' if code else 'PASS'} selftest {suite} {test}: {shown(folder / 'cases.svg')}")
    raise typer.Exit(code)


def _folder() -> Path:
    """A new result folder."""
    from testbed.planning.resolve import new_run_id
    from testbed.results import make_latest

    folder = paths.results() / "guest" / new_run_id()
    folder.mkdir(parents=True)
    make_latest(folder)
    return folder


def _run_once(kernel: "Kernel", program: "Program", seed: int, progress: Progress) -> int:
    """Run one seed and show its output; returns its exit code."""
    from testbed.engines.vkernel import programs

    folder = _folder()
    job = programs.Job(folder / str(seed))
    outcome = programs.run(kernel, program, seed, job, tell=progress.say)
    programs.keep_summary(folder, program, kernel, [outcome])
    print(job.stdout.read_text(errors="replace"), end="", flush=True)
    time = "virtual" if kernel.exact else "real"
    seconds = f"{outcome.guest_s:.2f} s of {time} time in {outcome.wall_s:.2f} s"
    progress.say(f"exit code {outcome.code}, {seconds}, {shown(job.folder)}")
    return outcome.code


def _run_seeds(
    kernel: "Kernel",
    program: "Program",
    seeds: range,
    folder: Path,
    progress: Progress,
    look: "Callable[[Outcome, Job], object]" = lambda _outcome, _job: None,
    *,
    check: bool,
) -> int:
    """Run all seeds and say how they ended, looking at each as it ends; returns the exit code."""
    from testbed.engines.vkernel import programs

    with progress.step("guests") as step:
        done: list[Outcome] = []

        def ended(outcome: "Outcome", job: "Job") -> None:
            done.append(outcome)
            look(outcome, job)
            left_s = step.elapsed_s * (len(seeds) / len(done) - 1)
            failed = sum(one.failed for one in done)
            progress.update(step, f"[{len(done)}/{len(seeds)}] {failed} failed{SoFar(1, 2, left_s).left()}")

        outcomes = programs.run_all(kernel, program, seeds, folder, ended, check=check)
    programs.keep_summary(folder, program, kernel, outcomes)
    failed = [outcome for outcome in outcomes if outcome.failed]
    for outcome in failed:
        job = programs.Job(folder / str(outcome.seed))
        why = f"not the same twice: {outcome.difference}" if outcome.difference else f"exit code {outcome.code}"
        print(f"  failed      seed {outcome.seed}: {why}: {job.last_line()}  {shown(job.folder)}")
    return _conclude(kernel, program, outcomes, failed, folder, progress)


def _conclude(
    kernel: "Kernel",
    program: "Program",
    outcomes: "Sequence[Outcome]",
    failed: "Sequence[Outcome]",
    folder: Path,
    progress: Progress,
) -> int:
    """Look closer at what failed, and print the last lines."""
    from testbed.engines.vkernel import programs

    examined = [outcome for outcome in failed if not outcome.difference][:EXAMINED]
    with progress.step("failed seeds once more") if examined else nullcontext():
        for outcome in examined:
            job = programs.Job(folder / str(outcome.seed))
            again = programs.run(kernel, program, outcome.seed, job, events=True, pcap=program.plan is not None)
            if again.code != outcome.code:
                print(f"  failed      seed {outcome.seed}: with captures it ended with {again.code}")
    if len(outcomes) > 1:
        times = [outcome.guest_s for outcome in outcomes]
        middle = statistics.median(times)
        print(f"  time        {min(times):.2f} to {max(times):.2f} s of the guest, median {middle:.2f} s")
    if spins := sum(outcome.spins > 0 for outcome in outcomes):
        print(f"  not exact   {spins} runs: a program computed for a second without a system call, so time went on")
    print(f"  seeds       {len(outcomes) - len(failed)} of {len(outcomes)} ended with 0")
    return Exit.FAIL if failed else Exit.PASS
