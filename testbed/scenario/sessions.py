"""Several sessions and other traffic over a shared network, as a scenario describes them."""

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
    """Name in checks, series and results."""
    sender: Name | None = None
    """Hosts, if the topology does not define them."""
    receiver: Name | None = None
    """Sending host."""
    start_s: DurationSeconds = Field(0.0, alias="start")
    """Start after that of the first session."""
    connections: int = Field(1, ge=1, le=64)
    """Number of connections."""
    paths: list[LinkNames] = Field(default_factory=list, max_length=64)
    """Links that each connection's packets cross, in order; for a topology of the user's own."""
    policy: Name | None = None
    """Window policy."""
    transfer_bytes: SizeBytes | None = Field(None, alias="transfer")
    """Amount of data to send."""
    send_window_bytes: SizeBytes | None = Field(None, alias="send_window", le=MOST_WINDOW)
    """Bytes that may be written and not yet read."""
    initial_windows: list[Annotated[int, Field(ge=1, le=MOST_WINDOW)]] | None = None
    """Packets, one per connection."""

    key_of_paths: ClassVar[str] = "paths"


class Access(Section):
    """The links between hosts and routers. Without a rate they have twice the bottleneck's."""

    rate: LinkRate | None = None
    """Rate of each link."""
    delay_ms: DelayMilliseconds = Field(1.0, alias="delay")
    """One-way; 1 ms if left out."""


class CrossTraffic(Section):
    """Traffic of another program beside the sessions."""

    tool: Literal["iperf3"]
    """The program."""
    sender: Name | None = None
    """Hosts, if the topology does not define them."""
    receiver: Name | None = None
    """Sending host."""
    path: LinkNames | None = None
    """Links that its packets cross, in order; for a topology of the user's own."""
    congestion_control: CongestionControl = "cubic"
    """The kernel's, of its connection."""
    from_s: DurationSeconds = Field(0.0, alias="from")
    """Start after that of the first session."""
    for_s: Iperf3Seconds = Field(alias="for", gt=0)
    """Duration of sending, in whole seconds."""

    key_of_paths: ClassVar[str] = "path"

    @property
    def paths(self) -> list[list[str]]:
        """The flow's one path, if the scenario has it."""
        return [self.path] if self.path else []
