"""Plans of all scenarios, and of all cells of tables and sweeps, independent of this machine.

A plan is written in full once per file; of every other one there is what is other than in the plan that it is like: a
repetition is like the first repetition of its place, a place like the first column of its row, and that like the first
row's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from testbed import engines, paths
from testbed.engines.engine import Options, Programs
from testbed.plan.model import Plan
from testbed.planning.resolve import resolve
from testbed.scenario import files
from testbed.scenario.load import load
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table as table_run
from testbed.study.kinds import table_file as tables
from testbed.study.kinds.table import TableRequest
from testbed.study.kinds.table_result import Place
from tests.golden import text

OF_THE_RUN = {"run": "RUN", "namespace": "NAMESPACE", "occasion": "manual"}
"""What another run of the same plan has otherwise."""
FORMS = {"quick": ("mininet", True), "sim": ("sim", False), "vkernel": ("vkernel", False)}
"""Of a scenario beside its full form on real packets: engine, and whether it is the quick form."""


@cache
def programs() -> Programs:
    """The simulator knows all policies, as the agent does."""
    from testbed.machine import build

    binaries = build.build_programs("ncp-sim")
    return Programs(binaries, build.policy_facts(binaries["ncp-sim"]))


def options(engine: str, *, quick: bool) -> Options:
    """Those that leave nothing to the machine to choose."""
    return Options(link="relay" if engine == "mininet" else "auto", quick=quick)


def plan_of(name: str, *changed: str, engine: str = "mininet", quick: bool = False, checkout: str = "CHECKOUT") -> Plan:
    """The plan of a scenario by its name; ``changed`` as for ``--set``, ``checkout`` as for :func:`plain`."""
    choices = engines.named(engine).choices(options(engine, quick=quick))
    return plain(resolve(load(name, changed, quick=quick), programs().policies, choices, "RUN"), checkout)


def plain(plan: Mapping[str, Any], checkout: str = "CHECKOUT") -> Plan:
    """Without what is of the run alone; ``checkout`` stands for this checkout's folder."""
    told = json.dumps({**plan, **OF_THE_RUN}, ensure_ascii=False).replace(str(paths.CHECKOUT), checkout)
    found: Plan = json.loads(told)
    return found


def scenarios() -> list[Path]:
    """All that are shipped."""
    return [*files.scenarios(), *files.links()]


def of_scenario(path: Path) -> str:
    """One document: ``full``, and what its other forms have otherwise."""
    full = plan_of(path.stem)
    others = {form: plan_of(path.stem, engine=engine, quick=quick) for form, (engine, quick) in FORMS.items()}
    return text.pretty({"full": full} | {form: text.changes(full, plan) for form, plan in others.items()}) + "\n"


def of_table(path: Path) -> str:
    """All of its cells, and all of its quick form."""
    return _of_cells(
        {
            form: table_run.plans_of(
                tables.load(path.stem, quick=quick), TableRequest(link="relay", quick=quick), programs()
            )
            for form, quick in (("full", False), ("quick", True))
        }
    )


def of_sweep(path: Path) -> str:
    """All of its runs, and all of its quick form."""
    return _of_cells(
        {
            form: sweeps.planned(sweeps.load(path.stem, quick=quick), programs().policies)
            for form, quick in (("full", False), ("quick", True))
        }
    )


def _of_cells(forms: Mapping[str, Iterable[tuple[Place, Plan]]]) -> str:
    lines, first = [], None
    for form, planned in forms.items():
        rows: dict[str, Plan] = {}
        places: dict[tuple[str, str], Plan] = {}
        for cell, made in planned:
            plan = plain(made)
            first = first or plan
            like = places.get((cell.row, cell.column)) or rows.get(cell.row) or first
            places.setdefault((cell.row, cell.column), plan)
            rows.setdefault(cell.row, plan)
            name = json.dumps(f"{form} {cell.row} {cell.column} #{cell.repetition}", ensure_ascii=False)
            lines.append(f"  {name}: {json.dumps(text.changes(like, plan), sort_keys=True, ensure_ascii=False)}")
    return '{\n "first": ' + text.pretty(first, 1, 9) + ',\n "cells": {\n' + ",\n".join(lines) + "\n }\n}\n"
