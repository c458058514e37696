"""All checks: the union of their parameters, for scenarios and plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args

from pydantic import Field, TypeAdapter, ValidationError

from testbed.documents import explain
from testbed.errors import BadInput
from testbed.judge.checks.parameters import RESOLVED, CheckParameters

MODULES = ("law", "in_range", "goodput", "together", "ends")
"""Files beside this one whose classes are checks."""

CHECKS: Mapping[str, type[CheckParameters]] = {
    judge: kind
    for module in MODULES
    for kind in vars(import_module(f"testbed.judge.checks.{module}")).values()
    if isinstance(kind, type) and issubclass(kind, CheckParameters)
    for judge in get_args(kind.model_fields["judge"].annotation)
}
"""Checks by the value of their ``judge``."""

if TYPE_CHECKING:
    Check = CheckParameters
else:
    Check = Annotated[Union[tuple(CHECKS.values())], Field(discriminator="judge")]  # noqa: UP007
    """The parameters of any check, told apart by ``judge``."""

FACTS: frozenset[str] = frozenset(name for name, kind in CHECKS.items() if kind.fact)
"""Checks of a fact, not of a number."""

_ADAPTER: TypeAdapter[Check] = TypeAdapter(Check)


def parameters_in_plan(checks: Sequence[Mapping[str, Any]]) -> list[CheckParameters]:
    """The checks of a plan, validated; BadInput names the check and the parameter that is wrong."""
    found: list[CheckParameters] = []
    for check in checks:
        try:
            found.append(_ADAPTER.validate_python(check, context=RESOLVED))
        except ValidationError as error:
            raise BadInput("plan.bad-check", f"plan.json: check {check.get('name')!r}: {explain(error)}") from error
    return found
