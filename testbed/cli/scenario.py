"""``show`` and ``validate``: what a scenario is, and whether it is right."""

from __future__ import annotations

from typing import Annotated

import typer

from testbed.cli.options import QuickOption, ScenarioArgument, SetOption
from testbed.plan.resolve import Plan
from testbed.scenario.load import LoadedScenario


def register(app: typer.Typer) -> None:
    """Add the verbs."""

    @app.command("show")
    def show(
        scenario: ScenarioArgument,
        set_: SetOption = [],  # noqa: B006
        quick: QuickOption = False,
    ) -> None:
        """Show a scenario in words: topology, links, session, checks."""
        from testbed.plan.show import plan_text
        from testbed.scenario.load import load

        loaded = load(scenario, set_, quick=quick)
        print(plan_text(_resolved(loaded, quick)))
        if loaded.scenario.description:
            print(f"\n{loaded.scenario.description.strip()}")
        print(f"\nfile: {loaded.path}")

    @app.command("validate")
    def validate(
        scenarios: Annotated[
            list[str] | None, typer.Argument(metavar="[SCENARIO]…", help="All of scenarios/ without one.")
        ] = None,
        set_: SetOption = [],  # noqa: B006
    ) -> None:
        """Check scenario files; a mistake is named with file, line, field, value and what would be right."""
        from testbed.scenario.load import available, load

        for name in scenarios or [str(path) for path in available()]:
            loaded = load(name, set_)
            _resolved(loaded, quick=False)
            if loaded.scenario.quick:
                _resolved(load(name, set_, quick=True), quick=True)
            print(f"{loaded.path}: valid")


def _resolved(loaded: LoadedScenario, quick: bool) -> Plan:
    from testbed import build
    from testbed.doctor import make_ready
    from testbed.plan.resolve import Choices, new_run_id, resolve
    from testbed.runner.progress import Progress

    make_ready(Progress(), "show")  # the agent, which is built here, knows the policies
    policies = build.policy_facts(build.build_programs()["ncp-agent"])
    return resolve(loaded, policies, Choices(quick=quick), new_run_id())
