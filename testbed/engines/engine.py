"""What an engine is to those who have runs made."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from testbed.engines.judging import load_report
from testbed.errors import CannotRun
from testbed.judge.checks.result import Verdict
from testbed.machine import Need, build, make_ready
from testbed.message import Lines, Message
from testbed.plan import engines
from testbed.plan.engines import EngineFacts
from testbed.plan.model import Plan, Traces
from testbed.planning.program import not_built
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.planning.traffic import runtime_of
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario
from testbed.services.influx import server
from testbed.services.influx.endpoint import Endpoint

if TYPE_CHECKING:
    from testbed.machine.inventory import Inventory


@dataclass(frozen=True)
class Options:
    """What a command line says about how runs are made."""

    runtime: Literal["docker", "process"] | None = None
    """None where it was not given."""
    link: Literal["auto", "netem", "relay"] = "auto"
    seed: int | None = None
    quick: bool = False
    traces: Traces | None = None
    machines: Inventory | None = None
    """Where hosts may be; None: all are on this machine."""


@dataclass(frozen=True)
class Programs:
    """What a run's end points and links are made with."""

    binaries: dict[str, Path]
    policies: PolicyFacts
    """What the end points say of their policies."""
    code: bytes | None = None
    """What stands for the end points in a run's name where they are not built from this checkout."""


class Run(Protocol):
    """One run of a plan, not yet made."""

    @property
    def plan(self) -> Plan: ...

    @property
    def folder(self) -> Path:
        """Its result folder."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether it comes out the same each time; of some it is known when it has been made."""
        ...

    def execute(self) -> Verdict:
        """Make it, to its verdict; raises :class:`TestbedError` where that could not be reached."""
        ...

    def without_database(self, database_points: int | None) -> Verdict:
        """Make it as one of many, or to be compared with an earlier run of the plan: without database, provenance and
        report. ``database_points``: what the database held of that one. Raises :class:`CannotRun` where time is real,
        and no run is like another."""
        ...


class Engine(ABC):
    """One way to make runs. It has no state: what is true of a machine is asked for when it matters."""

    name: str
    agent = "ncp-agent"
    """The program with the end points of sessions, which knows their policies."""
    programs: tuple[str, ...] = tuple(build.PROGRAMS)
    """What is built for its runs."""
    sources: tuple[str, ...] = ()
    """Files and folders of the checkout that its runs' names follow from."""

    @property
    def facts(self) -> EngineFacts:
        """What is true of all of its runs."""
        return engines.named(self.name)

    @abstractmethod
    def needs(self, runtime: str = "docker") -> frozenset[Need]:
        """What its runs need of the machine."""

    @abstractmethod
    def deterministic(self) -> bool:
        """Whether its runs are repeatable here: the same every time, whatever the machine does beside them."""

    def width(self) -> int:
        """How many runs may go side by side: one per core that this process may use where none disturbs another."""
        return len(os.sched_getaffinity(0)) if self.deterministic() else 1

    def is_available(self) -> bool:
        """Whether runs can be made by it without anything being built first that takes minutes."""
        return True

    def for_this_user(self) -> bool:
        """Whether this user may make such runs."""
        return True

    def supports(self, scenario: LoadedScenario) -> bool:
        """Whether it may be able to run a scenario, as far as that shows before there is a plan."""
        return True

    def refuse_user(self, command: str) -> None:
        """Raise :class:`CannotRun` where this user may not make such runs; ``command`` is what was asked for."""
        if not self.for_this_user():
            raise CannotRun(
                "run.needs-root",
                "running needs root, for network namespaces",
                "Try: sudo ./run.sh {command}",
                command=command,
            )

    def refuse_options(self, options: Options) -> None:
        """Raise :class:`CannotRun` for options that ask for what it has not."""
        if options.machines is not None:
            raise CannotRun(
                "engine.has-no-packets",
                "--hosts: --engine {engine} has no packets that could go to another machine",
                engine=self.name,
            )

    def options(
        self, runtime: Literal["docker", "process"], link: Literal["auto", "netem", "relay"] = "auto", *, quick: bool
    ) -> Options:
        """The options of many runs; in virtual time their agents are neither containers nor processes here."""
        return Options(None if self.facts.virtual_time else runtime, link, quick=quick)

    @abstractmethod
    def choices(self, options: Options) -> Choices:
        """What follows from a command line's options for the plan."""

    def prepare(
        self,
        progress: Progress,
        runtime: str = "docker",
        *,
        further: frozenset[Need] = frozenset(),
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Programs:
        """Set up what its runs need of this machine, and ``further`` what, and build their programs, ``meanwhile``
        doing what; raises :class:`CannotRun` with what is missing."""
        make_ready(progress, self.needs(runtime) | further)
        return self.build(progress, meanwhile)

    def prepare_plans(self, progress: Progress) -> Programs:
        """Enough for plans, where no run is made."""
        return self.prepare(progress)

    def build(self, progress: Progress, meanwhile: Callable[[], object] = lambda: None) -> Programs:
        """The programs of this checkout."""
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
        """The plan of a run, named as the engine names it; ``change`` is what is done to it before.

        Raises:
            BadInput: an unknown policy, or what :func:`resolve` finds wrong.
        """
        plan = change(resolve(loaded, programs.policies, choices, new_run_id()))
        self.name_run(plan, programs)
        return plan

    def name_run(self, plan: Plan, programs: Programs) -> None:  # noqa: B027 (where time is real any name will do)
        """Give a plan the name of its run, where that follows from the plan: a run that is the same has one name."""

    def unlike(self, recorded: Mapping[str, Any]) -> list[Message]:
        """A line for each thing of this machine, beside the checkout, that its runs' bytes follow from and that is not
        as a run's provenance has it."""
        return []

    @abstractmethod
    def unsupported(self, plan: Plan) -> list[str]:
        """A line for each thing that it can't carry, known before it is tried; none if it carries the whole plan."""

    def refuse(self, plan: Plan) -> None:
        """Raise :class:`CannotRun` with all that it refuses, and for what is not built yet."""
        if missing := not_built(plan):
            raise CannotRun("engine.not-built", "{missing}", missing=missing)
        if refused := self.unsupported(plan):
            raise CannotRun("engine.refuses", "{reasons}", "{instead}", reasons=Lines(refused), instead=self.instead())

    def instead(self) -> str:
        """What to do about a plan that it refuses."""
        return f"Run it without --engine {self.name}."

    @abstractmethod
    def describe(self, plan: Plan, options: Options) -> list[str]:
        """Lines for people, before a run: what carries it, and how."""

    def clear(self, say: Callable[[str], object]) -> None:  # noqa: B027 (some leave nothing)
        """Remove what runs that were killed left behind on this machine, and ``say`` so."""

    def database(self) -> Endpoint | None:
        """The database that results go to: one that is up, and none where its runs need none."""
        return server.running()

    def ready_run(
        self, loaded: LoadedScenario, options: Options, progress: Progress, results: Path | None = None
    ) -> Run:
        """The run of a scenario with everything that it needs, and nothing of it done yet; raises :class:`CannotRun`
        where it can't be made here."""
        choices = self.choices(options)
        programs = self.prepare(progress, runtime_of(loaded.scenario, choices.runtime), meanwhile=load_report)
        plan = self.plan(loaded, programs, choices)
        self.refuse(plan)
        return self.run(plan, loaded, programs, progress, results)

    @abstractmethod
    def run(
        self, plan: Plan, loaded: LoadedScenario, programs: Programs, progress: Progress, results: Path | None = None
    ) -> Run:
        """A run that is ready to be made; ``results`` is where its folder goes, if not to the scenario's results."""
