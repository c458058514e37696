"""``run``: one scenario on real parts, to a verdict."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import typer

from testbed.cli.options import (
    LinkOption,
    QuickOption,
    RuntimeOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
)
from testbed.errors import CannotRun, Exit
from testbed.plan.resolve import Choices, Plan
from testbed.scenario.load import LoadedScenario

EXIT_OF_VERDICT = {"pass": Exit.PASS, "fail": Exit.FAIL, "untrusted": Exit.UNTRUSTED}


@dataclass(frozen=True)
class Asked:
    """What the command line asks beyond the scenario."""

    runtime: Literal["docker", "process"]
    link: Literal["auto", "netem", "relay"]
    seed: int | None
    quick: bool

    def choices(self, middle: Literal["netem", "relay"]) -> Choices:
        """With ``auto`` decided."""
        return Choices(self.runtime, middle, self.seed, self.quick)


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("run")
    def run(
        scenario: ScenarioArgument,
        set_: SetOption = [],  # noqa: B006 (typer copies it)
        quick: QuickOption = False,
        seed: SeedOption = None,
        runtime: RuntimeOption = "docker",
        link: LinkOption = "auto",
        dry_run: bool = typer.Option(False, "--dry-run", help="Print the plan and do nothing."),
    ) -> None:
        """Run a scenario and judge it. The last line is PASS, FAIL or UNTRUSTED; results/ has the rest."""
        from testbed.scenario.load import load

        loaded = load(scenario, set_, quick=quick)  # bad input ends here, before anything is set up
        asked = Asked(runtime, link, seed, quick)
        raise typer.Exit(_dry_run(loaded, asked) if dry_run else run_scenario(loaded, asked))


def run_scenario(loaded: LoadedScenario, asked: Asked) -> int:
    """Set up what is missing, run, print the verdict; returns the exit code."""
    if os.geteuid() != 0:
        raise CannotRun(
            "running a scenario needs root, for network namespaces",
            f"Try: sudo ./run.sh {loaded.scenario.name}",
        )
    from testbed import build
    from testbed.cli.leftovers import remove_leftovers
    from testbed.doctor import make_ready
    from testbed.plan.resolve import new_run_id, resolve
    from testbed.runner.interrupts import Interrupted
    from testbed.runner.life import LinksOff, Run
    from testbed.runner.progress import Progress

    progress = Progress()
    make_ready(progress, "run", asked.runtime)
    middle = choose_middle(asked.link)
    with progress.step("build"):
        binaries = build.build_programs()
    policies = build.policy_facts(binaries["ncp-agent"])
    plan = resolve(loaded, policies, asked.choices(middle), new_run_id())
    refuse_what_the_middle_cannot_do(plan)
    progress.say(_headline(plan, asked.link))
    remove_leftovers(progress.say)
    run = Run(plan, loaded, binaries, progress)
    name = f"{plan['scenario']} {plan['run']}"
    try:
        verdict = run.execute()
    except LinksOff as error:
        _say_error(error, run.folder)
        print(f"UNTRUSTED {name}")
        return Exit.UNTRUSTED
    except CannotRun:
        raise
    except Interrupted as error:
        _say_error(error, run.folder)
        print(f"FAIL {name}")
        return int(error.code)
    except Exception as error:
        _say_error(error, run.folder)
        print(f"FAIL {name}")
        return Exit.FAIL
    for check in verdict.checks:
        print(f"  {check.status:<11} {check.name}: {check.reason}")
    for reason in verdict.trust.reasons:
        print(f"  {'untrusted':<11} {reason}")
    print(f"  report      {shown(run.folder / 'report.html')}")
    print(f"{verdict.verdict.upper()} {name}")
    return EXIT_OF_VERDICT[verdict.verdict]


def choose_middle(link: Literal["auto", "netem", "relay"]) -> Literal["netem", "relay"]:
    """What delays the links: netem where this kernel has it, unless the user chose."""
    from topologies.middle import has_netem

    if link == "relay":
        return "relay"
    if has_netem():
        return "netem"
    if link == "netem":
        raise CannotRun("this kernel has no netem (sch_netem)", "Use --link relay or --link auto.")
    return "relay"


def refuse_what_the_middle_cannot_do(plan: Plan) -> None:
    """Raise :class:`CannotRun` where netem, or the relay, lacks what a link asks for; nothing is ignored."""
    from testbed.runner.network import links_of
    from topologies.middle import refusals

    refused = refusals(links_of(plan), plan["middle"])
    if refused:
        raise CannotRun("\n".join(refused))


def shown(path: Path) -> str:
    """A path as a user would type it here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _headline(plan: Plan, asked_link: str) -> str:
    why = ""
    if asked_link == "auto":
        why = " (the kernel has netem)" if plan["middle"] == "netem" else " (this kernel has no netem)"
    return f"{plan['scenario']} {plan['run']}: policy {plan['sessions'][0]['policy']}, links by {plan['middle']}{why}"


def _say_error(error: Exception, folder: Path) -> None:
    from testbed.errors import TestbedError

    message = error.message if isinstance(error, TestbedError) else f"{type(error).__name__}: {error}"
    print(f"error: {message}", file=sys.stderr)
    hint = error.hint if isinstance(error, TestbedError) and error.hint else ""
    print(f"{hint + ' ' if hint else ''}Data and logs so far: {shown(folder)}", file=sys.stderr)
    if not isinstance(error, TestbedError):
        import traceback

        (folder / "logs").mkdir(parents=True, exist_ok=True)
        (folder / "logs" / "error.txt").write_text("".join(traceback.format_exception(error)))


def _dry_run(loaded: LoadedScenario, asked: Asked) -> int:
    from testbed import build
    from testbed.doctor import make_ready
    from testbed.plan.resolve import new_run_id, resolve
    from testbed.plan.show import plan_text
    from testbed.runner.progress import Progress

    make_ready(Progress(), "show")
    middle: Literal["netem", "relay"]
    middle = (
        choose_middle(asked.link) if os.geteuid() == 0 else ("netem" if asked.link == "netem" else "relay")
    )
    policies = build.policy_facts(build.build_programs()["ncp-agent"])
    print(plan_text(resolve(loaded, policies, asked.choices(middle), new_run_id())))
    return Exit.PASS
