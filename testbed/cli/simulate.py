"""``run --engine sim``: one scenario in virtual time, to a verdict; without root, Docker or Mininet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.cli.outcome import to_verdict
from testbed.errors import CannotRun, Exit
from testbed.plan.occasion import occasion
from testbed.plan.resolve import Choices, resolve
from testbed.scenario.load import LoadedScenario

if TYPE_CHECKING:
    from testbed.runner.progress import Progress
    from testbed.simulator.run import SimulatedRun


def simulate(loaded: LoadedScenario, *, seed: int | None, quick: bool, dry_run: bool) -> int:
    """Set up what is missing, simulate, print the verdict; returns the exit code."""
    from testbed.runner.progress import Progress

    progress = Progress()
    run = prepare(loaded, progress, seed=seed, quick=quick)
    plan = run.plan
    if dry_run:
        from testbed.plan.show import plan_text

        print(plan_text(plan))
        return Exit.PASS
    progress.say(f"{plan['scenario']} {plan['run']}: policy {plan['sessions'][0]['policy']}, in virtual time")
    return to_verdict(run)


def refuse_options(*, runtime: str | None, link: str) -> None:
    """Raise :class:`CannotRun` for options about real parts; ``runtime`` is None if not given."""
    if runtime is not None:
        raise CannotRun(f"--runtime {runtime}: in virtual time agents are neither containers nor processes")
    if link != "auto":
        raise CannotRun(f"--link {link}: in virtual time links are the model itself", "Leave --link out.")


def prepare(loaded: LoadedScenario, progress: Progress, *, seed: int | None, quick: bool) -> SimulatedRun:
    """The run of a scenario, built and not yet executed; raises :class:`CannotRun` where virtual time can't
    carry it."""
    from testbed import build
    from testbed.doctor import make_ready
    from testbed.simulator.refusals import refusals
    from testbed.simulator.run import SimulatedRun, run_id

    make_ready(progress, "run", engine="sim")
    with progress.step("build"):
        simulator = build.build_programs("ncp-sim")["ncp-sim"]
    choices = Choices("virtual", "model", seed, quick, occasion(), engine="sim")
    plan = resolve(loaded, build.policy_facts(simulator), choices, "sim")
    plan["run"] = run_id(plan)
    if refused := refusals(plan):
        raise CannotRun("\n".join(refused), "Run it without --engine sim.")
    return SimulatedRun(plan, loaded, simulator, progress)
