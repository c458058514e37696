"""All checks, a line each: the union of their parameters, for scenarios and plans, and the function of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Union, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from testbed.errors import BadInput
from testbed.judge.checks.evidence import Evidence
from testbed.judge.checks.parameters import RESOLVED, CheckParameters
from testbed.judge.checks.result import CheckResult

NAMES = (
    "follows_law",
    "ratio",
    "settles",
    "level",
    "goodput",
    "bottleneck",
    "fair_share",
    "link_filled",
    "mptcp_carried",
    "multipath",
    "payload_captured",
    "payload_intact",
    "points_stored",
    "round_trip",
    "window_edges",
)
"""Values of a check's ``judge``: for each a file of that name, with a function of that name."""

JUDGEMENTS: Mapping[str, Callable[[Any, Evidence], CheckResult]] = {
    name: getattr(import_module(f"testbed.judge.checks.{name}"), name) for name in NAMES
}
"""A check's function takes its parameters and the evidence; it raises CannotJudge where something is missing."""

PARAMETERS: Mapping[str, type[CheckParameters]] = {
    name: get_type_hints(judged)["parameters"] for name, judged in JUDGEMENTS.items()
}
"""The parameters of each, as its function names them."""

if TYPE_CHECKING:
    Check = CheckParameters
else:
    Check = Annotated[Union[tuple(PARAMETERS.values())], Field(discriminator="judge")]  # noqa: UP007
    """The parameters of any check, told apart by ``judge``."""

FACTS: frozenset[str] = frozenset(name for name, kind in PARAMETERS.items() if kind.fact)
"""Checks of a fact, not of a number."""

_ADAPTER: TypeAdapter[Check] = TypeAdapter(Check)


def parameters_in_plan(checks: Sequence[Mapping[str, Any]]) -> list[CheckParameters]:
    """The checks of a plan, validated; BadInput names the check and the parameter that is wrong."""
    return [_parameters(check) for check in checks]


def _parameters(check: Mapping[str, Any]) -> CheckParameters:
    try:
        return _ADAPTER.validate_python(check, context=RESOLVED)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise BadInput(
            "plan.bad-check",
            "plan.json: check {check!r}: {where}: {error}",
            check=check.get("name"),
            where=where,
            error=first["msg"],
        ) from error
