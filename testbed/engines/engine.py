"""The interface of an engine and of its runs."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from testbed.engines.judging import load_report
from testbed.engines.run import Run
from testbed.errors import CannotRun
from testbed.machine import build
from testbed.machine.need import Need
from testbed.machine.provisioning import make_ready
from testbed.message import Lines, Message
from testbed.plan import engines
from testbed.plan.engines import EngineFacts
from testbed.plan.model import Middle, Plan, Runtime, Traces
from testbed.plan.trigger import trigger
from testbed.planning.program import not_built
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.planning.traffic import needs_of, runtime_of
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario
from testbed.services.influx import server
from testbed.services.influx.endpoint import Endpoint

if TYPE_CHECKING:
    from testbed.machine.inventory import Inventory


@dataclass(frozen=True)
class Options:
    """A command line's options for runs."""

    runtime: Literal["docker", "process"] | None = None
    """None where the user did not choose."""
    link: Literal["auto", "netem", "relay"] = "auto"
    seed: int | None = None
    quick: bool = False
    traces: Traces | None = None
    machines: Inventory | None = None
    """Machines that hosts may be on; None: all are on this one."""


@dataclass(frozen=True)
class Programs:
    """The programs of a run's end points and links."""

    binaries: dict[str, Path]
    policies: PolicyFacts
    """The facts of policies, by the end points themselves."""
    code: bytes | None = None
    """The identity of the end points in a run's name where they are not built from this checkout."""


class Engine(ABC):
    """One way to make runs. An engine has no state: facts of a machine are looked up when they matter."""

    name: str
    carried_by: tuple[Runtime, Middle]
    """The runtime of agents and the link emulator, where there is no choice."""
    run_of: type[Run]
    """The class of its runs."""
    agent = "ncp-agent"
    """The program with the end points of sessions, which knows their policies."""
    programs: tuple[str, ...] = tuple(build.PROGRAMS)
    """The programs that are built for its runs."""
    sources: tuple[str, ...] = ()
    """Files and folders of the checkout that its runs' names follow from."""

    @property
    def facts(self) -> EngineFacts:
        """The facts of all its runs."""
        return engines.named(self.name)

    @abstractmethod
    def needs(self, runtime: str = "docker") -> frozenset[Need]:
        """The needs that its runs have of the machine."""

    @abstractmethod
    def deterministic(self) -> bool:
        """Whether its runs are repeatable here: the same every time, whatever else the machine does."""

    def width(self) -> int:
        """The number of runs in parallel: one per core that this process may use where none disturbs another."""
        return len(os.sched_getaffinity(0)) if self.deterministic() else 1

    def is_available(self) -> bool:
        """Whether it can make runs without minutes of building."""
        return True

    def for_this_user(self) -> bool:
        """Whether this user may make such runs."""
        return True

    def supports(self, scenario: LoadedScenario) -> bool:
        """Whether it may be able to run a scenario, as far as that shows before there is a plan."""
        return True

    def refuse_user(self, command: str) -> None:
        """Raise :class:`CannotRun` where this user may not make such runs; ``command`` is the user's."""
        if not self.for_this_user():
            raise CannotRun(
                "run.needs-root", "running needs root, for network namespaces", f"Try: sudo ./run.sh {command}"
            )

    def refuse_options(self, options: Options) -> None:
        """Raise :class:`CannotRun` for options that it can't fulfil."""
        if options.machines is not None:
            raise CannotRun(
                "engine.has-no-packets",
                f"--hosts: --engine {self.name} has no packets that could go to another machine",
            )

    def options(
        self, runtime: Literal["docker", "process"], link: Literal["auto", "netem", "relay"] = "auto", *, quick: bool
    ) -> Options:
        """The options of many runs; in virtual time their agents are neither containers nor processes here."""
        return Options(None if self.facts.virtual_time else runtime, link, quick=quick)

    def choices(self, options: Options) -> Choices:
        """The plan's choices by a command line's options."""
        return Choices(*self.carried_by, options.seed, options.quick, trigger(), self.name, options.traces)

    def prepare(
        self,
        progress: Progress,
        runtime: str = "docker",
        *,
        further: frozenset[Need] = frozenset(),
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Programs:
        """Set up this machine for its runs, and for ``further`` needs, and build their programs, calling ``meanwhile``;
        raises :class:`CannotRun` with the missing parts."""
        make_ready(progress, self.needs(runtime) | further)
        return self.build(progress, meanwhile)

    def prepare_plans(self, progress: Progress) -> Programs:
        """Prepare as far as plans need it, where no run is made: without emulation of links, or a guest kernel."""
        make_ready(progress, "show")
        return Engine.build(self, progress)

    def build(self, progress: Progress, meanwhile: Callable[[], object] = lambda: None) -> Programs:
        """Build the programs of this checkout."""
        with progress.step("build"):
            binaries = build.build_programs(*self.programs, meanwhile=meanwhile)
        return Programs(binaries, build.policy_facts(binaries[self.agent]))

    def plan(
        self,
        loaded: LoadedScenario,
        programs: Programs,
        choices: Choices,
        change: Callable[[Plan], Plan] = lambda plan: plan,
    ) -> Plan:
        """The plan of a run, changed by ``change`` and then named as the engine names it.

        Raises:
            BadInput: an unknown policy, or a mistake that :func:`resolve` finds.
        """
        plan = change(resolve(loaded, programs.policies, choices, new_run_id()))
        self.name_run(plan, programs)
        return plan

    def name_run(self, plan: Plan, programs: Programs) -> None:  # noqa: B027 (where time is real any name will do)
        """Give a plan the name of its run, where that follows from the plan: a run that is the same has one name."""

    def unlike(self, recorded: Mapping[str, Any]) -> list[Message]:
        """A message for each thing of this machine, beside the checkout, that determines its runs' bytes and differs
        from a run's provenance."""
        return []

    @abstractmethod
    def unsupported(self, plan: Plan) -> list[str]:
        """A line for each part of a plan that it can't carry; none if it carries the whole plan."""

    def refuse(self, plan: Plan) -> None:
        """Raise :class:`CannotRun` for unsupported parts of a plan, and for programs that are not built yet."""
        if refused := self.unsupported(plan):
            raise CannotRun("engine.refuses", f"{Lines(refused)}", f"{self.instead()}")
        if missing := not_built(plan):
            raise CannotRun("engine.not-built", f"{missing}")

    def instead(self) -> str:
        """Advice about a plan that it refuses."""
        return f"Run it without --engine {self.name}."

    @abstractmethod
    def describe(self, plan: Plan, options: Options) -> list[str]:
        """Lines for people, before a run: the machinery that carries it."""

    def clear(self, say: Callable[[str], object]) -> None:  # noqa: B027 (some leave nothing)
        """Remove the leftovers of killed runs on this machine, and ``say`` so."""

    def database(self) -> Endpoint | None:
        """The database that results go to, if one is up."""
        return server.running()

    def ready_run(
        self, loaded: LoadedScenario, options: Options, progress: Progress, results: Path | None = None
    ) -> Run:
        """The run of a scenario, prepared and not begun; raises :class:`CannotRun` where it can't be made here."""
        choices = self.choices(options)
        further = needs_of(loaded.scenario) if self.facts.kernel else frozenset[Need]()  # others refuse it
        runtime = runtime_of(loaded.scenario, choices.runtime)
        programs = self.prepare(progress, runtime, further=further, meanwhile=load_report)
        plan = self.plan(loaded, programs, choices)
        self.refuse(plan)
        return self.run(plan, loaded, programs, progress, results)

    def run(
        self, plan: Plan, loaded: LoadedScenario, programs: Programs, progress: Progress, results: Path | None = None
    ) -> Run:
        """A run that is ready to be made; ``results`` is where its folder goes, if not to the scenario's results."""
        return self.run_of(plan, loaded, programs.binaries, progress, results)
