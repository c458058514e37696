"""What a sweep file may say (``scenarios/sweeps/``)."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from testbed.message import InvalidValue
from testbed.scenario.quantities import DurationSeconds, Fraction
from testbed.scenario.section import Name, Section
from testbed.study.kinds.table_file import Row
from testbed.study.sweep.figures import FIGURES

MOST_RUNS = 10_000
ALL_ARRIVED = "every byte arrives"
"""The name of the check that every sweep has."""
POLICY = "policy"
"""How a plot names the policies, beside the parameters' keys."""


def _known_figure(name: str) -> str:
    if name not in FIGURES:
        raise InvalidValue(
            "sweep.no-such-figure",
            "there is no figure {figure!r}; figures: {known}",
            figure=name,
            known=", ".join(FIGURES),
        )
    return name


class Setting(Section):
    """A value that changes several keys at once; ``label`` is what table and plots call it."""

    label: str
    set: dict[str, Any] = Field(min_length=1)


class Combination(Row):
    """A row of a sweep: one of each parameter's ``values``, as they are shown, by key."""

    name: str
    values: dict[str, Any]


class PlotOf(Section):
    """A figure over a parameter: a line for each value of ``lines``, a panel for each of ``panels``."""

    figure: Annotated[str, AfterValidator(_known_figure)]
    x: str
    lines: str = POLICY
    panels: str | None = None

    @property
    def keys(self) -> list[str]:
        """What it tells apart."""
        return [key for key in (self.x, self.lines, self.panels) if key is not None]


class LawLine(Section):
    """``policy``'s time until the windows are in the links' ratio, over τ = W / Σ rate: the fitted slope is that of
    the convergence law, within ``tolerance`` (a part of it).

    The law is about windows that keep their links filled; runs whose τ is shorter than ``min_round_trips`` (of their
    own measured, queue included) are not asked.
    """

    policy: Name
    tolerance: Fraction
    min_round_trips: float = Field(0.0, ge=0)

    @property
    def check(self) -> str:
        """What its check is called."""
        return f"law τ = W/Σrate, {self.policy}"


def shown(value: Setting | str | int | float) -> str | int | float:
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
    """What all runs change in it, in the form of ``--set``."""
    parameters: dict[str, list[Setting | str | int | float]] = Field(min_length=1)
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
    def _values_differ(
        cls, parameters: dict[str, list[Setting | str | int | float]]
    ) -> dict[str, list[Setting | str | int | float]]:
        for key, values in parameters.items():
            if not values:
                raise InvalidValue("sweep.no-values", "{key} has no values; give at least one", key=key)
            if len({shown(value) for value in values}) < len(values):
                raise InvalidValue("sweep.value-twice", "{key} has a value twice; give each once", key=key)
        if POLICY in parameters or "ncp.policy" in parameters:
            raise InvalidValue("sweep.policies-as-parameter", "policies are not a parameter; list them under policies")
        return parameters

    @model_validator(mode="after")
    def _not_too_many(self) -> Sweep:
        each = 1 if self.policies == "all" else len(self.policies)
        runs = prod(len(values) for values in self.parameters.values()) * each * self.seeds
        if runs > MOST_RUNS:
            raise InvalidValue(
                "sweep.too-many-runs",
                "parameters: all combinations are {runs} runs; {most_runs} at most",
                runs=runs,
                most_runs=MOST_RUNS,
            )
        return self

    @model_validator(mode="after")
    def _plots_tell_all_apart(self) -> Sweep:
        known = [*self.parameters, POLICY]
        varied = [key for key, values in self.parameters.items() if len(values) > 1]
        if self.policies == "all" or len(self.policies) > 1:
            varied.append(POLICY)
        for number, plot in enumerate(self.plots, start=1):
            for key in plot.keys:
                if key not in known:
                    raise InvalidValue(
                        "sweep.no-such-parameter",
                        "plots.{plot}: there is no parameter {parameter!r}; there are {known}",
                        plot=number,
                        parameter=key,
                        known=", ".join(known),
                    )
            if missing := [key for key in varied if key not in plot.keys]:
                raise InvalidValue(
                    "sweep.mixed-values",
                    "plots.{plot}: {parameter} is none of x, lines and panels, so its values would be mixed",
                    plot=number,
                    parameter=missing[0],
                )
        return self
