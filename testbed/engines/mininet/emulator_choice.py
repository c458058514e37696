"""Which middle delays a run's links, and whether it can do all that they ask for."""

from __future__ import annotations

from typing import Literal

from testbed.errors import CannotRun
from testbed.plan.model import Plan
from topologies.middle import has_netem, refusals


def choose_middle(link: Literal["auto", "netem", "relay"]) -> Literal["netem", "relay"]:
    """What delays the links: netem where this kernel has it, unless the user chose."""
    if link == "relay":
        return "relay"
    if has_netem():
        return "netem"
    if link == "netem":
        raise CannotRun("kernel.no-netem", "this kernel has no netem (sch_netem)", "Use --link relay or --link auto.")
    return "relay"


def refused_by_the_middle(plan: Plan) -> list[str]:
    """A line for each thing that a link asks for and netem, or the relay, lacks; nothing is ignored."""
    return refusals(plan["links"], "relay" if plan["middle"] == "relay" else "netem")
