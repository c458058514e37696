"""A whole run on real packets in a kernel of its own, whose clock leaps over idle time; without root."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from testbed.engines.engine import Engine, Options, Programs
from testbed.engines.vkernel import checkout
from testbed.engines.vkernel.build import ready_kernel
from testbed.engines.vkernel.run import SOURCES, GuestRun, run_id
from testbed.errors import CannotRun
from testbed.machine import guest_kernel as kernel
from testbed.machine import machine
from testbed.machine.guest_kernel import WHAT_STOCK_COSTS
from testbed.machine.need import Need
from testbed.message import Message
from testbed.plan.engines import MODEL_OF_A_GUEST
from testbed.plan.model import Plan, packet_checks
from testbed.runtime.progress import Progress

OF_THE_CPU = ("host_cpu",)
"""Series of the machine and not of the network."""


class GuestKernel(Engine):
    """Runs each in a User-Mode Linux guest; the same bytes each time if its kernel is the one with virtual time."""

    name = "vkernel"
    carried_by = ("process", "netem")
    run_of = GuestRun
    sources = (*SOURCES, *checkout.SOURCES)

    def needs(self, runtime: str = "docker") -> frozenset[Need]:
        return frozenset({Need.PYTHON, Need.BUILD, Need.TOOLS, Need.GUEST})

    def deterministic(self) -> bool:
        """Whether the kernel with virtual time is built."""
        return kernel.built() is not None

    is_available = deterministic

    def refuse_options(self, options: Options) -> None:
        super().refuse_options(options)
        if options.runtime == "docker":
            raise CannotRun(
                "vkernel.docker-given",
                "--runtime docker: the guest has no container engine",
                "Its agents are processes.",
            )
        if options.link == "relay":
            raise CannotRun(
                "vkernel.relay-given",
                "--link relay: it is late by its CPU time, and in the guest that is nothing",
                "Leave --link out.",
            )
        if options.traces and options.traces["pcap"] and not machine.program("tcpdump")().ok:
            raise CannotRun(
                "vkernel.no-tcpdump",
                "--pcap: the guest has this machine's programs, and tcpdump is not in PATH",
                "Install it.",
            )

    def build(self, progress: Progress, meanwhile: Callable[[], object] = lambda: None) -> Programs:
        """Build the kernel as well, if it can be built and is not."""
        ready_kernel(progress)
        return super().build(progress, meanwhile)

    def name_run(self, plan: Plan, programs: Programs) -> None:
        """Name a run by its plan, the sources and the kernel, which plans alone do without."""
        with suppress(CannotRun):
            plan["run"] = run_id(plan, kernel.chosen())
        plan["namespace"] = "ncp-" + plan["run"].rsplit("-", 1)[-1]

    def unlike(self, recorded: Mapping[str, Any]) -> list[Message]:
        """A message where the run had another build of the kernel."""
        there, here = str(recorded.get("engine", {}).get("kernel_sha256", "")), kernel.chosen().identity()
        if there == here:
            return []
        return [Message("rerun.other-kernel", f"the guest kernel is another build: {there:.12} there, {here:.12} here")]

    def unsupported(self, plan: Plan) -> list[str]:
        """The checks and links that need real time, or a machine of more than one core."""
        found = [
            f"links.{link['name']}: it has no rate, and where the CPU is free it would be infinitely fast"
            for link in plan["links"]
            if not link["rate_bps"] and not link.get("trace_file")
        ]
        if not machine.program("tcpdump")().ok:
            found += [
                f"checks.{name}: the guest has this machine's programs, and tcpdump is not in PATH"
                for name in packet_checks(plan)
            ]
        return found + [
            f"checks.{check['name']}: series {check['series']}, and the CPU is free in the guest"
            for check in plan["checks"]
            if check.get("series") in OF_THE_CPU
        ]

    def describe(self, plan: Plan, options: Options) -> list[str]:
        """The kernel, and the consequences of its clock."""
        chosen = kernel.chosen()
        time = "virtual" if chosen.exact else "real"
        lines = ["links by netem", f"guest kernel in {time} time ({chosen.program}); {MODEL_OF_A_GUEST}"]
        return lines if chosen.exact else [*lines, WHAT_STOCK_COSTS]


ENGINE = GuestKernel()
