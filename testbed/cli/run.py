"""``run``: one scenario on real parts, to a verdict."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from testbed.cli.options import (
    EngineOption,
    LinkOption,
    QuickOption,
    ResumeOption,
    RuntimeOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
)
from testbed.cli.outcome import ended_early, tell
from testbed.errors import BadInput, CannotRun, Exit
from testbed.plan.occasion import occasion
from testbed.plan.resolve import Choices, Plan
from testbed.runner.middle_choice import choose_middle, refuse_what_the_middle_cannot_do
from testbed.scenario.load import LoadedScenario


@dataclass(frozen=True)
class Asked:
    """What the command line asks beyond the scenario."""

    runtime: Literal["docker", "process"]
    link: Literal["auto", "netem", "relay"]
    seed: int | None
    quick: bool

    def choices(self, middle: Literal["netem", "relay"]) -> Choices:
        """With ``auto`` decided."""
        return Choices(runtime=self.runtime, middle=middle, seed=self.seed, quick=self.quick, occasion=occasion())


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("run")
    def run(
        context: typer.Context,
        scenario: ScenarioArgument,
        set_: SetOption = [],  # noqa: B006 (typer copies it)
        quick: QuickOption = False,
        seed: SeedOption = None,
        runtime: RuntimeOption = "docker",
        link: LinkOption = "auto",
        engine: EngineOption | None = None,
        repeat: Annotated[
            int, typer.Option("--repeat", min=1, max=99, help="Runs, each with the next seed, to one verdict.")
        ] = 1,
        resume: ResumeOption = "",
        dry_run: bool = typer.Option(False, "--dry-run", help="Print the plan and do nothing."),
    ) -> None:
        """Run a scenario and judge it. The last line is PASS, FAIL or UNTRUSTED; results/ has the rest."""
        from testbed.matrix.load import is_table
        from testbed.scenario.load import load
        from testbed.sweep.load import is_sweep

        if is_table(scenario) or is_sweep(scenario):
            raise BadInput(f"{scenario} is no scenario but a table or sweep", f"Try: ./run.sh {scenario}")
        loaded = load(scenario, set_, quick=quick)  # bad input ends here, before anything is set up
        if engine is None:
            engine = _engine_here(loaded)
        if repeat > 1:
            from testbed.cli.table import tell_run
            from testbed.matrix.repeated import repeated
            from testbed.matrix.table_run import Asked as AskedOfTable
            from testbed.matrix.table_run import tell

            table = repeated(scenario, set_, quick=quick, repeat=repeat, seed=seed)
            several = AskedOfTable(None, "", "", runtime, link, engine, quick, resume)
            if dry_run:
                tell(table, several)
                raise typer.Exit(0)
            if engine == "mininet":
                _needs_root(loaded)
            raise typer.Exit(tell_run(table, several))
        if resume:
            raise BadInput("--resume: only a repetition goes on; give --repeat as it was given")
        if engine == "sim":
            from testbed.cli.simulate import refuse_options, simulate

            refuse_options(runtime=runtime if _named(context, "runtime") else None, link=link)
            raise typer.Exit(simulate(loaded, seed=seed, quick=quick, dry_run=dry_run))
        if engine == "vkernel":
            from testbed.cli.vkernel import refuse_options as refuse_options_of_guest
            from testbed.cli.vkernel import run_in_guest

            refuse_options_of_guest(runtime=runtime if _named(context, "runtime") else None, link=link)
            raise typer.Exit(run_in_guest(loaded, seed=seed, quick=quick, dry_run=dry_run))
        asked = Asked(runtime, link, seed, quick)
        raise typer.Exit(_dry_run(loaded, asked) if dry_run else run_scenario(loaded, asked))


def _named(context: typer.Context, option: str) -> bool:
    """Whether the user gave an option, be it with the value that it has anyway."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def _engine_here(loaded: LoadedScenario) -> Literal["mininet", "sim", "vkernel"]:
    """The engine for a user who names none: real packets for root, for others what needs no root."""
    if os.geteuid() == 0:
        return "mininet"
    from testbed.vkernel import kernel

    scenario = loaded.scenario
    if kernel.built():
        engine, why = "vkernel", "its kernel is there"
    elif scenario.traffic != "ncp" or scenario.cross_traffic:
        engine, why = "vkernel", "it has what this scenario needs"
    else:
        engine, why = "sim", "the guest kernel of --engine vkernel is not built"
    print(f"without root: --engine {engine} ({why})", file=sys.stderr)
    return engine  # type: ignore[return-value]


def run_scenario(loaded: LoadedScenario, asked: Asked) -> int:
    """Set up what is missing, run, print the verdict; returns the exit code."""
    _needs_root(loaded)
    from testbed import build
    from testbed.cli.leftovers import remove_leftovers
    from testbed.doctor import make_ready
    from testbed.plan.resolve import new_run_id, resolve
    from testbed.plan.traffic import runtime_of
    from testbed.runner.kinds import run_class
    from testbed.runner.progress import Progress

    progress = Progress()
    make_ready(progress, "run", runtime_of(loaded.scenario, asked.runtime))
    middle = choose_middle(asked.link)
    with progress.step("build"):
        binaries = build.build_programs()
    policies = build.policy_facts(binaries["ncp-agent"])
    plan = resolve(loaded, policies, asked.choices(middle), new_run_id())
    refuse_what_the_middle_cannot_do(plan)
    progress.say(_headline(plan, asked.link))
    remove_leftovers(progress.say)
    run = run_class(plan)(plan, loaded, binaries, progress)
    name = f"{plan['scenario']} {plan['run']}"
    try:
        verdict = run.execute()
    except CannotRun:
        raise
    except Exception as error:
        return ended_early(error, name, run.folder)
    return tell(verdict, run.folder)


def _needs_root(loaded: LoadedScenario) -> None:
    if os.geteuid() != 0:
        raise CannotRun(
            "running a scenario needs root, for network namespaces", f"Try: sudo ./run.sh {loaded.scenario.name}"
        )


def _headline(plan: Plan, asked_link: str) -> str:
    why = ""
    if asked_link == "auto":
        why = " (the kernel has netem)" if plan["middle"] == "netem" else " (this kernel has no netem)"
    word = "policy" if plan["traffic"] == "ncp" else plan["traffic"]
    return f"{plan['scenario']} {plan['run']}: {word} {plan['sessions'][0]['policy']}, links by {plan['middle']}{why}"


def _dry_run(loaded: LoadedScenario, asked: Asked) -> int:
    from testbed import build
    from testbed.doctor import make_ready
    from testbed.plan.resolve import new_run_id, resolve
    from testbed.plan.show import plan_text
    from testbed.runner.progress import Progress

    make_ready(Progress(), "show")
    middle: Literal["netem", "relay"]
    middle = choose_middle(asked.link) if os.geteuid() == 0 else ("netem" if asked.link == "netem" else "relay")
    policies = build.policy_facts(build.build_programs()["ncp-agent"])
    print(plan_text(resolve(loaded, policies, asked.choices(middle), new_run_id())))
    return Exit.PASS
