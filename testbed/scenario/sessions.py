"""Several sessions and other traffic over a shared network, as a scenario describes them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from testbed.scenario.quantities import DelayMilliseconds, DurationSeconds, Iperf3Seconds, LinkRate, SizeBytes
from testbed.scenario.section import CongestionControl, Name, Section

LinkNames = Annotated[list[Name], Field(min_length=1)]

MOST_WINDOW = 1 << 30
"""Bytes or packets that an agent takes."""


class Session(Section):
    """One of several NCP sessions; what it doesn't say is taken from ``ncp``."""

    name: Name
    """What checks, series and results call it."""
    sender: Name | None = None
    """Hosts, if the topology does not define them."""
    receiver: Name | None = None
    """As sender."""
    start_s: DurationSeconds = Field(0.0, alias="start")
    """After the first session."""
    connections: int = Field(1, ge=1, le=64)
    """How many it has."""
    paths: list[LinkNames] = Field(default_factory=list, max_length=64)
    """For a topology of the user's own: the links that each connection's packets cross, in order."""
    policy: Name | None = None
    """Its window policy."""
    transfer_bytes: SizeBytes | None = Field(None, alias="transfer")
    """How much it sends."""
    send_window_bytes: SizeBytes | None = Field(None, alias="send_window", le=MOST_WINDOW)
    """What may be written and not yet read."""
    initial_windows: list[Annotated[int, Field(ge=1, le=MOST_WINDOW)]] | None = None
    """Packets, one per connection."""

    key_of_paths: ClassVar[str] = "paths"


class Access(Section):
    """The links between hosts and routers. Without a rate they have twice the bottleneck's."""

    rate: LinkRate | None = None
    """Of each."""
    delay_ms: DelayMilliseconds = Field(1.0, alias="delay")
    """One-way; 1 ms if left out."""


class CrossTraffic(Section):
    """Traffic of another program beside the sessions."""

    tool: Literal["iperf3"]
    """The program."""
    sender: Name | None = None
    """Hosts, if the topology does not define them."""
    receiver: Name | None = None
    """As sender."""
    path: LinkNames | None = None
    """For a topology of the user's own: the links that its packets cross, in order."""
    congestion_control: CongestionControl = "cubic"
    """The kernel's, of its connection."""
    from_s: DurationSeconds = Field(0.0, alias="from")
    """After the first session."""
    for_s: Iperf3Seconds = Field(alias="for", gt=0)
    """How long it sends, in whole seconds."""

    key_of_paths: ClassVar[str] = "path"

    @property
    def paths(self) -> list[list[str]]:
        """Its one path, where the scenario tells it."""
        return [self.path] if self.path else []
