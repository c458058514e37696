"""Real packets over Mininet, on this machine's kernel and in real time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from testbed import traffic
from testbed.engines.engine import Engine, Options, Programs
from testbed.engines.mininet.emulator_choice import choose_middle, refused_by_the_middle
from testbed.engines.mininet.lifecycle import EmulatedRun
from testbed.machine import Need, make_ready
from testbed.plan.model import Plan
from testbed.plan.trigger import trigger
from testbed.planning.resolve import Choices
from testbed.runtime import leftovers
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario
from testbed.services.influx import server
from testbed.services.influx.endpoint import Endpoint

Middle = Literal["netem", "relay"]


class Mininet(Engine):
    """As root; one run at a time, and no run is the same to the byte."""

    name = "mininet"

    def needs(self, runtime: str = "docker") -> frozenset[Need]:
        """All that emulates links, and what agents run in."""
        found = frozenset({Need.PYTHON, Need.BUILD, Need.EMULATION, Need.TOOLS, Need.DATABASE})
        return found | {Need.CONTAINERS} if runtime == "docker" else found

    def deterministic(self) -> bool:
        """Real time passes as it likes."""
        return False

    def for_this_user(self) -> bool:
        """For root."""
        return os.geteuid() == 0

    def refuse_options(self, options: Options) -> None:
        """It has none that it can't do."""

    def choices(self, options: Options) -> Choices:
        """With ``auto`` decided: only root can ask the kernel, for others it is a guess; between machines it is the
        relay."""
        link = "relay" if options.machines is not None and options.link == "auto" else options.link
        guess: Middle = "netem" if link == "netem" else "relay"
        middle = choose_middle(link) if os.geteuid() == 0 else guess
        runtime = options.runtime or "docker"
        machines = None
        if options.machines is not None:
            from testbed.machine.inventory import here

            machines = {name: not here(variables) for name, variables in options.machines.hosts.items()}
        return Choices(runtime, middle, options.seed, options.quick, trigger(), self.name, options.traces, machines)

    def prepare_plans(self, progress: Progress) -> Programs:
        """What emulates links is left out."""
        make_ready(progress, "show")
        return self.build(progress)

    def unsupported(self, plan: Plan) -> list[str]:
        """What this kernel, or the relay, can't do."""
        why = traffic.of(plan).why_unsupported()
        refused = [*refused_by_the_middle(plan), *([why] if why else [])]
        if plan.get("place"):
            from testbed.remote.refusals import refusals

            refused += refusals(plan)
        return refused

    def instead(self) -> str:
        """The lines say it."""
        return ""

    def describe(self, plan: Plan, options: Options) -> list[str]:
        """What delays the links, and why that."""
        why = ""
        if options.machines is not None:
            why = " (hosts are on other machines)" if plan.get("place") else ""
        elif options.link == "auto":
            why = " (the kernel has netem)" if plan["middle"] == "netem" else " (this kernel has no netem)"
        return [f"links by {plan['middle']}{why}"]

    def clear(self, say: Callable[[str], object]) -> None:
        """Namespaces, containers, processes and folders that carry a mark of ours."""
        found = leftovers.remove_leftovers(leftovers.docker_client)
        for line in (*(f"removed {what}" for what in found.things), *found.problems):
            say(f"  left by a run that was killed: {line}")

    def database(self) -> Endpoint:
        """Each run needs one; it is started."""
        return server.ensure()

    def ready_run(
        self, loaded: LoadedScenario, options: Options, progress: Progress, results: Path | None = None
    ) -> EmulatedRun:
        """With the machines that hosts are on."""
        run = super().ready_run(loaded, options, progress, results)
        assert isinstance(run, EmulatedRun)
        if options.machines is not None:
            run.inventory = options.machines.hosts
        return run

    def run(
        self, plan: Plan, loaded: LoadedScenario, programs: Programs, progress: Progress, results: Path | None = None
    ) -> EmulatedRun:
        """On the hosts of a network that is built for it."""
        return EmulatedRun(plan, loaded, programs.binaries, progress, results)


ENGINE = Mininet()
