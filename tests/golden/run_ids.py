"""Run ids of all scenarios for fixed code: they change where a plan does, or the rule that makes ids of plans."""

from __future__ import annotations

from testbed.engines import virtual_run
from testbed.engines.sim.run import run_id
from tests.golden import plans, text

CODE = b"code"


def whole() -> str:
    """By scenario, of its full and its quick form: the simulator's id, and a guest's."""
    found = {}
    for path in plans.scenarios():
        for form, quick in (("full", False), ("quick", True)):
            of_sim, of_guest = (plans.plan_of(path.stem, engine=name, quick=quick) for name in ("sim", "vkernel"))
            found[f"{path.stem} {form}"] = [run_id(of_sim, CODE), virtual_run.run_id("vk", of_guest, CODE)]
    return text.pretty(found) + "\n"
