"""All judgements: the union of their parameters, for scenarios and plans, and the function of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args

from pydantic import Field, TypeAdapter, ValidationError

from testbed.checks.evidence import Evidence
from testbed.checks.fair_share import FairShare, fair_share
from testbed.checks.follows_law import FollowsLaw, follows_law
from testbed.checks.goodput import Goodput, goodput
from testbed.checks.level import Level, level
from testbed.checks.link_filled import LinkFilled, link_filled
from testbed.checks.mptcp_carried import MptcpCarried, mptcp_carried
from testbed.checks.payload_captured import PayloadCaptured, payload_captured
from testbed.checks.payload_intact import PayloadIntact, payload_intact
from testbed.checks.points_stored import PointsStored, points_stored
from testbed.checks.quantities import RESOLVED
from testbed.checks.ratio import Ratio, ratio
from testbed.checks.result import CheckResult
from testbed.checks.round_trip import RoundTrip, round_trip
from testbed.checks.settles import Settles, settles
from testbed.checks.window_edges import WindowEdges, window_edges
from testbed.errors import BadInput

Parameters = (
    FollowsLaw
    | Ratio
    | Settles
    | Level
    | Goodput
    | FairShare
    | LinkFilled
    | MptcpCarried
    | PayloadCaptured
    | PayloadIntact
    | PointsStored
    | RoundTrip
    | WindowEdges
)

Check = Annotated[Parameters, Field(discriminator="judge")]
"""The parameters of any check, told apart by ``judge``."""

JUDGEMENTS: Mapping[str, Callable[[Any, Evidence], CheckResult]] = {
    "follows_law": follows_law,
    "ratio": ratio,
    "settles": settles,
    "level": level,
    "goodput": goodput,
    "fair_share": fair_share,
    "link_filled": link_filled,
    "mptcp_carried": mptcp_carried,
    "payload_captured": payload_captured,
    "payload_intact": payload_intact,
    "points_stored": points_stored,
    "round_trip": round_trip,
    "window_edges": window_edges,
}
"""A judgement takes its own parameters and the evidence; it raises CannotJudge where something is missing."""

FACTS: frozenset[str] = frozenset(
    str(get_args(kind.model_fields["judge"].annotation)[0]) for kind in get_args(Parameters) if kind.fact
)
"""The judgements that are about a fact, not a number."""

_ADAPTER: TypeAdapter[Parameters] = TypeAdapter(Check)


def parameters_in_plan(checks: Sequence[Mapping[str, Any]]) -> list[Parameters]:
    """The checks of a plan, validated; BadInput names the check and the parameter that is wrong."""
    return [_parameters(check) for check in checks]


def _parameters(check: Mapping[str, Any]) -> Parameters:
    try:
        return _ADAPTER.validate_python(check, context=RESOLVED)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise BadInput(f"plan.json: check {check.get('name')!r}: {where}: {first['msg']}") from error
