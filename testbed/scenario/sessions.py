"""Several sessions and other traffic over a shared network, as a scenario describes them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from testbed.scenario.quantities import DelayMilliseconds, DurationSeconds, LinkRate, SizeBytes
from testbed.scenario.section import Name, Section


class Session(Section):
    """One of several NCP sessions, between hosts of its own; what it leaves out is as in ``ncp``."""

    name: Name
    sender: Name | None = None
    """Hosts, where the topology does not tell them."""
    receiver: Name | None = None
    start_s: DurationSeconds = Field(0.0, alias="start")
    connections: int = Field(1, ge=1, le=16)
    policy: Name | None = None
    transfer_bytes: SizeBytes | None = Field(None, alias="transfer")
    send_window_bytes: SizeBytes | None = Field(None, alias="send_window")
    initial_windows: list[Annotated[int, Field(ge=1)]] | None = None
    """Packets, one per connection."""


class Access(Section):
    """The links between hosts and routers. Without a rate they have twice the bottleneck's."""

    rate: LinkRate | None = None
    delay_ms: DelayMilliseconds = Field(1.0, alias="delay")


class CrossTraffic(Section):
    """Traffic of another program over the bottleneck, between hosts of its own."""

    tool: Literal["iperf3"]
    sender: Name | None = None
    """Hosts, where the topology does not tell them."""
    receiver: Name | None = None
    congestion_control: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,14}$")] = "cubic"
    from_s: DurationSeconds = Field(0.0, alias="from")
    for_s: DurationSeconds = Field(alias="for", gt=0)

    @field_validator("for_s")
    @classmethod
    def _whole_seconds(cls, for_s: float) -> float:
        if for_s % 1:
            raise ValueError(f"{for_s:g} s: iperf3 counts whole seconds, for example 10s")
        return for_s
