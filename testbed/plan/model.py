"""The plan's types: what ``plan.json`` holds, key by key, for mypy, pydantic and ``schemas/plan.schema.json``.

A plan is plain JSON data: its types say which keys a dictionary has, and nothing is converted. A key that only some
traffic, topologies or impairments have is ``NotRequired``. Readers ignore keys that they do not know.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field
from typing_extensions import NotRequired, TypedDict

from topologies.impairments import KEYS, NUMBERS
from topologies.impairments.impairment import DelayMs, Share
from topologies.impairments.loss import GilbertElliott
from topologies.layout import Route
from topologies.link import Link

SCHEMA: Literal[2] = 2
"""The version of plans. Those of earlier ones are read as :mod:`testbed.plan.read` says."""
Runtime: TypeAlias = Literal["docker", "process", "virtual"]
Middle: TypeAlias = Literal["netem", "relay", "model"]
Traffic: TypeAlias = Literal["ncp", "tcp", "ndn", "program"]
Variant: TypeAlias = Literal["full", "quick", "changed"]
"""The form of a scenario or table that ``--quick`` and ``--set`` give."""
Role: TypeAlias = Literal["sender", "receiver"]
ROLES: tuple[Role, ...] = ("receiver", "sender")
"""The order in which a session's ends are started."""
Direction: TypeAlias = Literal["ab", "ba"]
DIRECTIONS: tuple[Direction, ...] = ("ab", "ba")
Directions: TypeAlias = Literal["ab", "ba", "both"]

# "class" is a keyword of Python's.
Topology = TypedDict(
    "Topology",
    {"name": str, "file": NotRequired[str], "class": NotRequired[str], "options": NotRequired[dict[str, Any]]},
)
"""The topology's name; of a Mininet topology of the user's own also its file, its class and that one's arguments."""


class Host(TypedDict):
    """A host with an agent."""

    name: str
    management_address: str


class Node(TypedDict):
    """A host without an agent and without a management address; ``forwards`` makes it a router."""

    name: str
    forwards: bool


class SetProperties(TypedDict, total=False):
    """Properties that an action sets of a link; named as in ``internal/linkmodel``."""

    rate_bps: float
    delay_ms: DelayMs
    jitter_ms: DelayMs
    loss: Share
    gilbert_elliott: GilbertElliott


if TYPE_CHECKING:
    Properties = SetProperties
else:
    NUMBERS_SET = {key: KEYS[key] for key in NUMBERS}
    Properties = TypedDict("Properties", {**SetProperties.__annotations__, **NUMBERS_SET}, total=False)
    Properties.__doc__ = SetProperties.__doc__


class SetAction(TypedDict):
    """Change a link's properties, in seconds since ``transfer_start``."""

    at_s: float
    kind: Literal["set"]
    text: str
    link: str
    direction: Directions
    properties: Properties


class CarrierAction(TypedDict):
    """Takes a link down, or up again."""

    at_s: float
    kind: Literal["carrier"]
    text: str
    link: str
    up: bool


class PauseReadAction(TypedDict):
    """Stop reading from a connection's socket at the receiver for a time."""

    at_s: float
    kind: Literal["pause_read"]
    text: str
    connection: int
    for_s: float


Action: TypeAlias = Annotated[SetAction | CarrierAction | PauseReadAction, Field(discriminator="kind")]


class Policy(TypedDict):
    """Facts that a window policy reports; other traffic has a stand-in."""

    name: str
    rule: NotRequired[str]
    cap_packets: NotRequired[int | None]
    """The largest window of a connection; null: none."""
    min_packets: NotRequired[int]
    initial: NotRequired[str]
    normalised: NotRequired[bool]
    source: NotRequired[str]
    like: NotRequired[str]
    """The policy of ours whose rule npm's package has."""


class Connection(TypedDict):
    """One path of a session: a socket at each end, ``address:port``."""

    index: int
    """Number of the connection, from 1."""
    link: str
    """The one that limits its rate."""
    path: list[str]
    """The links that it crosses, from sender to receiver."""
    send_buffer_packets: int
    sender: str
    receiver: str


class SysctlsOfHosts(TypedDict):
    """Kernel settings by name, of the sender's host and of the receiver's."""

    sender: dict[str, str]
    receiver: dict[str, str]


class Offer(TypedDict):
    """An end's offer in its handshake; the smaller of both is agreed."""

    send_window_bytes: int
    mtu_bytes: int


class Session(TypedDict):
    """A transfer from one host to another; NCP's keys are absent with other traffic."""

    name: str
    start_s: float
    """Seconds after the start of the run's first session."""
    sender_host: str
    receiver_host: str
    policy: str
    policy_facts: Policy
    code: NotRequired[dict[Role, str]]
    """The implementation at each end that is not ours, of :data:`testbed.plan.codes.CODES`."""
    offers: NotRequired[dict[Role, Offer]]
    """The handshake of each end that offers more than what is agreed, ``send_window_bytes`` and ``mtu_bytes``."""
    transport: Literal["udp", "tcp"]
    connections: list[Connection]
    transfer_bytes: NotRequired[int]
    congestion_control: NotRequired[str | None]
    """Congestion control of TCP connections."""
    expected_s: NotRequired[float]
    """Expected duration, where rate and size do not determine it."""
    send_window_bytes: NotRequired[int]
    mtu_bytes: NotRequired[int]
    initial_windows: NotRequired[list[int] | None]
    """Packets; null: the policy's own."""
    ack_interval_ms: NotRequired[float]
    max_ack_ranges: NotRequired[int]
    ack_repeats: NotRequired[int]
    timeout_check_ms: NotRequired[float]
    linger_ms: NotRequired[float]
    payload_seed: NotRequired[int]
    send_s: NotRequired[float]
    """Duration of a program's sending, in place of a number of bytes."""
    carrier: NotRequired[str]
    """The protocol in NCP's place, of :data:`testbed.plan.traffic_types.TRAFFIC`."""
    segment_bytes: NotRequired[float]
    """Payload of a full frame, of all but NCP."""
    sysctls: NotRequired[SysctlsOfHosts]
    does: NotRequired[str]
    """The task of TCP's sender, in words."""
    in_words: NotRequired[str]
    """The task of an NDN fetch or a program, in words."""


class Tcp(TypedDict):
    """The scenario's ``tcp`` section as it was understood: what all kinds have, and each kind's keys."""

    kind: Literal["download", "fetch", "iperf3"]
    congestion_control: str
    sysctls: SysctlsOfHosts
    routes: SysctlsOfHosts
    capture: Literal["sender", "receiver", "both"] | None
    object_bytes: NotRequired[int]
    receive_buffer_bytes: NotRequired[int | None]
    unlimited_window: NotRequired[bool]
    published: NotRequired[Literal["limited", "unlimited"] | None]
    objects_bytes: NotRequired[list[int]]
    parallel: NotRequired[bool]
    header_apart: NotRequired[bool]
    rounds: NotRequired[int]
    window_bytes: NotRequired[int | None]
    window_scaling: NotRequired[bool]
    for_s: NotRequired[float]


class Buffers(TypedDict, total=False):
    """Limits of a face, if the scenario has them."""

    send_buffer_bytes: int
    send_queue_bytes: int


class Face(Buffers):
    """A face of an NDN node: a socket to its neighbour's."""

    name: str
    transport: Literal["udp", "tcp"]
    local: str
    remote: str
    listen: bool
    mtu_bytes: int


class NdnRoute(TypedDict):
    """A forwarder's route of Interests under a prefix."""

    prefix: str
    face: str


class Marking(TypedDict):
    """A forwarder's rule of marking; an absent key has the mode's own value."""

    mode: Literal["hackathon", "nfd", "off"]
    threshold_bytes: NotRequired[int]
    tcp_queue_packets: NotRequired[int]
    interval_ms: NotRequired[float]


class Consumer(TypedDict):
    """Parameters of an NDN consumer's fetch."""

    algorithm: Literal["aimd", "cubic"]
    ignore_marks: bool
    rto_min_ms: float
    initial_cwnd: float
    aimd_step: float
    aimd_beta: float
    max_retries: NotRequired[int]
    interest_lifetime_ms: NotRequired[float]


class NdnNode(TypedDict):
    """The NDN agent of a host."""

    host: str
    role: Literal["consumer", "forwarder", "producer"]
    faces: list[Face]
    consumer: NotRequired[Consumer]
    routes: NotRequired[list[NdnRoute]]
    content_store_packets: NotRequired[int]
    marking: NotRequired[Marking]


class Ndn(TypedDict):
    """The object that NDN fetches, and a node for each host of the chain, the consumer's first."""

    prefix: str
    object_bytes: int
    segment_bytes: int
    transport: Literal["udp", "tcp"]
    congestion_control: str
    nodes: list[NdnNode]
    freshness_ms: NotRequired[float]


class Program(TypedDict):
    """The program at both ends of every session."""

    name: str
    command: list[str]
    folder: str
    """The program's working folder; of an image, its unpacked files."""
    sha256: str
    """SHA-256 of the folder's files, or the image's id."""
    environment: dict[str, str]
    image: NotRequired[str]
    working_folder: NotRequired[str]
    """Within an image."""


class CrossTraffic(TypedDict):
    """A flow of another program beside the sessions."""

    number: int
    """Number of the flow, from 1."""
    tool: Literal["iperf3"]
    congestion_control: str
    client_host: str
    server_host: str
    client: str
    server: str
    path: list[str]
    from_s: float
    for_s: float


class Telemetry(TypedDict):
    """Interval of sampling, and the database of the points."""

    interval_ms: float
    url: str
    database: str


class Limits(TypedDict):
    """Limits of a trusted run, and of its duration."""

    rate_error: float
    delay_error_ms: float
    lateness_p99_ms: float
    lateness_max_ms: NotRequired[float]
    """Largest lateness; earlier plans do not have it."""
    cpu_idle: float
    cpu_busy_s: float
    transfer_s: float


class Traces(TypedDict):
    """Records of a run, packet by packet."""

    qlog: bool
    """Whether the events of each session's ends are recorded."""
    pcap: list[str]
    """The links that are captured, at both ends."""


class Sections(TypedDict, total=False):
    """Keys that only some plans have: of some traffic, and of options on the command line."""

    tcp: Tcp
    ndn: Ndn
    program: Program
    traces: Traces
    place: dict[str, str]
    """The machine of each host that is on another one than that which leads the run."""
    middles: dict[str, str]
    """The machine of each link emulator. Earlier plans, all on one machine, do not have it."""


class Plan(Sections):
    """All that a run does: the scenario, what was chosen on the command line and the machine, resolved."""

    schema: Literal[2]
    run: str
    scenario: str
    title: str
    source: str
    description: str
    seed: int
    engine: str
    """One of :data:`testbed.plan.engines.ENGINES`."""
    runtime: Runtime
    middle: Middle
    quick: bool
    occasion: str
    overrides: list[str]
    variant: Variant
    topology: Topology
    traffic: Traffic
    namespace: str
    hosts: list[Host]
    nodes: list[Node]
    links: list[Link]
    routes: list[Route]
    timeline: list[Action]
    sessions: list[Session]
    cross_traffic: list[CrossTraffic]
    telemetry: Telemetry
    checks: list[dict[str, Any]]
    """Each check's parameters as :mod:`testbed.judge.checks` has them; ``judge`` names the check's function."""
    limits: Limits


def packet_checks(plan: Plan) -> list[str]:
    """The names of checks that are about whole packets, for which sessions are captured at both hosts."""
    return [str(check["name"]) for check in plan["checks"] if check["judge"] == "protocol_kept"]


def host_of(session: Session, role: Role) -> str:
    """The host at an end of a session."""
    return session["sender_host"] if role == "sender" else session["receiver_host"]
