"""Reads sweep files (``scenarios/sweeps/``): what one may say, and the plan of each of its runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, field_validator, model_validator

from testbed import engines
from testbed.engines.engine import Options, Programs
from testbed.errors import BadInput
from testbed.judge.checks.planned import bound_bps
from testbed.judge.history import commit_of, provenance_of
from testbed.judge.ncp_figures import FIGURES
from testbed.message import InvalidValue
from testbed.plan.engines import SWEEP
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices
from testbed.planning.sessions import PolicyFacts
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.kept import TEXT
from testbed.scenario.load import LoadedScenario, parse, plain, validated
from testbed.scenario.overrides import assigned_twice
from testbed.scenario.quantities import DurationSeconds, Fraction
from testbed.scenario.quick import apply_quick
from testbed.scenario.section import Name, Section
from testbed.study.kinds.table_result import Place, places_of
from testbed.study.own_scenario import own_file, with_kept_topology

MOST_RUNS = 10_000
ALL_ARRIVED = "every byte arrives"
"""The name of the check that every sweep has."""
POLICY = "policy"
"""Name of the policies in plots, beside the parameters' keys."""


def _known_figure(name: str) -> str:
    if name not in FIGURES:
        known = ", ".join(FIGURES)
        raise InvalidValue("sweep.no-such-figure", f"there is no figure {name!r}; figures: {known}")
    return name


class Setting(Section):
    """A value that changes several keys at once; ``label`` is what table and plots call it."""

    label: str
    set: dict[str, Any] = Field(min_length=1)


Value = Setting | str | int | float


class LawLine(Section):
    """The convergence law over a sweep: the slope of the fitted line of ``policy``'s time until the windows are in the
    links' ratio, over τ = W / Σ rate, is the law's within ``tolerance`` (a part of it).

    The law is about windows that keep their links filled; runs whose τ is shorter than ``min_round_trips`` (of their
    own measured, queue included) do not count.
    """

    policy: Name
    tolerance: Fraction
    min_round_trips: float = Field(0.0, ge=0)

    @property
    def check(self) -> str:
        """The name of its check."""
        return f"law τ = W/Σrate, {self.policy}"


class PlotOf(Section):
    """A figure over a parameter: a line for each value of ``lines``, a panel for each of ``panels``."""

    figure: Annotated[str, AfterValidator(_known_figure)]
    x: str
    lines: str = POLICY
    panels: str | None = None

    @property
    def keys(self) -> list[str]:
        """Parameters that the plot distinguishes."""
        return [key for key in (self.x, self.lines, self.panels) if key is not None]


class Combination(NamedTuple):
    """A row of a sweep: one of each parameter's values."""

    set: dict[str, Any]
    """Changes of the scenario."""
    values: dict[str, Any]
    """Values by parameter, as table and plots have them."""


def shown(value: Value) -> str | int | float:
    """A parameter's value as table and plots have it."""
    return value.label if isinstance(value, Setting) else value


class Sweep(Section):
    """A sweep: every combination of the parameters' values, by every policy, with every seed, is one run."""

    name: Name
    title: str
    source: str = ""
    description: str = ""
    scenario: str
    """The base: a scenario's name."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Changes of the scenario in all runs, in the form of ``--set``."""
    parameters: dict[str, list[Value]] = Field(min_length=1)
    """Dotted key, as for ``--set`` → the values; or a word → ``{label, set}`` each."""
    policies: Literal["all"] | Annotated[list[Name], Field(min_length=1)] = "all"
    seeds: int = Field(1, ge=1, le=1000)
    seed: int = Field(1, ge=0, lt=2**62)
    """The first one."""
    seconds: DurationSeconds | None = Field(None, gt=0)
    """Each run transfers what its links carry in this time; without it what the scenario says."""
    plots: list[PlotOf] = Field(min_length=1)
    law: LawLine | None = None
    quick: dict[str, Any] = Field(default_factory=dict)
    """Keys of the sweep that ``--quick`` replaces."""

    @property
    def checks(self) -> list[str]:
        """The names of its checks."""
        return [ALL_ARRIVED, *([self.law.check] if self.law else [])]

    @field_validator("parameters")
    @classmethod
    def _values_differ(cls, parameters: dict[str, list[Value]]) -> dict[str, list[Value]]:
        for key, values in parameters.items():
            if not values:
                raise InvalidValue("sweep.no-values", f"{key} has no values; give at least one")
            if len({shown(value) for value in values}) < len(values):
                raise InvalidValue("sweep.value-twice", f"{key} has a value twice; give each once")
        if POLICY in parameters or "ncp.policy" in parameters:
            raise InvalidValue("sweep.policies-as-parameter", "policies are not a parameter; list them under policies")
        return parameters

    @model_validator(mode="after")
    def _fits_together(self) -> Sweep:
        each = 1 if self.policies == "all" else len(self.policies)
        runs = prod(len(values) for values in self.parameters.values()) * each * self.seeds
        if runs > MOST_RUNS:
            raise InvalidValue(
                "sweep.too-many-runs", f"parameters: all combinations are {runs} runs; {MOST_RUNS} at most"
            )
        known = [*self.parameters, POLICY]
        varied = [key for key, values in self.parameters.items() if len(values) > 1]
        if self.policies == "all" or len(self.policies) > 1:
            varied.append(POLICY)
        for number, plot in enumerate(self.plots, start=1):
            for key in plot.keys:
                if key not in known:
                    raise InvalidValue(
                        "sweep.no-such-parameter",
                        f"plots.{number}: there is no parameter {key!r}; there are {', '.join(known)}",
                    )
            if missing := [key for key in varied if key not in plot.keys]:
                raise InvalidValue(
                    "sweep.mixed-values",
                    f"plots.{number}: {missing[0]} is none of x, lines and panels, so its values would be mixed",
                )
        return self

    def combinations(self) -> dict[str, Combination]:
        """The rows by their names, in the order of the file."""
        found = {}
        for values in itertools.product(*self.parameters.values()):
            by_key = dict(zip(self.parameters, values, strict=True))
            set_: dict[str, Any] = {}
            for key, value in by_key.items():
                set_ |= value.set if isinstance(value, Setting) else {key: value}
            reported = {key: shown(value) for key, value in by_key.items()}
            found[" ".join(f"{key}={value}" for key, value in reported.items())] = Combination(set_, reported)
        return found

    def places(self, policies: Collection[str]) -> list[Place]:
        """The runs: a row for every combination, a column for every policy, a repetition for every seed; runs that
        differ in their seed alone are consecutive. ``policies`` are all that there are."""
        columns = policies if self.policies == "all" else self.policies
        return places_of(dict.fromkeys(self.combinations()), columns, self.seeds)


@dataclass(frozen=True)
class LoadedSweep:
    """A validated sweep, its file, and the lines of its parameters."""

    sweep: Sweep
    path: Path
    lines: dict[str, int]
    quick: bool
    overrides: tuple[str, ...] = ()
    """Changes by ``--set`` in every run."""
    folder: Path | None = None
    """The result folder that keeps its scenario, of a sweep that was read from one."""

    def scenario(self, assignments: Sequence[str] = ()) -> LoadedScenario:
        """The scenario with what a run changes in it; raises :class:`BadInput`."""
        if self.folder is None:
            return scenarios.load(self.sweep.scenario, assignments)
        return with_kept_topology(scenarios.load(self._kept(self.folder), assignments), self.folder)

    def refuse_varied(self) -> None:
        """Raise :class:`BadInput` where ``--set`` is of what the runs differ in: they would not be what they are
        named."""
        document = scenarios.document_of(self.sweep.scenario, (), quick=False)[1]
        own = {"ncp.policy", *(key for row in self.sweep.combinations().values() for key in row.set)}
        if text := assigned_twice(document, self.overrides, own):
            raise BadInput(
                "sweep.set-of-varied",
                f"--set {text}: is what the runs of {self.sweep.name} differ in",
                f"Change it in the sweep's file, {self.path}, or in a copy of that.",
            )

    def _kept(self, folder: Path) -> str:
        """The scenario as the folder has it. Earlier folders have none: for them it is this checkout's of that name,
        and BadInput where it was a user's own file."""
        kept = folder / TEXT
        if kept.is_file():
            return str(own_file(kept, Path(self.sweep.scenario).stem, commit_of(provenance_of(folder))))
        if files.is_path(self.sweep.scenario):
            raise BadInput(
                "verify.no-scenario",
                f"its scenario, {self.sweep.scenario}, is not in the folder, and no other file is read for a result",
            )
        return self.sweep.scenario


def load(name: str, assignments: Sequence[str] = (), *, quick: bool = False) -> LoadedSweep:
    """Read and validate; raises :class:`BadInput`. ``assignments`` change the base scenario."""
    path = files.find(name, "sweep", files.sweeps())
    document = parse(path, files.read(path), "a sweep is a mapping with name, scenario, parameters, plots")
    changes, own = document.get("quick"), Sweep.model_fields.keys() - {"name", "quick"}
    for key in changes if isinstance(changes, dict) else ():
        if key not in own:
            raise BadInput("sweep.bad-quick", f"{path}: quick.{key}: it replaces keys of the sweep, such as seeds")
    if quick:
        apply_quick(path, document, own)
    sweep = validated(Sweep, path, document)
    where = document["parameters"]
    lines = {str(key): where.lc.key(key)[0] + 1 for key in where if key in (where.lc.data or {})}
    return LoadedSweep(sweep, path, lines, quick, tuple(assignments))


def planned(loaded: LoadedSweep, policies: PolicyFacts, code: bytes | None = None) -> Iterator[tuple[Place, Plan]]:
    """Every run with its plan, named by programs of that ``code``; raises :class:`BadInput` for what is wrong with any
    of them, which names the file, line, key and value."""
    sweep, rows = loaded.sweep, loaded.sweep.combinations()
    engine, programs = engines.named(SWEEP), Programs({}, policies, code)
    for (name, policy), places in itertools.groupby(sweep.places(policies), key=lambda place: place[:2]):
        set_ = {**sweep.set, **rows[name].set, "ncp.policy": policy}
        assignments = [f"{key}={json.dumps(plain(value), ensure_ascii=False)}" for key, value in set_.items()]
        assignments += loaded.overrides
        # A run is the same whenever it is made.
        choices = replace(engine.choices(Options(seed=sweep.seed, quick=loaded.quick)), occasion=Choices.occasion)
        try:
            scenario = loaded.scenario(assignments)
            if sweep.seconds is not None:
                plan = engine.plan(scenario, programs, choices)
                session = plan["sessions"][0]
                packets = round(bound_bps(plan, session, to_s=sweep.seconds) / 8 / session["mtu_bytes"] * sweep.seconds)
                scenario = loaded.scenario([*assignments, f"ncp.transfer={packets * session['mtu_bytes']}B"])
            for place in places:
                choices = replace(choices, seed=sweep.seed + place.repetition - 1)
                plan = engine.plan(scenario, programs, choices)
                if refused := engine.unsupported(plan):
                    raise BadInput("sweep.not-in-virtual-time", f"{refused[0]}", "A sweep runs in virtual time.")
                yield place, plan
        except BadInput as error:
            raise error.at(_where(loaded, rows[name], error)) from error


def _where(loaded: LoadedSweep, row: Combination, error: BadInput) -> str:
    """The file, with the parameter that an error is about, its line and its value."""
    mistakes = error.said.details.get("mistakes", [error.said])
    fields = [f".{one.details.get('field') or one.details.get('key', '')}." for one in mistakes]
    for key, value in loaded.sweep.parameters.items():
        keys = value[0].set if isinstance(value[0], Setting) else [key]
        if any(f".{name}." in field for name in keys for field in fields):
            return f"{loaded.path}:{loaded.lines.get(key, 1)}: parameters.{key}: {row.values[key]!r}"
    return f"{loaded.path}: set"
