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

KEYS_OF_TOPOLOGY = {
    "parallel": (),
    "relays": (),
    "dumbbell": ("sessions", "access", "cross_traffic"),
    "star": ("sessions", "cross_traffic"),
}
"""The keys of a scenario that only some topologies have."""


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
    topology: Literal["parallel", "relays", "dumbbell", "star"] = "parallel"
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
        allowed = KEYS_OF_TOPOLOGY[self.topology]
        for key in ("sessions", "access", "cross_traffic"):
            if getattr(self, key) and key not in allowed:
                others = " or ".join(name for name, keys in KEYS_OF_TOPOLOGY.items() if key in keys)
                raise ValueError(
                    f"{key}: topology {self.topology} has none; use topology {others}, or leave it out"
                )
        if self.topology == "dumbbell" and len(self.links) != 1:
            raise ValueError(
                f"links has {len(self.links)} links; a dumbbell has one, the bottleneck (access is for the others)"
            )
        if self.topology == "star" and len(self.links) < 2:
            raise ValueError("links has 1 link; a star has one for each host, so at least 2")
        return self

    @model_validator(mode="after")
    def _hosts_where_wanted(self) -> Scenario:
        for key in ("sessions", "cross_traffic"):
            for number, entry in enumerate(getattr(self, key), start=1):
                where = f"{key}.{getattr(entry, 'name', number)}"
                for role in ("sender", "receiver"):
                    self._check_host(f"{where}.{role}", getattr(entry, role))
                if self.topology == "star" and entry.sender == entry.receiver:
                    raise ValueError(f"{where}: {entry.sender} sends to itself; give two hosts")
        if self.topology == "star":
            ends = [host for entry in self.sessions for host in (entry.sender, entry.receiver)]
            twice = sorted({str(host) for host in ends if ends.count(host) > 1})
            if twice:
                raise ValueError(
                    f"sessions: {', '.join(twice)} would be in two sessions; a host has one agent, so give each "
                    "session hosts of its own (cross_traffic may share them)"
                )
        return self

    def _check_host(self, where: str, host: str | None) -> None:
        if self.topology != "star":
            if host is not None:
                raise ValueError(f"{where}: topology {self.topology} chooses the hosts; leave it out")
            return
        hosts = [f"h{number}" for number in range(1, len(self.links) + 1)]
        if host not in hosts:
            said = "is missing" if host is None else f"there is no host {host!r}"
            raise ValueError(f"{where}: {said}; hosts, one per link: {', '.join(hosts)}")

    @model_validator(mode="after")
    def _one_window_per_connection(self) -> Scenario:
        windows = self.ncp.initial_windows
        if "sessions" in KEYS_OF_TOPOLOGY[self.topology]:
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
