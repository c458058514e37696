"""Reads a sweep file, and makes the plan of each of its runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed.checks import asked
from testbed.engines.sim.refusals import refusals
from testbed.engines.sim.run import run_id
from testbed.errors import BadInput
from testbed.plan.model import Plan
from testbed.plan.resolve import Choices, resolve
from testbed.plan.sessions import PolicyFacts
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.load import LoadedScenario, parse, plain, validated
from testbed.sweep.model import Setting, Sweep, shown


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


@dataclass(frozen=True)
class Point:
    """One run to be made. ``values`` are the parameters' by key, as they are shown; ``set`` what they change."""

    values: dict[str, Any]
    set: dict[str, Any]
    policy: str
    seed: int


def load(name: str, assignments: Sequence[str] = (), *, quick: bool = False) -> LoadedSweep:
    """Read and validate; raises :class:`BadInput`. ``assignments`` change the base scenario."""
    path = files.find(name, "sweep", files.sweeps())
    document = parse(path, files.read(path), "a sweep is a mapping with name, scenario, parameters, plots")
    changes = document.get("quick") or {}
    if quick and isinstance(changes, dict):
        for key in changes:
            if key not in Sweep.model_fields or key in ("name", "quick"):
                raise BadInput(f"{path}: quick.{key}: it replaces keys of the sweep, such as seeds")
        document.update(changes)
    sweep = validated(Sweep, path, document)
    where = document["parameters"]
    lines = {str(key): where.lc.key(key)[0] + 1 for key in where if key in (where.lc.data or {})}
    return LoadedSweep(sweep, path, lines, quick, tuple(assignments))


def points(sweep: Sweep, policies: Sequence[str]) -> Iterator[Point]:
    """All runs, in the order of the file; ``policies`` are all that there are."""
    chosen = policies if sweep.policies == "all" else sweep.policies
    for values in itertools.product(*sweep.parameters.values()):
        by_key = dict(zip(sweep.parameters, values, strict=True))
        set_: dict[str, Any] = {}
        for key, value in by_key.items():
            set_ |= value.set if isinstance(value, Setting) else {key: value}
        for policy in chosen:
            for seed in range(sweep.seed, sweep.seed + sweep.seeds):
                yield Point({key: shown(value) for key, value in by_key.items()}, set_, policy, seed)


def plan_of(loaded: LoadedSweep, point: Point, policies: PolicyFacts) -> Plan:
    """The plan of a run, with its id; raises :class:`BadInput` that names the file, line, key and value."""
    sweep = loaded.sweep
    set_ = {**sweep.set, **point.set, "ncp.policy": point.policy}
    assignments = [f"{key}={json.dumps(plain(value), ensure_ascii=False)}" for key, value in set_.items()]
    choices = Choices("virtual", "model", point.seed, loaded.quick, engine="sim")
    try:
        plan = _plan(loaded, [*assignments, *loaded.overrides], choices, policies)
        if sweep.seconds is not None:
            session = plan["sessions"][0]
            packets = round(asked.bound_bps(plan, session) / 8 / session["mtu_bytes"] * sweep.seconds)
            transfer = f"ncp.transfer={packets * session['mtu_bytes']}B"
            plan = _plan(loaded, [*assignments, *loaded.overrides, transfer], choices, policies)
    except BadInput as error:
        raise BadInput(f"{_where(loaded, point, error.message)}: {error.message}", error.hint) from error
    if refused := refusals(plan):
        raise BadInput(f"{loaded.path}: {refused[0]}", "A sweep runs in virtual time.")
    plan["run"] = run_id(plan)
    return plan


def _plan(loaded: LoadedSweep, assignments: Sequence[str], choices: Choices, policies: PolicyFacts) -> Plan:
    return resolve(loaded.read(loaded.sweep.scenario, tuple(assignments)), policies, choices, "sim")


def _where(loaded: LoadedSweep, point: Point, message: str) -> str:
    """The file, with the parameter that a message is about, its line and its value."""
    for key, value in loaded.sweep.parameters.items():
        keys = value[0].set if isinstance(value[0], Setting) else [key]
        if any(name in message for name in keys):
            return f"{loaded.path}:{loaded.lines.get(key, 1)}: parameters.{key}: {point.values[key]!r}"
    return f"{loaded.path}: set"
