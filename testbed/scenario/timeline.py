"""The timeline: what happens to links and agents while a transfer is on, in seconds since its start."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from testbed.message import InvalidValue
from testbed.scenario.links import BurstLoss, impaired
from testbed.scenario.quantities import DelayMilliseconds, DurationSeconds, Fraction, LinkRate
from testbed.scenario.section import Name, Section

Direction = Literal["ab", "ba", "both"]


class Event(Section):
    """Something at a time since the transfer's start."""

    at_s: DurationSeconds = Field(alias="at")
    """Since the transfer's start."""

    @property
    def actions(self) -> int:
        """The number of single actions that it stands for, about."""
        return 1


@impaired(None)
class SetLink(Event):
    """Change properties of a link, keeping what is queued; 0 removes an impairment."""

    do: Literal["set"]
    link: Name
    direction: Direction = "both"
    """``ab`` or ``ba`` for one way."""
    rate: LinkRate | None = None
    delay_ms: DelayMilliseconds | None = Field(None, alias="delay")
    jitter_ms: DelayMilliseconds | None = Field(None, alias="jitter")
    loss: Fraction | None = None
    burst_loss: BurstLoss | None = None

    @model_validator(mode="after")
    def _something(self) -> SetLink:
        if not self.model_fields_set - {"at_s", "do", "link", "direction"}:
            raise InvalidValue(
                "timeline.sets-nothing", "sets nothing; give for example rate: 512pps, delay: 100ms or loss: 0"
            )
        return self


class Carrier(Event):
    """Takes the link down or up, as the hosts see it."""

    do: Literal["down", "up"]
    link: Name


class Flap(Event):
    """Takes the link down and up ``times`` times: ``down`` seconds off, ``up`` seconds on."""

    do: Literal["flap"]
    link: Name
    times: int = Field(ge=1, le=1000)
    """Number of times."""
    down_s: DurationSeconds = Field(alias="down", gt=0)
    """Duration for which the link is down, each time."""
    up_s: DurationSeconds = Field(alias="up", gt=0)
    """Duration for which it is up in between."""

    @property
    def actions(self) -> int:
        return 2 * self.times


class Blackhole(Event):
    """The link loses everything, with carrier, for a time."""

    do: Literal["blackhole"]
    link: Name
    for_s: DurationSeconds = Field(alias="for", gt=0)
    """Duration."""


class PauseRead(Event):
    """The receiver's agent stops reading from one connection's socket for a time."""

    do: Literal["pause_read"]
    connection: int = Field(ge=1)
    """Number of the connection, from 1."""
    for_s: DurationSeconds = Field(alias="for", gt=0)
    """Duration."""


class Ramp(Event):
    """Move one property evenly from one value to another, a step at a time."""

    do: Literal["ramp"]
    link: Name
    direction: Direction = "both"
    over_s: DurationSeconds = Field(alias="over", gt=0)
    """Duration of the ramp."""
    step_s: DurationSeconds = Field(0.1, alias="step", ge=0.02)
    """Interval between two values; default 100 ms."""
    rate: tuple[LinkRate, LinkRate] | None = None
    """First and last rate."""
    delay_ms: tuple[DelayMilliseconds, DelayMilliseconds] | None = Field(None, alias="delay")
    """First and last delay."""
    loss: tuple[Fraction, Fraction] | None = None
    """First and last loss."""

    @property
    def actions(self) -> int:
        return round(self.over_s / self.step_s) + 1

    @model_validator(mode="after")
    def _one(self) -> Ramp:
        if sum(value is not None for value in (self.rate, self.delay_ms, self.loss)) != 1:
            raise InvalidValue(
                "timeline.one-ramp", "give one of rate, delay and loss, from and to, for example delay: [50ms, 500ms]"
            )
        return self


TimelineEvent = Annotated[SetLink | Carrier | Flap | Blackhole | PauseRead | Ramp, Field(discriminator="do")]
