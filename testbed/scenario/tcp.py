"""The section ``tcp`` of a scenario, by the kind of its transfer: how the two hosts' kernels are set, what is captured,
and what is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field, field_validator, model_validator

from testbed.message import InvalidValue
from testbed.scenario import slow_start
from testbed.scenario.quantities import Iperf3Seconds, SizeBytes
from testbed.scenario.section import CongestionControl, Section

Role = Literal["sender", "receiver"]

ROUTE_OPTIONS = ("advmss", "initcwnd", "initrwnd", "mtu", "quickack", "reordering", "rto_min", "ssthresh", "window")
"""Options of ``ip route`` that a scenario may set; ``congctl`` is ``congestion_control``'s."""

KERNELS_INITIAL_WINDOW = 10
"""Segments, where the route says nothing (RFC 6928)."""
BETWEEN_ROUNDS_S = 0.1
"""Seconds between two rounds of a fetch, for the next client to start."""
LARGEST_PAGE_BYTES = 256 << 20
"""The client keeps a page in memory until it has been hashed."""
LARGEST_OBJECT_BYTES = 256 << 20
"""Both ends hold it in memory."""


def _text(value: Any) -> Any:
    # A sysctl of several numbers is text, one of a single number looks like one.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Setting = Annotated[
    str,
    BeforeValidator(_text, json_schema_input_type=str | int),
    Field(pattern=r"^[A-Za-z0-9._-]+( [A-Za-z0-9._-]+)*$"),
]


class OfHosts(Section):
    """Settings by name, of the host that sends the data and of the one that gets it."""

    sender: dict[str, Setting] = Field(default_factory=dict)
    receiver: dict[str, Setting] = Field(default_factory=dict)


def which_host(value: Any) -> Any:
    return {True: "receiver", False: None}.get(value, value) if isinstance(value, bool) else value


Where = Annotated[
    Literal["sender", "receiver", "both"] | None,
    BeforeValidator(which_host, json_schema_input_type=Literal["sender", "receiver", "both"] | bool | None),
]


class TcpSection(Section):
    """One TCP transfer; each kind has further keys. Beside them it says how many seconds it takes over a path if all
    goes well (``expected_s``), and what it does in words that follow a host's name (``does``)."""

    congestion_control: CongestionControl = "cubic"
    """Congestion control of both hosts, by their routes; the run fails where the sender's socket has another."""
    sysctls: OfHosts = OfHosts()
    """Network settings in the hosts' own namespaces, beside those that every such run sets."""
    routes: OfHosts = OfHosts()
    """Options of each host's route to the other."""
    capture: Where = None
    """Hosts at which frames are captured; ``true`` is the receiver."""

    sender_port: ClassVar[int] = 0
    receiver_port: ClassVar[int] = 0
    """Port of the connection with the data; 0: any."""

    @field_validator("sysctls")
    @classmethod
    def _of_the_network(cls, sysctls: OfHosts) -> OfHosts:
        for name in (*sysctls.sender, *sysctls.receiver):
            if not re.fullmatch(r"net\.(core|ipv4)\.[a-z0-9_]+(\.[A-Za-z0-9_-]+)*", name):
                raise InvalidValue(
                    "tcp.not-a-namespaces-sysctl",
                    f"{name!r} is not a network namespace's; write for example net.ipv4.tcp_rmem",
                )
        return sysctls

    @field_validator("routes")
    @classmethod
    def _known_options(cls, routes: OfHosts) -> OfHosts:
        for name in (*routes.sender, *routes.receiver):
            if name not in ROUTE_OPTIONS:
                raise InvalidValue(
                    "tcp.no-such-route-option", f"{name!r} is not an option here; options: {', '.join(ROUTE_OPTIONS)}"
                )
        return routes

    def sysctls_of(self, role: Role) -> dict[str, str]:
        """The settings of a host, with those that the kind's own keys stand for."""
        return dict(getattr(self.sysctls, role))

    def transfer_bytes(self) -> int | None:
        """Bytes to send, where they are given and not a time."""
        return None


class Fetch(TcpSection):
    """The first host serves (ncp-web), the second fetches (curl) by HTTP/1.0."""

    kind: Literal["fetch"]
    objects_bytes: list[Annotated[SizeBytes, Field(ge=1, le=1 << 30)]] = Field(
        alias="objects", min_length=1, max_length=64
    )
    """Bodies of a page's objects, in the order of their requests."""
    parallel: bool = False
    """Fetch all objects at once instead of one after the other."""
    header_apart: bool = False
    """Whether the response's header is sent in a segment of its own, or in one with the object's first bytes."""
    rounds: int = Field(1, ge=1, le=1000)
    """Number of fetches of the page."""

    sender_port: ClassVar[int] = 8080

    @model_validator(mode="after")
    def _window_is_a_number(self) -> Fetch:
        window = self.routes.sender.get("initcwnd", "10")
        if not window.isdecimal() or not int(window):
            raise InvalidValue(
                "tcp.bad-initcwnd",
                f"routes.sender.initcwnd: {window!r} is not a number of segments; write for example 10",
            )
        return self

    @field_validator("objects_bytes")
    @classmethod
    def _page_fits(cls, objects_bytes: list[int]) -> list[int]:
        if (page_bytes := sum(objects_bytes)) > LARGEST_PAGE_BYTES:
            raise InvalidValue(
                "tcp.page-too-large", f"{page_bytes:,} bytes together; a page has at most {LARGEST_PAGE_BYTES:,}"
            )
        return objects_bytes

    @classmethod
    def of_plan(cls, requested: Mapping[str, Any]) -> Fetch:
        """The section as the plan has it, where quantities have become numbers."""
        return cls.model_construct(**{**requested, "routes": OfHosts.model_validate(requested["routes"])})

    @property
    def initial_window_segments(self) -> int:
        """Initial window of the server."""
        return int(self.routes.sender.get("initcwnd", KERNELS_INITIAL_WINDOW))

    def transfer_bytes(self) -> int:
        return self.rounds * sum(self.objects_bytes)

    def page_s(self, rtt_s: float, rate_bps: float) -> float:
        """Seconds that a page takes by slow start alone; objects in parallel as one, which they share the path as."""
        path = slow_start.Path(rate_bps, rtt_s)
        objects = [sum(self.objects_bytes)] if self.parallel else self.objects_bytes
        return slow_start.page_s(objects, self.initial_window_segments, path, header_apart=self.header_apart)

    def expected_s(self, rtt_s: float, rate_bps: float) -> float:
        return self.rounds * (self.page_s(rtt_s, rate_bps) + BETWEEN_ROUNDS_S)

    def does(self) -> str:
        many = len(self.objects_bytes)
        objects = (
            f"an object of {self.objects_bytes[0]:,} B"
            if many == 1
            else f"{many} objects of {sum(self.objects_bytes):,} B"
        )
        order = "" if many == 1 else " at once" if self.parallel else " one after the other"
        again = "" if self.rounds == 1 else f", {self.rounds} times"
        return f"serves {objects} by HTTP/1.0{order}, an initial window of {self.initial_window_segments}{again}"


class Download(TcpSection):
    """The second host asks for an object, and the first sends it."""

    kind: Literal["download"]
    object_bytes: Annotated[SizeBytes, Field(le=LARGEST_OBJECT_BYTES)] = Field(1 << 20, alias="object")
    receive_buffer_bytes: SizeBytes | None = Field(None, alias="receive_buffer")
    """Requested SO_RCVBUF of the client before it connects, before Linux doubles it; default: the kernel tunes it."""
    unlimited_window: bool = False
    """Whether the case supposes a kernel whose initial receive window may be above 64 KiB."""
    published: Literal["limited", "unlimited"] | None = None
    """The row of ``data/published/initial-rwnd.csv`` to compare the run with."""
    capture: Literal["sender", "both"] = "sender"
    """Hosts that capture frames; a run is judged by the sender's."""

    sender_port: ClassVar[int] = 5080

    def transfer_bytes(self) -> int:
        return self.object_bytes

    def expected_s(self, rtt_s: float, rate_bps: float) -> float:
        return 12 * rtt_s + self.object_bytes * 8 / rate_bps

    def does(self) -> str:
        buffer = f" (SO_RCVBUF {self.receive_buffer_bytes:,})" if self.receive_buffer_bytes else ""
        return f"sends one object of {self.object_bytes:,} bytes{buffer}"


class Iperf3(TcpSection):
    """The first host sends to the second."""

    kind: Literal["iperf3"]
    window_bytes: SizeBytes | None = Field(None, alias="window")
    """``-w``: requested SO_SNDBUF and SO_RCVBUF, before Linux doubles them; default: the kernel tunes them."""
    window_scaling: bool = True
    """RFC 7323's option, at both hosts; without it no window is above 65,535 bytes."""
    for_s: Iperf3Seconds = Field(10.0, alias="for", gt=0)
    capture: Where = "receiver"
    """The advertised window is read from it; without it from the sender's TCP_INFO."""

    sender_port: ClassVar[int] = 5601
    """iperf3's other connection, for control, has any."""
    receiver_port: ClassVar[int] = 5201

    def sysctls_of(self, role: Role) -> dict[str, str]:
        return {"net.ipv4.tcp_window_scaling": str(int(self.window_scaling)), **super().sysctls_of(role)}

    def expected_s(self, rtt_s: float, rate_bps: float) -> float:
        return self.for_s + 8 * rtt_s  # it connects twice, and exchanges parameters and results

    def does(self) -> str:
        window = f"-w {self.window_bytes}" if self.window_bytes else "no -w"
        scaling = "on" if self.window_scaling else "off"
        return f"sends by iperf3 for {self.for_s:g} s, {window}, window scaling {scaling}"


Tcp: TypeAlias = Annotated[Download | Fetch | Iperf3, Field(discriminator="kind")]
"""The union of the kinds' sections, by ``kind``."""
