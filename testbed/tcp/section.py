"""What every ``tcp:`` section of a scenario has: how the two hosts' kernels are set, and what is captured."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator

from testbed.scenario.section import CongestionControl, Section

Role = Literal["sender", "receiver"]

ROUTE_OPTIONS = ("advmss", "initcwnd", "initrwnd", "mtu", "quickack", "reordering", "rto_min", "ssthresh", "window")
"""Options of ``ip route`` that a scenario may set; ``congctl`` is ``congestion_control``'s."""


def _text(value: Any) -> Any:
    # A sysctl of several numbers is text, one of a single number looks like one.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Setting = Annotated[str, BeforeValidator(_text), Field(pattern=r"^[A-Za-z0-9._-]+( [A-Za-z0-9._-]+)*$")]


class OfHosts(Section):
    """Settings by name, of the host that sends the data and of the one that gets it."""

    sender: dict[str, Setting] = Field(default_factory=dict)
    receiver: dict[str, Setting] = Field(default_factory=dict)


def which_host(value: Any) -> Any:
    return {True: "receiver", False: None}.get(value, value) if isinstance(value, bool) else value


Where = Annotated[Literal["sender", "receiver", "both"] | None, BeforeValidator(which_host)]


class TcpSection(Section):
    """One TCP transfer; each kind has further keys."""

    congestion_control: CongestionControl = "cubic"
    """Of both hosts, by their routes; that of the sender's socket must be the same, or the run has failed."""
    sysctls: OfHosts = OfHosts()
    """Network settings in the hosts' own namespaces, beside those that every such run sets."""
    routes: OfHosts = OfHosts()
    """Options of each host's route to the other."""
    capture: Where = None
    """Where frames are captured; ``true`` is at the receiver."""

    sender_port: ClassVar[int] = 0
    receiver_port: ClassVar[int] = 0
    """Of the connection with the data; 0: any."""

    @field_validator("sysctls")
    @classmethod
    def _of_the_network(cls, sysctls: OfHosts) -> OfHosts:
        for settings in (sysctls.sender, sysctls.receiver):
            for name in settings:
                if not re.fullmatch(r"net\.(core|ipv4)\.[a-z0-9_]+(\.[A-Za-z0-9_-]+)*", name):
                    raise ValueError(f"{name!r} is none of a network namespace; like net.ipv4.tcp_rmem")
        return sysctls

    @field_validator("routes")
    @classmethod
    def _known_options(cls, routes: OfHosts) -> OfHosts:
        for options in (routes.sender, routes.receiver):
            for name in options:
                if name not in ROUTE_OPTIONS:
                    raise ValueError(f"{name!r} is no option here; options: {', '.join(ROUTE_OPTIONS)}")
        return routes

    def sysctls_of(self, role: Role) -> dict[str, str]:
        """The settings of a host, with those that the kind's own keys stand for."""
        return dict(getattr(self.sysctls, role))

    def transfer_bytes(self) -> int | None:
        """How much is sent, where that is given and not a time."""
        return None

    def expected_s(self, rtt_s: float, rate_bps: float) -> float:
        """Seconds that the transfer takes over a path of this RTT and rate, if all goes well."""
        raise NotImplementedError

    def does(self) -> str:
        """What is sent and how, in words that follow a host's name: ``sends …``."""
        raise NotImplementedError
