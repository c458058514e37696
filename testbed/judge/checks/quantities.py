"""Field types of check parameters: written with units in a scenario, plain numbers in the plan."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema

from testbed import series
from topologies import units

RESOLVED = {"resolved": True}
"""The validation context for parameters that come from a plan, where durations are numbers of seconds."""


def _seconds(value: Any, info: ValidationInfo) -> float:
    resolved = bool(info.context and info.context.get("resolved"))
    if resolved and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return units.parse_duration_s(value)


Seconds = Annotated[
    float,
    Field(ge=0),
    BeforeValidator(_seconds),
    WithJsonSchema(
        {"type": ["string", "number"], "description": "a duration with its unit, or 0", "examples": ["1s", "500ms", 0]}
    ),
]
"""A duration: ``1s`` or ``500ms`` in a scenario, seconds in a plan."""


def _known_series(name: str) -> str:
    return series.named(name).name


SeriesName = Annotated[str, AfterValidator(_known_series)]
"""The name of a series of the catalogue."""
