"""All judgements: the union of their parameters, for scenarios and plans, and the function of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from testbed.checks.evidence import Evidence
from testbed.checks.follows_law import FollowsLaw, follows_law
from testbed.checks.payload_intact import PayloadIntact, payload_intact
from testbed.checks.points_stored import PointsStored, points_stored
from testbed.checks.quantities import RESOLVED
from testbed.checks.ratio import Ratio, ratio
from testbed.checks.result import CheckResult
from testbed.errors import BadInput

Check = Annotated[FollowsLaw | Ratio | PayloadIntact | PointsStored, Field(discriminator="judge")]
"""The parameters of any check, told apart by ``judge``."""

Parameters = FollowsLaw | Ratio | PayloadIntact | PointsStored

JUDGEMENTS: Mapping[str, Callable[[Any, Evidence], CheckResult]] = {
    "follows_law": follows_law,
    "ratio": ratio,
    "payload_intact": payload_intact,
    "points_stored": points_stored,
}
"""A judgement takes its own parameters and the evidence; it raises CannotJudge where something is missing."""

_ADAPTER: TypeAdapter[Parameters] = TypeAdapter(Check)


def parameters_in_plan(checks: list[Mapping[str, Any]]) -> list[Parameters]:
    """The checks of a plan, validated; BadInput names the check and the parameter that is wrong."""
    return [_parameters(check) for check in checks]


def _parameters(check: Mapping[str, Any]) -> Parameters:
    try:
        return _ADAPTER.validate_python(check, context=RESOLVED)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise BadInput(f"plan.json: check {check.get('name')!r}: {where}: {first['msg']}") from error
