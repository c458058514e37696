"""Traffic of a run, each kind behind one type: NCP, the kernel's TCP, NDN, the kernel's MPTCP."""

import importlib

from testbed.plan import traffic_types
from testbed.plan.model import Plan
from testbed.runtime.site import Site
from testbed.traffic.traffic import Traffic

__all__ = ["Site", "Traffic", "module_of", "named", "of"]


def named(name: str) -> type[Traffic]:
    """The kind in the file of its name; raises :class:`BadInput` where there is none. Imported on request, as a run
    needs only one."""
    return _in_module(f"testbed.traffic.{traffic_types.named(name).name}")


def of(plan: Plan) -> type[Traffic]:
    """The kind that sends a plan's bytes."""
    return _in_module(module_of(plan))


def module_of(plan: Plan) -> str:
    """The name of the module with that kind; the kernel's TCP has several."""
    name = traffic_types.sent_by(plan).name
    return f"testbed.traffic.{name}" + (f".{plan['tcp']['kind']}" if "tcp" in plan else "")


def _in_module(name: str) -> type[Traffic]:
    found: type[Traffic] = importlib.import_module(name).TRAFFIC
    return found
