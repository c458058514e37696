"""Reads a sweep file, and makes the plan of each of its runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed.engines.sim.refusals import refusals
from testbed.engines.sim.run import run_id
from testbed.errors import BadInput
from testbed.judge.checks import asked
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.load import LoadedScenario, parse, plain, validated
from testbed.scenario.quick import apply_quick
from testbed.study.kinds.table_file import Column, Selection
from testbed.study.kinds.table_result import Place
from testbed.study.sweep.model import Combination, Setting, Sweep, shown


def _reader() -> Callable[[str, tuple[str, ...]], LoadedScenario]:
    return lru_cache(maxsize=2)(scenarios.load)


@dataclass(frozen=True)
class LoadedSweep:
    """A validated sweep, its file, and the lines of its parameters."""

    sweep: Sweep
    path: Path
    lines: dict[str, int]
    quick: bool
    overrides: tuple[str, ...] = ()
    """What ``--set`` changes in every run."""
    read: Callable[[str, tuple[str, ...]], LoadedScenario] = field(default_factory=_reader, compare=False, repr=False)
    """The scenario with what a run changes in it; runs that differ in their seed alone come one after the other."""


def load(name: str, assignments: Sequence[str] = (), *, quick: bool = False) -> LoadedSweep:
    """Read and validate; raises :class:`BadInput`. ``assignments`` change the base scenario."""
    path = files.find(name, "sweep", files.sweeps())
    document = parse(path, files.read(path), "a sweep is a mapping with name, scenario, parameters, plots")
    changes, own = document.get("quick"), Sweep.model_fields.keys() - {"name", "quick"}
    for key in changes if isinstance(changes, dict) else ():
        if key not in own:
            raise BadInput(
                "sweep.bad-quick",
                "{path}: quick.{key}: it replaces keys of the sweep, such as seeds",
                path=path,
                key=key,
            )
    if quick:
        apply_quick(path, document, own)
    sweep = validated(Sweep, path, document)
    where = document["parameters"]
    lines = {str(key): where.lc.key(key)[0] + 1 for key in where if key in (where.lc.data or {})}
    return LoadedSweep(sweep, path, lines, quick, tuple(assignments))


def combinations(sweep: Sweep) -> dict[str, Combination]:
    """The rows, in the order of the file."""
    found = []
    for values in itertools.product(*sweep.parameters.values()):
        by_key = dict(zip(sweep.parameters, values, strict=True))
        set_: dict[str, Any] = {}
        for key, value in by_key.items():
            set_ |= value.set if isinstance(value, Setting) else {key: value}
        told = {key: shown(value) for key, value in by_key.items()}
        name = " ".join(f"{key}={value}" for key, value in told.items())
        found.append(Combination(name=name, set=set_, values=told))
    return {row.name: row for row in found}


def selection(sweep: Sweep, policies: Sequence[str]) -> Selection:
    """All runs: a row for every combination, a column for every policy, a repetition for every seed. ``policies`` are
    all that there are."""
    chosen = policies if sweep.policies == "all" else sweep.policies
    columns = {policy: Column(name=policy, set={"ncp.policy": policy}) for policy in chosen}
    return Selection(combinations(sweep), columns, sweep.seeds, whole=True)


def planned(loaded: LoadedSweep, policies: PolicyFacts) -> Iterator[tuple[Place, Plan]]:
    """Every run with its plan, those that differ in their seed alone one after the other; raises :class:`BadInput` for
    what is wrong with any of them."""
    chosen, rows = selection(loaded.sweep, list(policies)), combinations(loaded.sweep)
    for place in chosen.by_place():
        yield place, _plan_of(loaded, rows[place.row], chosen.columns[place.column], place.repetition, policies)


def _plan_of(loaded: LoadedSweep, row: Combination, column: Column, repetition: int, policies: PolicyFacts) -> Plan:
    """The plan of a run, with its id; raises :class:`BadInput` that names the file, line, key and value."""
    sweep = loaded.sweep
    set_ = {**sweep.set, **row.set, **column.set}
    assignments = [f"{key}={json.dumps(plain(value), ensure_ascii=False)}" for key, value in set_.items()]
    choices = Choices("virtual", "model", sweep.seed + repetition - 1, loaded.quick, engine="sim")
    try:
        plan = _plan(loaded, [*assignments, *loaded.overrides], choices, policies)
        if sweep.seconds is not None:
            session = plan["sessions"][0]
            packets = round(asked.bound_bps(plan, session) / 8 / session["mtu_bytes"] * sweep.seconds)
            transfer = f"ncp.transfer={packets * session['mtu_bytes']}B"
            plan = _plan(loaded, [*assignments, *loaded.overrides, transfer], choices, policies)
    except BadInput as error:
        raise error.at(_where(loaded, row, error)) from error
    if refused := refusals(plan):
        raise BadInput(
            "sweep.not-in-virtual-time",
            "{path}: {why}",
            "A sweep runs in virtual time.",
            path=loaded.path,
            why=refused[0],
        )
    plan["run"] = run_id(plan)
    return plan


def _plan(loaded: LoadedSweep, assignments: Sequence[str], choices: Choices, policies: PolicyFacts) -> Plan:
    return resolve(loaded.read(loaded.sweep.scenario, tuple(assignments)), policies, choices, "sim")


def _where(loaded: LoadedSweep, row: Combination, error: BadInput) -> str:
    """The file, with the parameter that an error is about, its line and its value."""
    mistakes = error.parameters.get("mistakes", [error.said])
    fields = [f".{one.parameters.get('field') or one.parameters.get('key', '')}." for one in mistakes]
    for key, value in loaded.sweep.parameters.items():
        keys = value[0].set if isinstance(value[0], Setting) else [key]
        if any(f".{name}." in field for name in keys for field in fields):
            return f"{loaded.path}:{loaded.lines.get(key, 1)}: parameters.{key}: {row.values[key]!r}"
    return f"{loaded.path}: set"
