"""A scenario's plan for verbs that look at one without a run."""

from __future__ import annotations

from testbed import engines
from testbed.plan.engines import DEFAULT
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario


def planned(loaded: LoadedScenario, *, quick: bool) -> Plan:
    """The plan as a run would have it; raises BadInput."""
    programs = engines.named(DEFAULT).prepare_plans(Progress())  # the agent, which is built here, knows the policies
    return resolve(loaded, programs.policies, Choices(quick=quick), new_run_id())
