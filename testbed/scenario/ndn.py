"""The ``ndn:`` section of a scenario: what is fetched, how the consumer reacts, and what forwarders mark."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from testbed.message import InvalidValue
from testbed.scenario.quantities import DelayMilliseconds, SizeBytes
from testbed.scenario.section import CongestionControl, Section

Prefix = Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9._=-]{1,64}){1,8}$")]

HACKATHON_BYTES, NFD_BYTES = 50_000, 65_536
DEFAULT_THRESHOLD_BYTES = {"hackathon": HACKATHON_BYTES, "nfd": NFD_BYTES, "off": 0}


class Consumer(Section):
    """The host at the near end, ``h1``: one Interest per segment, a window of them at a time."""

    algorithm: Literal["aimd", "cubic"] = "aimd"
    ignore_marks: bool = False
    """Whether congestion marks change nothing; losses cut the window all the same."""
    rto_min_ms: DelayMilliseconds = Field(200.0, alias="rto_min", gt=0)
    initial_cwnd: float = Field(1.0, alias="initial_window", ge=1)
    """Interests."""
    aimd_step: float = Field(1.0, alias="step", gt=0)
    """AIMD's growth per round trip, in Interests."""
    aimd_beta: float = Field(0.5, alias="beta", gt=0, lt=1)
    """Part of the window that AIMD's cut leaves."""


class Marking(Section):
    """A forwarder's rule of marking, by the backlog of the face's socket.

    ``hackathon``: every packet while the backlog is above the threshold, over TCP also while more packets wait for
    the socket. ``nfd``: once it has been above for an interval, then ever faster. ``off``: never.
    """

    mode: Literal["hackathon", "nfd", "off"] = "hackathon"
    threshold_bytes: SizeBytes | None = Field(None, alias="threshold")
    """Threshold; default by the mode: 50,000 B, 65,536 B."""
    tcp_queue_packets: int = Field(10, ge=1, alias="tcp_queue")
    """``hackathon`` only."""
    interval_ms: DelayMilliseconds = Field(100.0, alias="interval", gt=0)
    """``nfd`` only."""


class Ndn(Section):
    """One object fetched by the first host of a chain from the last; those between forward."""

    transport: Literal["udp", "tcp"] = "udp"
    """Transport of every face: datagrams, or one TCP connection between neighbours."""
    object_bytes: SizeBytes = Field(alias="object", ge=1)
    segment_bytes: SizeBytes = Field(4400, alias="segment", ge=64, le=8000)
    """Content per Data packet."""
    prefix: Prefix = "/ncp-testbed/file"
    consumer: Consumer = Field(default_factory=Consumer)
    marking: Marking = Field(default_factory=Marking)
    content_store_packets: int = Field(0, ge=0, le=1_000_000, alias="content_store")
    """Data packets that a forwarder keeps."""
    send_buffer_bytes: SizeBytes | None = Field(None, alias="send_buffer", ge=4096)
    """Send buffer of the faces' sockets as the kernel counts it, with its own bytes for each packet; default: the
    system's."""
    send_queue_bytes: SizeBytes | None = Field(None, alias="send_queue", ge=4096)
    """Bytes that may wait for a TCP face's socket in its agent; more is dropped. Default 64 MiB."""
    congestion_control: CongestionControl = "cubic"
    """The kernel's, of TCP faces."""

    @model_validator(mode="after")
    def _whole(self) -> Ndn:
        if self.object_bytes < self.segment_bytes:
            raise InvalidValue(
                "ndn.object-too-small",
                f"object ({self.object_bytes} B) is smaller than one segment ({self.segment_bytes} B)",
            )
        return self

    @property
    def threshold_bytes(self) -> int:
        """Above which a face's backlog counts as congestion."""
        requested = self.marking.threshold_bytes
        return DEFAULT_THRESHOLD_BYTES[self.marking.mode] if requested is None else requested

    @property
    def policy(self) -> str:
        """The name that distinguishes runs, as the window policy does NCP's."""
        return f"{self.transport}-{'ignore' if self.consumer.ignore_marks else 'react'}"
