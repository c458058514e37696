"""All checks, a line each: the union of their parameters, for scenarios and plans."""

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args

from pydantic import Field, TypeAdapter, ValidationError

from testbed.documents import explain
from testbed.errors import BadInput
from testbed.judge.checks.parameters import RESOLVED, CheckParameters

CLASSES = (
    "law:FollowsLaw",
    "law:TimeConstant",
    "in_range:Ratio",
    "in_range:Settles",
    "in_range:Level",
    "goodput:Goodput",
    "together:Bottleneck",
    "together:FairShare",
    "together:LinkFilled",
    "ends:MptcpCarried",
    "goodput:Multipath",
    "ends:PayloadCaptured",
    "ends:PayloadIntact",
    "ends:PointsStored",
    "ends:ProtocolKept",
    "in_range:RoundTrip",
    "ends:WindowEdges",
)
"""Files beside this one, and the class of a check in each."""

CHECKS: Mapping[str, type[CheckParameters]] = {
    get_args(kind.model_fields["judge"].annotation)[0]: kind
    for kind in (resolve_name(f"testbed.judge.checks.{place}") for place in CLASSES)
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
