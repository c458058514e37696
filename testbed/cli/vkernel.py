"""``run --engine vkernel``: one scenario in a guest kernel, to a verdict; without root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.cli.outcome import to_verdict
from testbed.errors import CannotRun, Exit
from testbed.plan.occasion import occasion
from testbed.plan.resolve import Choices, resolve
from testbed.scenario.load import LoadedScenario

if TYPE_CHECKING:
    from pathlib import Path

    from testbed.runner.progress import Progress
    from testbed.vkernel.run import GuestRun


def run_in_guest(loaded: LoadedScenario, *, seed: int | None, quick: bool, dry_run: bool) -> int:
    """Set up what is missing, run in a guest, print the verdict; returns the exit code."""
    from testbed.runner.progress import Progress
    from testbed.vkernel.kernel import WHAT_STOCK_COSTS
    from testbed.vkernel.run import MODEL

    progress = Progress()
    run = prepare(loaded, progress, seed=seed, quick=quick)
    plan = run.plan
    if dry_run:
        from testbed.plan.show import plan_text

        print(plan_text(plan))
        return Exit.PASS
    time = "virtual" if run.kernel.exact else "real"
    progress.say(f"{plan['scenario']} {plan['run']}: policy {plan['sessions'][0]['policy']}, links by netem")
    progress.say(f"  guest kernel in {time} time ({run.kernel.program}); {MODEL}")
    if not run.kernel.exact:
        progress.say(f"  {WHAT_STOCK_COSTS}")
    return to_verdict(run)


def refuse_options(*, runtime: str | None, link: str) -> None:
    """Raise :class:`CannotRun` for options that ask for what a guest has not; ``runtime`` is None if not given."""
    if runtime == "docker":
        raise CannotRun("--runtime docker: the guest has no container engine", "Its agents are processes.")
    if link == "relay":
        raise CannotRun(
            "--link relay: its lateness is that of a CPU, which is free in the guest", "Links are netem's there."
        )


def prepare(
    loaded: LoadedScenario, progress: Progress, *, seed: int | None, quick: bool, results: Path | None = None
) -> GuestRun:
    """The run of a scenario, built and not yet executed; ``results`` is where its folder goes, if not to the
    scenario's results. Raises :class:`CannotRun` where the guest can't carry it."""
    from testbed import build
    from testbed.doctor import make_ready
    from testbed.vkernel.build import ready_kernel
    from testbed.vkernel.refusals import refusals
    from testbed.vkernel.run import GuestRun, run_id

    make_ready(progress, "run", engine="vkernel")
    kernel = ready_kernel(progress)
    with progress.step("build"):
        binaries = build.build_programs()
    choices = Choices("process", "netem", seed, quick, occasion(), engine="vkernel")
    plan = resolve(loaded, build.policy_facts(binaries["ncp-agent"]), choices, "vk")
    plan["run"] = run_id(plan, kernel)
    plan["namespace"] = "ncp-" + plan["run"].rsplit("-", 1)[-1]
    if refused := refusals(plan):
        raise CannotRun("\n".join(refused), "Run it without --engine vkernel.")
    return GuestRun(plan, loaded, kernel, progress, results)
