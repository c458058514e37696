"""The code of sessions and links itself, in virtual time: without root, Docker, Mininet or packets."""

from __future__ import annotations

from pathlib import Path

from testbed.engines.engine import Engine, Options, Programs
from testbed.engines.sim.refusals import refusals
from testbed.engines.sim.run import SOURCES, SimulatedRun, run_id
from testbed.errors import CannotRun
from testbed.machine import Need
from testbed.plan.model import Plan
from testbed.plan.traffic_types import TRAFFIC
from testbed.plan.trigger import trigger
from testbed.planning.resolve import Choices
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario


class Simulator(Engine):
    """One process a run; always the same bytes."""

    name = "sim"
    agent = "ncp-sim"
    programs = ("ncp-sim",)
    sources = SOURCES

    def needs(self, runtime: str = "docker") -> frozenset[Need]:
        """Python and Go."""
        return frozenset({Need.PYTHON, Need.BUILD})

    def deterministic(self) -> bool:
        """There is no clock."""
        return True

    def supports(self, scenario: LoadedScenario) -> bool:
        """NCP alone."""
        return not TRAFFIC[scenario.scenario.traffic].of_a_kernel and not scenario.scenario.cross_traffic

    def refuse_options(self, options: Options) -> None:
        """Those about real parts."""
        super().refuse_options(options)
        if options.runtime is not None:
            raise CannotRun(
                "sim.runtime-given",
                "--runtime {runtime}: in virtual time agents are neither containers nor processes",
                runtime=options.runtime,
            )
        if options.link != "auto":
            raise CannotRun(
                "sim.link-given",
                "--link {link}: in virtual time links are the model itself",
                "Leave --link out.",
                link=options.link,
            )

    def choices(self, options: Options) -> Choices:
        """Nothing is left to choose."""
        return Choices("virtual", "model", options.seed, options.quick, trigger(), self.name, options.traces)

    def name_run(self, plan: Plan, programs: Programs) -> None:
        """By the plan and the sources."""
        plan["run"] = run_id(plan, programs.code)
        plan["namespace"] = "ncp-sim"

    def unsupported(self, plan: Plan) -> list[str]:
        """What only a kernel has."""
        return refusals(plan)

    def describe(self, plan: Plan, options: Options) -> list[str]:
        """That no time passes."""
        return ["in virtual time"]

    def run(
        self, plan: Plan, loaded: LoadedScenario, programs: Programs, progress: Progress, results: Path | None = None
    ) -> SimulatedRun:
        """By one process."""
        return SimulatedRun(plan, loaded, programs.binaries[self.agent], progress, results)


ENGINE = Simulator()
