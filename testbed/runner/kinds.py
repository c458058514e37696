"""What runs a plan on this machine, and why it can't be run, by the names of before."""

from __future__ import annotations

from testbed import engines
from testbed.plan.resolve import Plan
from testbed.runner.life import Run


def run_class(plan: Plan) -> type[Run]:  # noqa: ARG001 (all plans)
    """What runs such a plan on this machine."""
    return Run


def why_unsupported(plan: Plan) -> str | None:
    """Why it can't be run here, as far as that is known before it is tried; or None."""
    return "; ".join(engines.of(plan).refuses(plan)) or None
