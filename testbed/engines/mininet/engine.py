"""Real packets over Mininet, on this machine's kernel and in real time."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from testbed import traffic
from testbed.engines.engine import Engine, Options
from testbed.engines.mininet.run import EmulatedRun
from testbed.errors import CannotRun
from testbed.machine.need import Need
from testbed.plan.model import Plan
from testbed.plan.trigger import trigger
from testbed.planning.resolve import Choices
from testbed.remote.refusals import refusals
from testbed.runtime import leftovers
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario
from testbed.services.influx import server
from testbed.services.influx.endpoint import Endpoint
from topologies.middle import has_netem
from topologies.middle import refusals as refused_by_emulator


class Mininet(Engine):
    """Runs as root, one at a time; no two are the same to the byte."""

    name = "mininet"
    run_of = EmulatedRun

    def needs(self, runtime: str = "docker") -> frozenset[Need]:
        found = frozenset({Need.PYTHON, Need.BUILD, Need.EMULATION, Need.TOOLS, Need.DATABASE})
        return found | {Need.CONTAINERS} if runtime == "docker" else found

    def deterministic(self) -> bool:
        return False

    def for_this_user(self) -> bool:
        return os.geteuid() == 0

    def refuse_options(self, options: Options) -> None:
        """Refuse none."""

    def choices(self, options: Options) -> Choices:
        """The plan's choices with ``auto`` decided: between machines it is the relay, here netem if the kernel has it,
        which only root can tell."""
        link = "relay" if options.machines is not None and options.link == "auto" else options.link
        guess: Literal["netem", "relay"] = "netem" if link == "netem" else "relay"
        middle = choose_emulator(link) if os.geteuid() == 0 else guess
        machines = None
        if options.machines is not None:
            from testbed.machine.inventory import here

            machines = {name: not here(variables) for name, variables in options.machines.hosts.items()}
        runtime = options.runtime or "docker"
        return Choices(runtime, middle, options.seed, options.quick, trigger(), self.name, options.traces, machines)

    def unsupported(self, plan: Plan) -> list[str]:
        """The reasons of this kernel, or the relay."""
        why = traffic.of(plan).why_unsupported()
        emulator: Literal["netem", "relay"] = "relay" if plan["middle"] == "relay" else "netem"
        return [*refused_by_emulator(plan["links"], emulator), *([why] if why else []), *refusals(plan)]

    def instead(self) -> str:
        """Nothing: the lines of :meth:`unsupported` say it."""
        return ""

    def describe(self, plan: Plan, options: Options) -> list[str]:
        """The link emulator, and why it was chosen."""
        why = ""
        if options.machines is not None:
            why = " (hosts are on other machines)" if plan.get("place") else ""
        elif options.link == "auto":
            why = " (the kernel has netem)" if plan["middle"] == "netem" else " (this kernel has no netem)"
        return [f"links by {plan['middle']}{why}"]

    def clear(self, say: Callable[[str], object]) -> None:
        """Remove namespaces, containers, processes and folders that carry a mark of ours."""
        found = leftovers.remove_leftovers(leftovers.docker_client)
        for line in (*(f"removed {what}" for what in found.things), *found.problems):
            say(f"  left by a run that was killed: {line}")

    def database(self) -> Endpoint:
        """Start the database, which each run needs."""
        return server.ensure()

    def ready_run(
        self, loaded: LoadedScenario, options: Options, progress: Progress, results: Path | None = None
    ) -> EmulatedRun:
        """The run with the machines that its hosts are on."""
        run = super().ready_run(loaded, options, progress, results)
        assert isinstance(run, EmulatedRun)
        if options.machines is not None:
            run.emulation.inventory = options.machines.hosts
        return run


def choose_emulator(link: Literal["auto", "netem", "relay"]) -> Literal["netem", "relay"]:
    """The link emulator: netem where this kernel has it, unless the user chose."""
    if link != "relay" and has_netem():
        return "netem"
    if link == "netem":
        raise CannotRun("kernel.no-netem", "this kernel has no netem (sch_netem)", "Use --link relay or --link auto.")
    return "relay"


ENGINE = Mininet()
