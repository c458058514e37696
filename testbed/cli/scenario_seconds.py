"""``python -m testbed.cli.scenario_seconds`` makes ``scenarios/seconds.json`` for ``list``."""

from __future__ import annotations

import json

from testbed import engines
from testbed.plan.engines import DEFAULT
from testbed.plan.resolve import Choices, expected_transfer_s, resolve
from testbed.plan.sessions import PolicyFacts
from testbed.runner.progress import Progress
from testbed.scenario import files
from testbed.scenario.load import load
from testbed.scenario.seconds import FILE


def seconds(policies: PolicyFacts) -> dict[str, float]:
    """Of each shipped scenario, by its plan."""
    shipped = (*files.scenarios(), *files.links())
    plans = (resolve(load(str(path)), policies, Choices(), "20000101-000000-0000") for path in shipped)
    return {plan["scenario"]: round(expected_transfer_s(plan), 1) for plan in plans}


def main() -> None:
    """Write the file."""
    policies = engines.named(DEFAULT).prepare_plans(Progress()).policies
    FILE.write_text(json.dumps(seconds(policies), indent=1) + "\n")


if __name__ == "__main__":
    main()
