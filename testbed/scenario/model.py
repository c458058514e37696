"""The scenario model: every key that a scenario file may have, with its unit, range and default."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from testbed.checks import Check
from testbed.scenario.links import Link
from testbed.scenario.quantities import DelayMilliseconds, DurationSeconds, Fraction, SizeBytes
from testbed.scenario.section import Name, Section
from testbed.scenario.sessions import Access, CrossTraffic, Session
from testbed.scenario.timeline import TimelineEvent


class NcpSession(Section):
    """One NCP transfer from the first host to the second, with one connection per link."""

    policy: Name
    transfer_bytes: SizeBytes = Field(alias="transfer")
    initial_windows: list[Annotated[int, Field(ge=1)]] | None = None
    """Packets, one per link, in the links' order; without it the policy's own start (nkp24: W/n)."""
    send_window_bytes: SizeBytes = Field(4 << 20, alias="send_window")
    mtu_bytes: Annotated[int, Field(ge=64, le=1400)] = Field(1024, alias="mtu")
    ack_interval_ms: DelayMilliseconds = Field(50.0, alias="ack_interval", gt=0)
    max_ack_ranges: int = Field(32, ge=1, le=4096)
    timeout_check_ms: DelayMilliseconds = Field(50.0, alias="timeout_check", gt=0)
    linger_ms: DelayMilliseconds = Field(1000.0, alias="linger")

    @model_validator(mode="after")
    def _window_holds_a_packet(self) -> NcpSession:
        if self.send_window_bytes < self.mtu_bytes:
            raise ValueError(
                f"send_window ({self.send_window_bytes} B) is smaller than one packet (mtu {self.mtu_bytes} B)"
            )
        return self


class Limits(Section):
    """What a run may deviate or take before its result is no longer trusted or it is stopped."""

    rate_error: Fraction = 0.02
    delay_error_ms: DelayMilliseconds = Field(1.0, alias="delay_error")
    lateness_p99_ms: DelayMilliseconds = Field(2.0, alias="lateness_p99")
    """The 99th percentile of how late the user-space middle let frames go, on any link."""
    cpu_idle: Fraction = 0.05
    """The least mean share of CPU time that must have been idle."""
    transfer_s: DurationSeconds | None = Field(None, alias="transfer_time")
    """A transfer that takes longer is stopped; without it three times the time at full rate, plus 30 s."""


class Scenario(Section):
    """One experiment: a topology, its links, what runs over them and what must hold."""

    name: Name
    title: str
    source: str = ""
    description: str = ""
    topology: Literal["parallel", "relays", "dumbbell"] = "parallel"
    links: list[Link] = Field(min_length=1, max_length=64)
    ncp: NcpSession
    sessions: list[Session] = Field(default_factory=list, max_length=32)
    """Sessions that share the network; without it one, as ``ncp`` says."""
    access: Access | None = None
    cross_traffic: list[CrossTraffic] = Field(default_factory=list, max_length=32)
    timeline: list[TimelineEvent] = Field(default_factory=list)
    seed: int = Field(1, ge=0, lt=2**63)
    quick: dict[str, Any] = Field(default_factory=dict)
    """Overrides that ``--quick`` applies, in the form of ``--set``: dotted key → value."""
    checks: list[Check] = Field(min_length=1)
    limits: Limits = Field(default_factory=lambda: Limits.model_validate({}))

    @field_validator("links", "sessions")
    @classmethod
    def _names_differ(cls, named: list[Any], info: ValidationInfo) -> list[Any]:
        kind = str(info.field_name).removesuffix("s")
        seen: set[str] = set()
        for item in named:
            if item.name in seen:
                raise ValueError(f"two {kind}s are named {item.name!r}; give each {kind} a name of its own")
            seen.add(item.name)
        return named

    @model_validator(mode="after")
    def _of_its_topology(self) -> Scenario:
        if self.topology == "dumbbell":
            if len(self.links) != 1:
                raise ValueError(
                    f"links has {len(self.links)} links; a dumbbell has one, the bottleneck (access is for the others)"
                )
            return self
        for key in ("sessions", "access", "cross_traffic"):
            if getattr(self, key):
                raise ValueError(
                    f"{key}: topology {self.topology} has none; use topology: dumbbell, or leave it out"
                )
        return self

    @model_validator(mode="after")
    def _one_window_per_connection(self) -> Scenario:
        windows = self.ncp.initial_windows
        if self.topology == "dumbbell":
            for session in self.sessions or [Session.model_validate({"name": "s1"})]:
                own = session.initial_windows or windows
                if own is not None and len(own) != session.connections:
                    raise ValueError(
                        f"initial_windows has {len(own)} values for the {session.connections} connections of "
                        f"session {session.name}; give one per connection"
                    )
        elif windows is not None and len(windows) != len(self.links):
            raise ValueError(
                f"ncp.initial_windows has {len(windows)} values for {len(self.links)} links; give one per link"
            )
        return self
