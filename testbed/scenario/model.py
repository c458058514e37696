"""The scenario model: every key that a scenario file may have, with its unit, range and default."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from testbed.judge.checks import Check
from testbed.judge.checks.registry import CHECKS
from testbed.message import InvalidValue
from testbed.plan.codes import OURS, Code, known
from testbed.plan.model import ROLES, Role
from testbed.scenario.links import Link
from testbed.scenario.ndn import Ndn
from testbed.scenario.program import Program
from testbed.scenario.quantities import DelayMilliseconds, DurationSeconds, Fraction, SizeBytes
from testbed.scenario.section import CongestionControl, Name, Section
from testbed.scenario.sessions import MOST_WINDOW, Access, CrossTraffic, Session
from testbed.scenario.tcp import Tcp
from testbed.scenario.timeline import TimelineEvent
from testbed.scenario.topology import KINDS, Topology

MOST_LINKS = 64
MOST_SESSIONS = 100
"""Each has two hosts and their links; a run's networks have room for 255 links and 240 hosts."""
MOST_ACTIONS = 20_000
"""Most actions that a timeline may unfold to."""

Traffic = Literal["ncp", "tcp", "ndn", "program"]
TRAFFIC: tuple[Traffic, ...] = get_args(Traffic)
MtuBytes = Annotated[int, Field(ge=64, le=1400)]


class Codes(Section):
    """Implementations of NCP: ours, npm's @nkn/ncp in a version, or the path of a user's own."""

    sender: Code = "ours"
    """Implementation at the sender, whose windows the policy has to be like."""
    receiver: Code = "ours"
    """Implementation at the receiver."""

    @property
    def others(self) -> dict[Role, str]:
        """Codes that are not ours, by their ends."""
        return {role: code for role in ROLES if (code := getattr(self, role)) != OURS}


class Offer(Section):
    """An end's offer in its handshake; what is left out is what is agreed."""

    send_window_bytes: SizeBytes | None = Field(None, alias="send_window", le=MOST_WINDOW)
    """The session's window."""
    mtu_bytes: MtuBytes | None = Field(None, alias="mtu")
    """Bytes of payload in a full packet."""


class Offers(Section):
    """The offers of ends that have one of their own."""

    sender: Offer | None = None
    """The sender's."""
    receiver: Offer | None = None
    """The receiver's."""


def _at_both_ends(value: Any) -> Any:
    return dict.fromkeys(Codes.model_fields, known(value)) if isinstance(value, str) else value


class NcpSession(Section):
    """One NCP transfer from the first host to the second, with one connection per link."""

    policy: Name
    """The rule by which windows grow and shrink (``ncp-agent policies``)."""
    code: Annotated[Codes, BeforeValidator(_at_both_ends, Code | Codes)] = Field(default_factory=Codes)
    """The implementation under test, of both ends or of each: ours, npm's, or a path; default: ours."""
    transport: Literal["udp", "tcp"] = "udp"
    """A datagram for each packet, or a TCP connection for each NCP connection, with each packet after its length."""
    congestion_control: CongestionControl = "cubic"
    """The kernel's, of these TCP connections."""
    transfer_bytes: SizeBytes = Field(alias="transfer")
    """Amount of data to send."""
    initial_windows: list[Annotated[int, Field(ge=1, le=MOST_WINDOW)]] | None = None
    """Packets, one per link, in the links' order; without it the policy's own start (nkp24: W/n)."""
    send_window_bytes: SizeBytes = Field(4 << 20, alias="send_window", le=MOST_WINDOW)
    """Bytes that may be written and not yet read by the peer; default 4 MiB."""
    mtu_bytes: MtuBytes = Field(1024, alias="mtu")
    """Bytes of payload in a full packet."""
    offers: Offers = Field(default_factory=Offers)
    """Offers in place of ``send_window`` and ``mtu``, which both ends agree on: the smaller of each."""
    ack_interval_ms: DelayMilliseconds = Field(50.0, alias="ack_interval", ge=0.1, le=60_000)
    """Interval of the receiver's acknowledgements; default 50 ms."""
    max_ack_ranges: int = Field(32, ge=1, le=4096)
    """Ranges in one acknowledgement packet."""
    ack_repeats: int = Field(0, ge=0, le=100)
    """Number of times that the receiver repeats an acknowledgement, once per interval; upstream never does."""
    timeout_check_ms: DelayMilliseconds = Field(50.0, alias="timeout_check", ge=0.1, le=60_000)
    """Interval of the sender's search for packets that timed out; default 50 ms."""
    linger_ms: DelayMilliseconds = Field(1000.0, alias="linger", le=600_000)
    """Time for which a closed session waits for acknowledgements; default 1 s."""

    @model_validator(mode="after")
    def _window_holds_a_packet(self) -> NcpSession:
        if self.send_window_bytes < self.mtu_bytes:
            raise InvalidValue(
                "ncp.send-window-too-small",
                f"send_window ({self.send_window_bytes} B) is smaller than one packet (mtu {self.mtu_bytes} B)",
            )
        if self.ack_repeats and "receiver" in self.code.others:
            raise InvalidValue(
                "ncp.repeats-by-another-code", f"{self.code.receiver} never repeats; leave ack_repeats out"
            )
        return self


class Limits(Section):
    """Limits of a trusted run, and of its duration."""

    rate_error: Fraction = 0.02
    """Largest error of a link's measured rate; default 2%."""
    delay_error_ms: DelayMilliseconds = Field(1.0, alias="delay_error")
    """The same of its one-way delay; 1 ms if left out."""
    lateness_p99_ms: DelayMilliseconds = Field(2.0, alias="lateness_p99")
    """The 99th percentile of how late the user-space middle let frames go, on any link; 2 ms if left
    out."""
    lateness_max_ms: DelayMilliseconds = Field(100.0, alias="lateness_max")
    """The longest it let one wait; if a machine stops for longer, that is like a break of all links at once.
    100 ms if left out."""
    cpu_idle: Fraction = 0.05
    """The least mean share of CPU time that must have been idle; 5% if left out."""
    cpu_busy_s: DurationSeconds = Field(2.0, alias="cpu_busy")
    """The longest time in a row in which less than 5% of it may have been; 2 s if left out."""
    transfer_s: DurationSeconds | None = Field(None, alias="transfer_time")
    """A transfer that takes longer is stopped; without it three times the time at the full rates of the timeline, plus
    30 s."""


class Scenario(Section):
    """One experiment: a topology, its links, what runs over them and what must hold."""

    extends: str | None = None
    """A scenario's name, or a file beside this one; what this file doesn't say is taken from it."""
    name: Name
    """Name of runs and result folders, and on the command line."""
    title: str
    """Purpose, in one line."""
    source: str = ""
    """Source of the claim."""
    description: str = ""
    """More about it, for the report."""
    topology: Topology = Topology(kind="parallel")
    """The shape of the network; by default two hosts with a link for each connection."""
    links: list[Link] = Field(min_length=1, max_length=MOST_LINKS)
    """The emulated links, or the paths where a topology makes several links of each."""
    ncp: NcpSession | None = None
    """The traffic: one of ``ncp``, ``tcp``, ``ndn`` and ``program``."""
    tcp: Tcp | None = None
    """The kernel's own TCP."""
    ndn: Ndn | None = None
    """Interests and Data."""
    program: Program | None = None
    """A transport of the user's own: two programs."""
    sessions: list[Session] = Field(default_factory=list, max_length=MOST_SESSIONS)
    """Sessions that share the network; by default one, as ``ncp`` says."""
    place: dict[str, str] = Field(default_factory=dict)
    """Machines of hosts with ``--hosts``, by their names in the inventory; other hosts are spread."""
    access: Access | None = None
    """Links beside the bottleneck, of dumbbell and star."""
    cross_traffic: list[CrossTraffic] = Field(default_factory=list, max_length=32)
    """Traffic of other programs in the meantime."""
    timeline: list[TimelineEvent] = Field(default_factory=list, max_length=1000)
    """Changes while the transfer runs, in seconds since its start."""
    seed: int = Field(1, ge=0, lt=2**63)
    """The seed of everything random: payload, losses, jitter."""
    quick: dict[str, Any] = Field(default_factory=dict)
    """Overrides that ``--quick`` applies, in the form of ``--set``: dotted key → value."""
    checks: list[Check] = Field(min_length=1, max_length=100)
    """Conditions that must hold."""
    limits: Limits = Field(default_factory=Limits)
    """Limits of a trusted run, and of its duration."""

    @field_validator("links")
    @classmethod
    def _with_copies(cls, links: list[Link]) -> list[Link]:
        each = [copy for link in links for copy in link.each()]
        if len(each) > MOST_LINKS:
            raise InvalidValue(
                "scenario.too-many-links", f"with their copies there are {len(each)} links; {MOST_LINKS} at most"
            )
        return each

    @field_validator("timeline")
    @classmethod
    def _not_too_many(cls, timeline: list[TimelineEvent]) -> list[TimelineEvent]:
        count = sum(event.actions for event in timeline)
        if count > MOST_ACTIONS:
            raise InvalidValue(
                "timeline.too-many-changes", f"it has {count} changes, with each step of a ramp; {MOST_ACTIONS} at most"
            )
        return timeline

    @field_validator("links", "sessions")
    @classmethod
    def _names_differ(cls, named: list[Any], info: ValidationInfo) -> list[Any]:
        kind = str(info.field_name).removesuffix("s")
        seen: set[str] = set()
        for item in named:
            if item.name in seen:
                raise InvalidValue(
                    "scenario.name-twice", f"two {kind}s are named {item.name!r}; give each {kind} a name of its own"
                )
            seen.add(item.name)
        return named

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """One that extends another needs no more than a name."""
        made = handler.resolve_ref_schema(handler(schema))
        required = made.pop("required")
        return {**made, "required": ["name"], "anyOf": [{"required": ["extends"]}, {"required": required}]}

    @property
    def each_session(self) -> list[Session]:
        """The sessions, also where there is only the one that has no entry."""
        return self.sessions or [Session.model_validate({"name": "s1"})]

    @property
    def traffic(self) -> Traffic:
        """The kind of traffic, by the name of its section."""
        return next(name for name in TRAFFIC if getattr(self, name) is not None)

    @model_validator(mode="after")
    def _one_traffic(self) -> Scenario:
        given = [name for name in TRAFFIC if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) or "none"
            raise InvalidValue(
                "scenario.several-traffics",
                f"a scenario has exactly one of {', '.join(TRAFFIC)}, which says what is sent; here is {said}",
            )
        for check in self.checks:
            place = f"checks.{check.name}"
            if self.traffic not in check.of_traffic:
                kinds = " or ".join(check.of_traffic)
                fitting = ", ".join(judge for judge, kind in CHECKS.items() if self.traffic in kind.of_traffic)
                raise InvalidValue(
                    "check.of-other-traffic",
                    f"{check.judge} is about {kinds}, not {self.traffic}; of {self.traffic} there are {fitting}",
                    field=place,
                )
            if why := check.unfit(getattr(self, self.traffic)):
                raise InvalidValue("check.does-not-fit", f"{check.judge} {why}", field=place)
        if (self.traffic == "ndn") != self.topology.shape.agents_everywhere:
            raise InvalidValue(
                "topology.not-for-traffic",
                f"{self.traffic} over {self.topology.kind}; ndn needs topology chain, which has an agent on every "
                "host, and nothing else can use that",
                field="topology",
            )
        if self.traffic != "ncp":
            self._nothing_of_ncp()
        if self.traffic in ("tcp", "ndn"):
            self._one_connection()
        return self

    def _one_connection(self) -> None:
        """TCP sends over one path, once; NDN's one object goes along the whole chain."""
        many = self.sessions if "sessions" in self.topology.shape.keys else self.links
        key = "sessions" if many is self.sessions else "links"
        if self.traffic == "ndn" and len(self.links) < 2:
            raise InvalidValue(
                "ndn.no-forwarder", "has 1; ndn needs 2: a forwarder between consumer and producer", field="links"
            )
        if len(many) > 1 and self.traffic != "ndn":
            raise InvalidValue(
                "traffic.one-path", f"has {len(many)}; {self.traffic} sends over one path, so give one", field=key
            )
        for session in self.sessions:
            if max(session.connections, len(session.paths)) > 1:
                raise InvalidValue(
                    "traffic.one-connection",
                    f"{self.traffic} has one connection; give one path",
                    field=f"sessions.{session.name}",
                )

    def _nothing_of_ncp(self) -> None:
        for session in self.sessions:
            for name in ("policy", "transfer_bytes", "send_window_bytes", "initial_windows"):
                if getattr(session, name) is not None:
                    raise InvalidValue(
                        "traffic.ncp-only", f"{name} is NCP's; leave it out", field=f"sessions.{session.name}", key=name
                    )
            if self.traffic == "program" and session.connections > 1:
                raise InvalidValue(
                    "program.connections-given",
                    "a program gets addresses, one for each path; leave it out",
                    field=f"sessions.{session.name}.connections",
                )
        for event in self.timeline:
            if event.do == "pause_read":
                raise InvalidValue(
                    "timeline.pause-without-ncp", "pause_read is for NCP's receiver; leave it out", field="timeline"
                )

    @model_validator(mode="after")
    def _of_its_topology(self) -> Scenario:
        kind, shape = self.topology.kind, self.topology.shape
        for key in ("sessions", "access", "cross_traffic"):
            if getattr(self, key) and key not in shape.keys:
                others = " or ".join(name for name, other in KINDS.items() if key in other.keys)
                by_default = "" if "topology" in self.model_fields_set else ", which it is as no topology is given,"
                raise InvalidValue(
                    "topology.key-not-taken",
                    f"topology {kind}{by_default} has none; use topology {others}, or leave it out",
                    field=key,
                )
        if not shape.least_links <= len(self.links) <= (shape.most_links or MOST_LINKS):
            least = shape.least_links
            expected = f"at least {least}" if len(self.links) < least else f"at most {shape.most_links}"
            raise InvalidValue(
                "topology.links-do-not-fit",
                f"has {len(self.links)}; a {kind} has {expected}: {shape.links_are}",
                field="links",
            )
        if self.topology.is_own and not self.sessions:
            raise InvalidValue(
                "topology.no-sessions",
                "is missing; with a topology of your own they say who sends over which links",
                field="sessions",
            )
        for link in self.links:
            if (kind == "graph") != (link.ends is not None):
                does = "is missing; name its two nodes" if kind == "graph" else "is only for topology graph, give that"
                raise InvalidValue("topology.bad-ends", f"{does}", field=f"links.{link.name}.ends")
        return self

    @model_validator(mode="after")
    def _hosts_where_wanted(self) -> Scenario:
        for key in ("sessions", "cross_traffic"):
            for number, entry in enumerate(getattr(self, key), start=1):
                where = f"{key}.{getattr(entry, 'name', number)}"
                for role in ("sender", "receiver"):
                    self._check_host(f"{where}.{role}", getattr(entry, role))
                if entry.sender is not None and entry.sender == entry.receiver:
                    raise InvalidValue(
                        "topology.sends-to-itself", f"{entry.sender} sends to itself; give two hosts", field=where
                    )
                self._check_paths(where, entry)
        return self

    def _check_host(self, where: str, host: str | None) -> None:
        hosts = [f"h{number}" for number in range(1, len(self.links) + 1)]
        if not self.topology.shape.hosts_are_named:
            if host is not None:
                raise InvalidValue(
                    "topology.hosts-chosen", f"{self.topology.kind} chooses the hosts; leave it out", field=where
                )
        elif self.topology.is_own:
            if host is None:
                raise InvalidValue(
                    "topology.no-end",
                    f"is missing; name a host of {self.topology.class_name or 'the links'}",
                    field=where,
                )
        elif host not in hosts:
            said = "is missing" if host is None else f"there is no host {host!r}"
            raise InvalidValue("topology.bad-end", f"{said}; hosts, one per link: {', '.join(hosts)}", field=where)

    def _check_paths(self, where: str, entry: Session | CrossTraffic) -> None:
        if not self.topology.is_own:
            if entry.paths:
                raise InvalidValue(
                    "topology.paths-told",
                    f"{self.topology.kind} has its own; leave it out",
                    field=f"{where}.{entry.key_of_paths}",
                )
            return
        names = ", ".join(link.name for link in self.links)
        if not entry.paths:
            raise InvalidValue(
                "topology.no-paths",
                f"is missing; name the links that packets cross, in order, of {names}",
                field=f"{where}.{entry.key_of_paths}",
            )
        if isinstance(entry, Session) and "connections" in entry.model_fields_set:
            raise InvalidValue(
                "topology.connections-given", "each path has one; leave it out", field=f"{where}.connections"
            )

    @model_validator(mode="after")
    def _one_window_per_connection(self) -> Scenario:
        if self.ncp is None:
            return self
        windows = self.ncp.initial_windows
        if "sessions" in self.topology.shape.keys:
            for session in self.each_session:
                own = session.initial_windows or windows
                connections = len(session.paths) or session.connections
                its = f"sessions.{session.name}" if session.initial_windows else "ncp"
                if own is not None and len(own) != connections:
                    raise InvalidValue(
                        "ncp.windows-per-connection",
                        f"has {len(own)} values for the {connections} connections of {session.name}; give one for each",
                        field=f"{its}.initial_windows",
                    )
        elif windows is not None and len(windows) != len(self.links):
            raise InvalidValue(
                "ncp.windows-per-link",
                f"has {len(windows)} values for {len(self.links)} links; give one per link",
                field="ncp.initial_windows",
            )
        return self
