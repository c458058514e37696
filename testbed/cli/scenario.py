"""``show`` and ``validate``: what a scenario is, and whether it is right."""

from typing import Annotated

import typer

from testbed import engines
from testbed.cli.completion import names
from testbed.cli.options import QuickOption, ScenarioArgument, SetOption
from testbed.cli.terminal import fitted
from testbed.plan.drawing import drawing
from testbed.plan.engines import DEFAULT, SWEEP
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.planning.show import plan_text
from testbed.runtime.progress import Progress
from testbed.scenario import files
from testbed.scenario.load import LoadedScenario, load


def planned(loaded: LoadedScenario, *, quick: bool) -> Plan:
    """The plan as a run would have it; raises BadInput."""
    programs = engines.named(DEFAULT).prepare_plans(Progress())  # the agent, which is built here, knows the policies
    return resolve(loaded, programs.policies, Choices(quick=quick), new_run_id())


def show(
    scenario: ScenarioArgument,
    set_: SetOption = [],  # noqa: B006
    quick: QuickOption = False,
) -> None:
    """Show a scenario in words: topology, links, session, checks. Of a sweep, its runs."""
    if files.is_sweep(scenario):
        from testbed.study.kinds import sweep as sweep_run
        from testbed.study.kinds.sweep_file import load as load_sweep

        sweep_run.tell(load_sweep(scenario, set_, quick=quick))
        return

    loaded = load(scenario, set_, quick=quick)
    plan = planned(loaded, quick=quick)
    print(fitted(plan_text(plan)))
    print("\nlinks:")
    print(*(f"  {line}" for line in drawing(plan)), sep="\n")
    if loaded.scenario.description:
        print(f"\n{fitted(loaded.scenario.description.strip())}")
    print(f"\nfile: {loaded.path}")


def validate(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO]…", help="Scenarios, tables or sweeps; else all.", autocompletion=names),
    ] = None,
    set_: SetOption = [],  # noqa: B006
) -> None:
    """Check scenario files; a mistake is named with file, line, field, value and what would be right."""
    everything = (*files.scenarios(), *files.links(), *files.tables(), *files.sweeps())
    for name in scenarios or [str(path) for path in everything]:
        if files.is_table(name):
            _validate_table(name, set_)
            continue
        if files.is_sweep(name):
            _validate_sweep(name, set_)
            continue
        loaded = load(name, set_)
        planned(loaded, quick=False)
        if loaded.scenario.quick:
            planned(load(name, set_, quick=True), quick=True)
        print(f"{loaded.path}: valid")


def _validate_table(name: str, assignments: list[str]) -> None:
    """Every cell of it, quick and not."""
    from testbed.study.kinds import table as table_run
    from testbed.study.kinds.table_file import load

    for quick in (False, True):
        loaded = load(name, assignments, quick=quick)
        table_run.plans_of(loaded, table_run.TableRequest(quick=quick))
    print(f"{loaded.path}: valid")


def _validate_sweep(name: str, assignments: list[str]) -> None:
    """Every run of it, quick and not."""
    from testbed.study.kinds.sweep_file import load, planned

    sweeps = [load(name, assignments, quick=quick) for quick in (False, True)]
    policies = engines.named(SWEEP).prepare_plans(Progress()).policies
    for loaded in sweeps:
        list(planned(loaded, policies))
    print(f"{sweeps[0].path}: valid")
