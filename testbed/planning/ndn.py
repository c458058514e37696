"""The plan's parts that only NDN has: a node per host with its faces, and the fetch in the shape of a session."""

import math
from collections.abc import Iterator
from typing import cast

from testbed.plan import model
from testbed.plan.model import Face, NdnNode, Session
from testbed.planning.resolved import Topology
from testbed.planning.sessions import connection_of, session_over
from testbed.scenario.ndn import Ndn
from testbed.scenario.sessions import Session as Entry
from topologies.link import Link

PORT = 6363
"""NDN's, for UDP and TCP (registered with IANA)."""
FACE_MTU_BYTES = 8800
"""Largest link-layer packet of a UDP face, as in the field's forwarders: what is above the path's MTU is fragmented
by IP, not by NDNLPv2."""
ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES, TCP_BYTES, MTU_BYTES = 14, 20, 8, 32, 1500
DATA_OVERHEAD_BYTES = 90
"""Bytes of a Data packet beyond its content: name, MetaInfo with FinalBlockId, SHA-256 signature; they vary a little
with the name's length."""
START_UP_S = 1.0
"""Time of a fetch beyond that at the bottleneck's full rate, about."""


def wire_bytes(segment_bytes: int, transport: str) -> float:
    """A Data packet with that much content on the wire, as Ethernet frames without FCS."""
    data_bytes = segment_bytes + DATA_OVERHEAD_BYTES
    if transport == "udp":
        datagram_bytes = data_bytes + UDP_BYTES
        fragments = math.ceil(datagram_bytes / ((MTU_BYTES - IPV4_BYTES) // 8 * 8))
        return datagram_bytes + fragments * (ETHERNET_BYTES + IPV4_BYTES)
    # A stream: full segments, whatever packets are in them.
    per_segment_bytes = MTU_BYTES - IPV4_BYTES - TCP_BYTES
    return data_bytes * (MTU_BYTES + ETHERNET_BYTES) / per_segment_bytes


def session_of(ndn: Ndn, entry: Entry, topology: Topology) -> Session:
    """The plan's one session: the producer sends, the consumer receives."""
    path = topology.sessions[0][0]
    connection = connection_of(topology, path, 1, (PORT, PORT))
    bottleneck = next(link for link in topology.links if link["name"] == connection["link"])
    on_wire = wire_bytes(ndn.segment_bytes, ndn.transport)
    segments = math.ceil(ndn.object_bytes / ndn.segment_bytes)
    mode = ndn.marking.mode
    marking = "nothing" if mode == "off" else f"mode {mode}, above {ndn.threshold_bytes:,} bytes of backlog"
    reaction = "ignores marks" if ndn.consumer.ignore_marks else "reacts to marks"
    rule = f"{ndn.consumer.algorithm.upper()} by Interests in flight, {reaction}"
    policy: model.Policy = {"name": ndn.policy, "rule": rule}
    session = session_over(topology, entry, [path], policy, ndn.transport, [connection])
    return {
        **session,
        "transfer_bytes": ndn.object_bytes,
        # Of content in a full frame.
        "segment_bytes": round(bottleneck["frame_bytes"] * ndn.segment_bytes / on_wire, 3),
        "expected_s": round(segments * on_wire * 8 / bottleneck["rate_bps"] + START_UP_S, 3),
        "in_words": (
            f"{topology.layout.receiver(path)} fetches {ndn.prefix} from {path.sender}: {segments:,} segments of "
            f"{ndn.segment_bytes:,} bytes over {ndn.transport.upper()} faces, by {ndn.consumer.algorithm.upper()} that "
            f"{reaction}. Forwarders mark by {marking}."
        ),
    }


def section_of(ndn: Ndn, topology: Topology) -> model.Ndn:
    """The plan's ``ndn``: a node for each host of the chain, the consumer's first."""
    hosts = topology.layout.hosts
    nodes: list[NdnNode] = []
    for place, host in enumerate(hosts):
        faces = list(_faces(ndn, topology.links, place))
        node: NdnNode = {"host": host, "role": "forwarder", "faces": faces}
        if place == 0:
            node |= {"role": "consumer", "consumer": cast(model.Consumer, ndn.consumer.model_dump())}
        elif place == len(hosts) - 1:
            node["role"] = "producer"
        else:
            node |= {
                "routes": [{"prefix": ndn.prefix, "face": faces[-1]["name"]}],
                "content_store_packets": ndn.content_store_packets,
                "marking": _marking(ndn),
            }
        nodes.append(node)
    own = ("prefix", "object_bytes", "segment_bytes", "transport", "congestion_control")
    return cast(model.Ndn, {**{key: getattr(ndn, key) for key in own}, "nodes": nodes})


def _faces(ndn: Ndn, links: list[Link], place: int) -> Iterator[Face]:
    """Faces of the host at ``place``: to the host before it, then to the one after it. The side that Data comes from
    listens, so that the kernel's choices for accepted connections are those for Data."""
    before = [(link["b"], link["a"], True) for link in links[:place][-1:]]
    after = [(link["a"], link["b"], False) for link in links[place : place + 1]]
    # The kernel doubles what a program asks for.
    buffers: model.Buffers = {}
    if ndn.send_buffer_bytes is not None:
        buffers["send_buffer_bytes"] = ndn.send_buffer_bytes // 2
    if ndn.send_queue_bytes is not None:
        buffers["send_queue_bytes"] = ndn.send_queue_bytes
    for here, there, listens in before + after:
        yield {
            "name": f"{here['host']}-{there['host']}",
            "transport": ndn.transport,
            "local": f"{here['address']}:{PORT}",
            "remote": f"{there['address']}:{PORT}",
            "listen": listens,
            "mtu_bytes": FACE_MTU_BYTES,
            **buffers,
        }


def _marking(ndn: Ndn) -> model.Marking:
    requested = ndn.marking
    if requested.mode == "off":
        return {"mode": "off"}
    common: model.Marking = {"mode": requested.mode, "threshold_bytes": ndn.threshold_bytes}
    if requested.mode == "nfd":
        return {**common, "interval_ms": requested.interval_ms}
    return {**common, "tcp_queue_packets": requested.tcp_queue_packets}
