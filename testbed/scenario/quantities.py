"""Field types that read quantities with units (``50ms``, ``1024pps``) into plain numbers.

A field of one of these types stores the number in the unit that the type's name says.
"""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, WithJsonSchema

from testbed.message import InvalidValue
from topologies import units
from topologies.impairments.impairment import SHARE

OF_A_USER = {"of": "user"}
"""Context of validation for what a user writes: a result keeps what earlier versions took."""


def _share(value: object, info: ValidationInfo) -> float:
    return (units.parse_share if info.context == OF_A_USER else SHARE.parse)(value)


def _whole(seconds: float) -> float:
    if seconds % 1:
        raise InvalidValue("tcp.whole-seconds", f"{seconds:g} s: iperf3 counts whole seconds, for example 10s")
    return seconds


def written(what: str, *examples: str | float) -> WithJsonSchema:
    """Patterns of quantities, for the schemas."""
    types = ["string", "number"] if any(isinstance(example, (int, float)) for example in examples) else "string"
    return WithJsonSchema({"type": types, "description": what, "examples": list(examples)})


DURATION = written("a duration with its unit, or 0", "50ms", "2s", "1min", 0)

DurationSeconds = Annotated[float, BeforeValidator(units.parse_duration_s), DURATION]
Iperf3Seconds = Annotated[float, BeforeValidator(units.parse_duration_s), AfterValidator(_whole), DURATION]
DelayMilliseconds = Annotated[float, BeforeValidator(units.parse_delay_ms), DURATION]
SizeBytes = Annotated[
    int, BeforeValidator(units.parse_size_bytes), written("a size with its unit", "48MiB", "64KiB", "1024B")
]
Fraction = Annotated[float, BeforeValidator(_share), written(SHARE.description, *SHARE.examples)]
LinkRate = Annotated[
    units.Rate,
    BeforeValidator(units.parse_rate),
    written("a rate in full-size packets or in bits per second", "1024pps", "8mbit"),
]
QUEUE = written("a queue's limit", "100 packets", "64KiB", "20ms", "1x bdp")
QueueLimit = Annotated[units.QueueLength, BeforeValidator(units.parse_queue), QUEUE]
