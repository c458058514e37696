"""One emulated link, resolved: names, addresses, rate, delay, queue; as it stands in ``plan.json``.

Standard library only, for ``mn --custom``.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

from topologies.impairments import IMPAIRMENTS, KEYS
from topologies.impairments.impairment import DelayMs, Share
from topologies.typed_dict import TypedDict
from topologies.units import QueueLength, Rate

if TYPE_CHECKING:
    from topologies.impairments.corrupt import Corrupt
    from topologies.impairments.duplicate import Duplicate
    from topologies.impairments.jitter import Jitter
    from topologies.impairments.loss import Loss
    from topologies.impairments.reorder import Reorder

ETHERNET_IPV4_UDP_BYTES = 14 + 20 + 8
NCP_DATA_HEADER_BYTES = 7
"""protobuf: tag and 3-byte varint of sequence_id (16,384 to 2,097,151), tag and 2-byte length of data."""


QueueMode = Literal["backpressure", "droptail", "drophead", "codel"]
ONE_BDP = QueueLength(bdp=1.0)
SHAPER_LATENESS_S = 0.003
"""Lateness of the shaper's timer without loss of capacity: the bucket holds that time's bytes at the rate, and two
frames at least."""


class Queue(TypedDict):
    """The queue for a link's rate: at the sender (``backpressure``), else in the link emulator."""

    mode: QueueMode
    packets: int
    """Full-size packets that it holds before a write blocks or a packet is dropped."""


class LinkEnd(TypedDict):
    """A link's end: the host's interface and the interface of the middle that it is wired to."""

    host: str
    interface: str
    address: str
    prefix: int
    mac: str
    middle_interface: str


if TYPE_CHECKING:
    # Those whose keys are named outside their files.
    class Impairments(Corrupt, Duplicate, Jitter, Loss, Reorder, total=False):
        """Impairments by a link emulator beyond delay and independent loss. Names as in ``internal/linkmodel``."""

        trace_file: str
        """Delivery opportunities in mahimahi's format instead of a constant rate; absolute path."""
else:
    Impairments = TypedDict("Impairments", {**KEYS, "trace_file": str}, total=False)


FILES = (*(key for impairment in IMPAIRMENTS for key in impairment.files), "trace_file")
"""Keys of a link that name a file of the machine."""


class Offloading(TypedDict, total=False):
    """Keys that only a link of the highest rates has."""

    whole_segments: bool
    """Whether TCP's segments cross the middle before they are cut into frames, as with a device that does that."""


class UnimpairedLink(Offloading):
    """Keys that every link has."""

    name: str
    index: int
    a: LinkEnd
    b: LinkEnd
    rate_bps: float
    """Bits per second of Ethernet frames without FCS, as a qdisc counts them; not rounded, an int where it is whole.
    Engines take whole bits per second of it."""
    frame_bytes: int
    """A full-size frame."""
    burst_bytes: int
    queue: Queue
    delay_ms: DelayMs
    loss: Share
    seed: int


class Link(UnimpairedLink, Impairments):
    """A link, the same in both directions, with the impairments that are set; the delay is one-way."""


def shaped_at_hosts(link: Link) -> bool:
    """Whether rate and queue are at the hosts' egress (back-pressure), hence not in the middle."""
    return link["queue"]["mode"] == "backpressure"


def rate_pps(link: Link) -> float:
    """The link's rate in full-size frames per second."""
    return Rate(bps=link["rate_bps"]).to_pps(link["frame_bytes"])


def burst_bytes_at(link: Link, rate_bps: float) -> int:
    """Bytes that the shaper may send at once when its rate is changed: those that the rate needs, or more if
    configured."""
    beyond = link["burst_bytes"] > bucket_bytes(link["rate_bps"], link["frame_bytes"])
    return max(bucket_bytes(rate_bps, link["frame_bytes"]), link["burst_bytes"] if beyond else 0)


def ncp_frame_bytes(mtu_bytes: int) -> int:
    """A full NCP data packet over UDP/IPv4 as an Ethernet frame without FCS."""
    return mtu_bytes + NCP_DATA_HEADER_BYTES + ETHERNET_IPV4_UDP_BYTES


def end_address(index: int, number: int) -> str:
    """The address of end 1 (``a``) or 2 (``b``) of link number ``index`` (from 1), in 198.18.0.0/16 (RFC 2544)."""
    if not 1 <= index <= 255:
        raise ValueError(f"link index {index} is outside 1 to 255")
    return f"198.18.{index}.{number}"


def interface_name(host: str, index: int) -> str:
    """A host's interface on link number ``index``."""
    return f"{host}-eth{index}"


def resolve_link(
    index: int,
    name: str,
    host_a: str,
    host_b: str,
    rate: Rate,
    *,
    delay_ms: float = 0.0,
    loss: float = 0.0,
    queue: QueueLength = ONE_BDP,
    frame_bytes: int = ncp_frame_bytes(1024),
    queue_mode: QueueMode = "backpressure",
    seed: int = 1,
    impairments: Impairments | None = None,
    least_burst_bytes: int = 0,
) -> Link:
    """Link number ``index`` (from 1) between two hosts."""
    rate_bps = rate.to_bps(frame_bytes)

    def end(host: str, number: int) -> LinkEnd:
        return {
            "host": host,
            "interface": interface_name(host, index),
            "address": end_address(index, number),
            "prefix": 30,
            "mac": f"02:4e:43:50:{index:02x}:{number:02x}",
            "middle_interface": f"l{index}{'ab'[number - 1]}",
        }

    link: Link = {
        "name": name,
        "index": index,
        "a": end(host_a, 1),
        "b": end(host_b, 2),
        "rate_bps": rate_bps,
        "frame_bytes": frame_bytes,
        "burst_bytes": max(bucket_bytes(rate_bps, frame_bytes), least_burst_bytes),
        "queue": {"mode": queue_mode, "packets": queue.to_packets(rate.to_pps(frame_bytes), 2 * delay_ms, frame_bytes)},
        "delay_ms": delay_ms,
        "loss": loss,
        "seed": link_seed(seed, name),
    }
    link.update(impairments or {})  # type: ignore[typeddict-item]
    return link


def bucket_bytes(rate_bps: float, frame_bytes: int) -> int:
    """Bytes that the shaper of a rate may send at once."""
    return max(3000, 2 * frame_bytes, round(rate_bps / 8 * SHAPER_LATENESS_S))


def link_seed(run_seed: int, name: str) -> int:
    """A link's own seed, from the run's seed and the link's name: adding a link changes no other."""
    digest = hashlib.sha256(f"{run_seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # 63 bits: JSON readers with signed integers
