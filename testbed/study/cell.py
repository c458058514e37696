"""One run that a study asks for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from testbed import engines, traffic
from testbed.engines import Engine, Programs, Run
from testbed.plan.model import Plan
from testbed.planning.program import not_built
from testbed.planning.resolve import Choices
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import LoadedScenario
from testbed.study.place import folder_of


@dataclass(frozen=True)
class Cell:
    """A scenario with its overrides, the seed, the engine with all else that was chosen for it, and whose end points it
    is run with. ``key`` is its place in the study: no two cells of one have the same."""

    key: tuple[str, ...]
    loaded: LoadedScenario = field(compare=False)
    choices: Choices = field(compare=False)
    programs: Programs = field(compare=False)
    carrier: str | None = field(default=None, compare=False)
    """The traffic that takes NCP's place, if any does."""
    congestion_control: str | None = field(default=None, compare=False)
    """The carrier's; None: the kernel's default."""

    @property
    def engine(self) -> Engine:
        """What it is run on."""
        return engines.named(self.choices.engine)

    @property
    def folder(self) -> Path:
        """Where its runs go, in the study's result folder."""
        return folder_of(*self.key)

    @property
    def seed(self) -> int:
        """As chosen, else the scenario's own."""
        return self.loaded.scenario.seed if self.choices.seed is None else self.choices.seed

    def plan(self) -> Plan:
        """The plan of its next run; raises BadInput."""
        return self.engine.plan(self.loaded, self.programs, self.choices, self._changed)

    def run(self, results: Path) -> Run:
        """Its next run, not yet made, with its result folder in ``results``."""
        return self.engine.run(self.plan(), self.loaded, self.programs, QuietProgress(), results)

    def refuses(self, plan: Plan) -> list[str]:
        """A line for each thing that can't be made of its plan, whatever the engine."""
        if missing := not_built(plan):
            return [missing]
        sessions = len(self.loaded.scenario.sessions)
        if self.carrier is None or sessions <= 1:
            return []
        return [f"carrier {self.carrier}: it takes the place of one session, and the scenario has {sessions}"]

    def with_seed(self, seed: int) -> Cell:
        """Another run of it."""
        return replace(self, choices=replace(self.choices, seed=seed))

    def _changed(self, plan: Plan) -> Plan:
        if self.carrier is None:
            return plan
        return traffic.named(self.carrier).in_place_of_ncp(plan, self.congestion_control)
