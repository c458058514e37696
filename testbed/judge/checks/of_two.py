"""Parameters of checks that compare two connections of a session."""

from __future__ import annotations

from pydantic import AliasChoices, Field, model_validator
from typing_extensions import Self

from testbed.judge.checks.parameters import CheckParameters, ConnectionIndex
from testbed.judge.checks.quantities import SeriesName
from testbed.message import InvalidValue


class OfTwo(CheckParameters):
    """``series`` of the first of two connections over that of the second."""

    series: SeriesName = "window_packets"
    session: str | None = None
    connections: list[ConnectionIndex] = Field(
        ["1", "2"], min_length=2, max_length=2, validation_alias=AliasChoices("of", "connections")
    )

    @model_validator(mode="after")
    def _two(self) -> Self:
        if self.connections[0] == self.connections[1]:
            raise InvalidValue("check.of-the-same", "of has to name two different ones, for example [1, 2]")
        return self
