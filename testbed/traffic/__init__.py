"""Traffic of a run, each kind behind one type: NCP, the kernel's TCP, NDN, the kernel's MPTCP."""

import importlib

from testbed.plan import traffic_types
from testbed.plan.model import Plan
from testbed.runtime.site import Site
from testbed.traffic.traffic import Traffic

__all__ = ["Site", "Traffic", "named", "of"]


def named(name: str) -> type[Traffic]:
    """The kind in the file of its name; raises :class:`BadInput` where there is none. Imported on request, as a run
    needs only one."""
    found: type[Traffic] = importlib.import_module(f"testbed.traffic.{traffic_types.named(name).name}").TRAFFIC
    return found


def of(plan: Plan) -> type[Traffic]:
    """The kind that sends a plan's bytes."""
    return named(traffic_types.sent_by(plan).name)
