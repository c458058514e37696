"""Every field of telemetry, and what it is held against: a source that is independent of whoever wrote it.

``docs/held.md`` is made from this. A field that no other source knows is named with the reason.
"""

from typing import NamedTuple


class Field(NamedTuple):
    """One field of a measurement, as one role writes it (empty: any)."""

    measurement: str
    role: str
    name: str
    against: str
    """The other source and the rule, or why there is none."""
    codes: tuple[str, ...] = ()
    """Codes of its contradictions; none where the field is not held against anything."""


def _fields(measurement: str, role: str, **held: tuple[str, ...]) -> tuple[Field, ...]:
    return tuple(Field(measurement, role, name, against, codes) for name, (against, *codes) in held.items())  # type: ignore[arg-type]


FIELDS: tuple[Field, ...] = (
    *_fields(
        "ncp_connection",
        "sender",
        window_packets=(
            "the plan: where the policy says so the sum is the session's window, and at most a packet more for each; "
            "the counters: what a policy's constants make of acknowledgements and timeouts",
            "telemetry.windows-over-the-sessions",
            "policy.window-off",
        ),
        window_share=("arithmetic: the window over the sum of all", "telemetry.share-off"),
        in_flight_packets=("arithmetic: sent less acknowledged, and for some policies lost", "counts.in-flight-off"),
        rtt_ms=(
            "the plan: at least its links' delays both ways, at most full queues and the acknowledgement interval more",
            "telemetry.rtt-too-short",
            "counts.rtt-too-long",
        ),
        rto_ms=("arithmetic: ncp-go's rule or RFC 6298's, from the RTT", "counts.rto-off"),
        delivered_pps=("arithmetic: what `acked` rose by", "telemetry.rate-off-its-counter"),
        delivered_share=("arithmetic: the rate over the sum of all", "telemetry.share-off"),
        sent=(
            "the first link's counters, on real packets the interface's; the other end: new packets are delivered",
            "counts.link-carried-otherwise",
            "counts.interface-sent-otherwise",
            "counts.sent-not-delivered",
            "counts.in-flight-off",
            "counts.not-its-result",
        ),
        resent=(
            "the other end: what was sent and is not new; only what was lost is sent again",
            "counts.sent-not-delivered",
            "counts.resent-not-lost",
            "counts.in-flight-off",
            "counts.not-its-result",
        ),
        acked=(
            "the other end: what was delivered",
            "counts.acked-not-delivered",
            "counts.in-flight-off",
            "counts.not-its-result",
        ),
        lost=(
            "arithmetic: at least what was sent again, and the result's",
            "counts.resent-not-lost",
            "counts.not-its-result",
        ),
    ),
    *_fields(
        "ncp_connection",
        "receiver",
        delivered_pps=(
            "the other end's new packets, by its result; its own bytes, packet by packet",
            "telemetry.deliveries-off",
            "counts.delivered-not-read",
        ),
        delivered_share=("arithmetic: the rate over the sum of all", "telemetry.share-off"),
    ),
    *_fields(
        "ncp_session",
        "sender",
        goodput_bps=("arithmetic: eight times what its bytes rose by", "counts.goodput-off-its-bytes"),
        bytes=("arithmetic: the acknowledged packets", "counts.bytes-not-acked", "counts.goodput-off-its-bytes"),
        send_window_used=(
            "the plan: the session's window; the other end: what was sent and it has not read",
            "counts.window-overdrawn",
            "counts.window-used-off",
        ),
    ),
    *_fields(
        "ncp_session",
        "receiver",
        goodput_bps=("arithmetic: eight times what its bytes rose by", "counts.goodput-off-its-bytes"),
        bytes=("its connections: packets that were delivered and do not wait", "counts.delivered-not-read"),
        reorder_bytes=("its connections: packets that were delivered and not read", "counts.delivered-not-read"),
    ),
    *_fields(
        "link",
        "",
        rate_bps=("the plan, after each change", "link.misreported"),
        delay_ms=("the plan, after each change", "link.misreported"),
        loss=("the plan, after each change", "link.misreported"),
        achieved_bps=(
            "the plan's rate; the sender: what entered leaves, is lost or is in the link",
            "link.rate-too-high",
            "link.rate-too-low",
            "counts.link-carried-otherwise",
        ),
        achieved_delay_ms=("the plan; the ends: a handshake's answer", "link.delay-off", "counts.handshake-too-slow"),
        achieved_loss=(
            "the plan, as chance allows; the sender: what entered and never left",
            "link.loss-off",
            "counts.loss-misreported",
        ),
        backlog_bytes=(
            "the sender: what entered and has not left; the queue's length",
            "counts.link-carried-otherwise",
            "link.holds-too-much",
        ),
        drops=(
            "the sender: what entered and neither left nor waits",
            "counts.link-carried-otherwise",
            "link.queue-dropped",
        ),
        unasked_drops=("not in telemetry: the relay's result, which has the same count, is judged",),
        lateness_us=("nothing: only the relay's own clock knows when a frame was due",),
        lateness_p99_us=("nothing: only the relay's own clock knows; of its result the run's is judged",),
    ),
    *_fields(
        "event",
        "",
        at_s=("nothing: for people; the point's own time is judged",),
        asked_s=("nothing: a copy of the plan's, for people",),
        text=("the plan: each action once, in time", "timeline.not-done", "timeline.unasked"),
    ),
    *_fields(
        "interface",
        "",
        sent_bytes=("the session: the packets that it sent, at the sender's host", "counts.interface-sent-otherwise"),
        **dict.fromkeys(
            ("sent_packets", "sent_drops", "received_bytes", "received_packets", "received_drops"),
            ("nothing: the kernel's own; with segmentation a packet is several frames",),
        ),
    ),
)
NOT_JUDGED = {
    "qdisc": "the kernel's own counters, for people; drops at the run's end are judged, from the kernel itself",
    "socket_queue": "the kernel's own, for people",
    "tcp_info": "the kernel's own; checks ask of it what captures show",
    "iperf3": "iperf3's own; checks ask of it",
    "ndn": "the forwarders' own; checks ask of it",
    "host": "the kernel's own; the same samples are judged from host_load.csv",
    "collector": "a collector's cost, for people",
}
"""Measurements of which no field is held against another source, and why."""
