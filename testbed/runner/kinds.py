"""Which class runs a plan: by its traffic, and for NCP's links by what carries the bytes."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.ndn.run import NdnRun
from testbed.plan.resolve import Plan
from testbed.runner import mptcp
from testbed.runner.life import Run
from testbed.runner.mptcp import MptcpRun
from testbed.simulator.refusals import refusals as not_simulated
from testbed.tcp.run import TcpRun
from testbed.vkernel.refusals import refusals as not_in_a_guest

RUNS: Mapping[str, type[Run]] = {"ncp": Run, "mptcp": MptcpRun, "tcp": TcpRun, "ndn": NdnRun}
"""By the plan's ``traffic``, or the ``carrier`` that takes NCP's place."""

_NOT_SIMULATED = "it needs a kernel's sockets and TCP, which the simulator has not"


def kind_of(plan: Plan) -> str:
    """The plan's entry in :data:`RUNS`."""
    return str(plan["sessions"][0].get("carrier") or plan["traffic"])


def run_class(plan: Plan) -> type[Run]:
    """What runs such a plan on this machine."""
    return RUNS[kind_of(plan)]


def why_unsupported(plan: Plan) -> str | None:
    """Why it can't be run here, as far as that is known before it is tried; or None."""
    kind = kind_of(plan)
    if plan["engine"] == "sim":
        return "; ".join(not_simulated(plan)) or None if kind == "ncp" else _NOT_SIMULATED
    if plan["engine"] == "vkernel":  # its kernel has MPTCP, whatever this machine's has
        return "; ".join(not_in_a_guest(plan)) or None
    return mptcp.why_unsupported() if kind == "mptcp" else None
