"""``run``: one scenario, on the requested engine, to a verdict."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli import events, options
from testbed.cli.where import ClusterOption
from testbed.errors import BadInput, CannotRun
from testbed.exit_codes import Exit

if TYPE_CHECKING:
    from testbed.engines.engine import Engine, Options
    from testbed.plan.model import Plan, Traces
    from testbed.runtime.progress import Progress
    from testbed.scenario.load import LoadedScenario


def run(
    context: typer.Context,
    scenario: options.ScenarioArgument,
    set_: options.SetOption = [],  # noqa: B006 (typer copies it)
    code: options.CodeOption = "",
    quick: options.QuickOption = False,
    seed: options.SeedOption = None,
    runtime: options.RuntimeOption = "docker",
    link: options.LinkOption = "auto",
    engine: options.OwnEngineOption = None,
    repeat: Annotated[int, typer.Option(min=1, max=99, help="Runs, each with the next seed.")] = 1,
    resume: options.ResumeOption = "",
    cluster: ClusterOption = "",
    hosts: options.HostsOption = "",
    pcap: Annotated[list[str], typer.Option(metavar="LINK", help="Capture it, or 'all'.")] = [],  # noqa: B006
    qlog: Annotated[bool, typer.Option("--qlog", help="Trace NCP's sessions, packet by packet.")] = False,
    dry_run: options.DryRunOption = False,
    as_json: events.JsonOption = False,
) -> None:
    """Run a scenario and judge it; a table or sweep as `table` and `sweep` do. The last line is PASS, FAIL
    or UNTRUSTED; results/ has the rest."""
    from testbed import engines
    from testbed.engines.engine import Options
    from testbed.scenario.load import load

    events.refuse_with(as_json, dry_run)
    set_ = options.with_code(set_, code)
    loaded = load(scenario, set_, quick=quick)  # bad input ends here, before anything is set up
    chosen = engines.named(engine) if engine else _engine_here(loaded)
    traces: Traces | None = {"qlog": qlog, "pcap": pcap} if qlog or pcap else None
    if repeat > 1:
        if hosts:
            raise BadInput("cli.hosts-with-repeat", "--hosts: its machines have one run at a time", "Omit --repeat.")
        if traces:
            raise BadInput("cli.trace-with-repeat", "--pcap and --qlog: they trace a single run", "Leave --repeat out.")
        from testbed.cli.table import carry_out
        from testbed.study.kinds import table as kind
        from testbed.study.kinds.table_file import repeated

        table = repeated(scenario, set_, quick=quick, repeat=repeat, seed=seed)
        several = kind.TableRequest(None, "", "", runtime, link, chosen.name, quick, resume)
        make = partial(kind.tell, table, several), partial(kind.run, table, several)
        carry_out(*make, cluster, dry_run=dry_run, as_json=as_json)
    if resume:
        raise BadInput(
            "cli.resume-without-repeat", "--resume: only repetitions can go on", "Give the same --repeat again."
        )
    if cluster:
        raise BadInput(
            "cli.cluster-without-repeat", "--cluster: a single run is made here", "Give --repeat for several."
        )
    machines = None
    if hosts:
        from testbed.machine import inventory

        machines = inventory.read(Path(hosts))
    request = Options(runtime if _named(context, "runtime") else None, link, seed, quick, traces, machines)
    chosen.refuse_options(request)
    if dry_run:
        raise typer.Exit(_dry_run(chosen, loaded, request))
    raise typer.Exit(events.carry_out(as_json, partial(_carry_out, chosen, loaded, request), _progress_here))


def _named(context: typer.Context, option: str) -> bool:
    """Whether the user gave an option, be it with the value that it has anyway."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def _engine_here(loaded: LoadedScenario) -> Engine:
    """The engine for a user who names none."""
    from testbed import engines
    from testbed.plan.engines import DEFAULT

    chosen = engines.default_for(loaded)
    if chosen.name != DEFAULT:
        print(f"without root: --engine {chosen.name} ({chosen.facts.title})", file=sys.stderr)
    return chosen


def _progress_here() -> Progress:
    """Run with a live view of the transfer, on a terminal that can show one."""
    from testbed.runtime.progress import Progress
    from testbed.runtime.terminal import console

    if not sys.stderr.isatty() or console(sys.stderr).is_dumb_terminal:
        return Progress()
    from testbed.engines.live_view import LiveProgress

    return LiveProgress()


def _carry_out(engine: Engine, loaded: LoadedScenario, request: Options, progress: Progress) -> int:
    """Set up what is missing, run, tell the verdict, or why there is none; returns the exit code."""
    from testbed.cli.outcome import ended_early, tell
    from testbed.plan.duration import expected_transfer_s

    engine.refuse_user(loaded.scenario.name)
    run = engine.ready_run(loaded, request, progress)
    for line in _headline(run.plan, engine.describe(run.plan, request)):
        progress.say(line)
    engine.clear(progress.say)
    name, id_ = run.plan["scenario"], run.plan["run"]
    progress.begun(name, id_, engine.name, run.folder, 1, expected_transfer_s(run.plan))
    try:
        verdict = run.execute()
    except CannotRun:
        raise
    except Exception as error:
        code = ended_early(error, f"{name} {id_}", run.folder)
        events.tell_error(progress, error, f"Data and logs so far: {run.folder}", code)
        return code
    return tell(verdict, run.folder, progress)


def _headline(plan: Plan, reported: list[str]) -> list[str]:
    from testbed.plan.traffic_types import traffic_of

    word = "policy" if traffic_of(plan).windows else plan["traffic"]
    first = f"{plan['scenario']} {plan['run']}: {word} {plan['sessions'][0]['policy']}, {reported[0]}"
    return [first, *(f"  {line}" for line in reported[1:])]


def _dry_run(engine: Engine, loaded: LoadedScenario, request: Options) -> int:
    from testbed.cli.terminal import fitted
    from testbed.planning.show import plan_text
    from testbed.runtime.progress import Progress

    plan = engine.plan(loaded, engine.prepare_plans(Progress()), engine.choices(request))
    engine.refuse(plan)
    print(fitted(plan_text(plan)))
    return Exit.PASS
