"""What a guest in virtual time can't carry, by name."""

from __future__ import annotations

from testbed.plan.model import Plan

OF_THE_CPU = ("host_cpu",)
"""Series that tell of the machine and not of the network."""


def refusals(plan: Plan) -> list[str]:
    """One line per thing that needs real time, or a machine of more than one core; none if the guest carries it."""
    found = [
        f"links.{link['name']}: it has no rate, and where the CPU is free it would be infinitely fast"
        for link in plan["links"]
        if not link["rate_bps"] and not link.get("trace_file")
    ]
    found += [
        f"checks.{check['name']}: series {check['series']}, and the CPU is free in the guest"
        for check in plan["checks"]
        if check.get("series") in OF_THE_CPU
    ]
    return found
