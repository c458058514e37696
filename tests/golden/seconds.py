"""``python -m tests.golden.seconds`` makes ``scenarios/seconds.json`` for ``list``: a minute's work, mostly for
tables and sweeps."""

import json
from pathlib import Path

from testbed import engines
from testbed.engines.engine import Programs
from testbed.plan.duration import expected_transfer_s
from testbed.plan.engines import DEFAULT
from testbed.planning.resolve import Choices, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.runtime.progress import Progress
from testbed.scenario import files
from testbed.scenario.files import SECONDS
from testbed.scenario.load import load
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file as tables


def seconds(policies: PolicyFacts) -> dict[str, float]:
    """Seconds of each shipped scenario, by its plan."""
    shipped = (*files.scenarios(), *files.links())
    plans = (resolve(load(str(path)), policies, Choices(), "20000101-000000-0000") for path in shipped)
    return {plan["scenario"]: round(expected_transfer_s(plan), 1) for plan in plans}


def of_table(path: Path, policies: PolicyFacts) -> float:
    """Seconds of all the table's runs, one after the other; repetitions take as long as the first."""
    loaded = tables.load(str(path))
    programs = Programs({}, policies)
    once = table_run.plans_of(loaded, table_run.TableRequest(repeat=1), programs)
    rows = {row.name: row.repeat or loaded.table.repeat for row in loaded.table.rows}
    return round(sum(rows[cell.row] * expected_transfer_s(plan) for cell, plan in once), 1)


def of_sweep(path: Path, policies: PolicyFacts) -> float:
    """Seconds of all the sweep's runs, one after the other, in virtual time."""
    return round(sum(expected_transfer_s(plan) for _, plan in sweeps.planned(sweeps.load(str(path)), policies)), 1)


def main() -> None:
    """Write the file."""
    policies = engines.named(DEFAULT).prepare_plans(Progress()).policies
    found = seconds(policies)
    found |= {path.stem: of_table(path, policies) for path in files.tables()}
    found |= {path.stem: of_sweep(path, policies) for path in files.sweeps()}
    SECONDS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
