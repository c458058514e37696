"""Field types that read quantities with units (``50ms``, ``1024pps``) into plain numbers.

A field of one of these types stores the number in the unit that the type's name says.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from testbed import units


def _whole(seconds: float) -> float:
    if seconds % 1:
        raise ValueError(f"{seconds:g} s: iperf3 counts whole seconds, for example 10s")
    return seconds


DurationSeconds = Annotated[float, BeforeValidator(units.parse_duration_s)]
Iperf3Seconds = Annotated[DurationSeconds, AfterValidator(_whole)]
DelayMilliseconds = Annotated[float, BeforeValidator(units.parse_delay_ms)]
SizeBytes = Annotated[int, BeforeValidator(units.parse_size_bytes)]
Fraction = Annotated[float, BeforeValidator(units.parse_fraction)]
LinkRate = Annotated[units.Rate, BeforeValidator(units.parse_rate)]
QueueLimit = Annotated[units.QueueLength, BeforeValidator(units.parse_queue)]
