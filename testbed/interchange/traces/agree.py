"""Whether traces tell of the run that the results tell of: packets and bytes are counted in both."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from socket import inet_ntoa
from typing import Any

import dpkt

from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.interchange.traces.reading import SUFFIX, Trace, captures_of, frames_of, traces_of
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import sent_by
from topologies.link import Link

DATA = b"\x08"
"""First bytes of an NCP packet with data: the tag of its sequence, the first field."""


def disagreements(folder: Path) -> list[str]:
    """A line for each figure in which a trace of a result folder differs from the results; none if all agree.

    Raises:
        BadInput: a trace that can't be read.
    """
    plan = read_plan(folder / "plan.json")
    found: list[str] = []
    for name, trace in traces_of(folder).items():
        result = read_json(folder / "agents" / f"{name}.json")
        found += [f"traces/{name}{SUFFIX}: {said}" for said in _of_session(trace, result)]
    for link, end, path in captures_of(folder, plan):
        found += [f"traces/{path.name}: {said}" for said in _of_capture(path, end["host"], link, plan, folder)]
    return found


def _of_session(trace: Trace, result: dict[str, Any]) -> Iterator[str]:
    """Differences between the trace of one end and its result."""
    counted: Counter[tuple[str, int]] = Counter()
    first_bytes, seen = 0, set[int]()
    dropped = {(event["time"], event["data"]["sequence"]) for event in trace.of("packet_dropped")}
    for event in trace.events:
        data = event["data"]
        packet, number = data.get("packet", {}), data.get("connection", 0)
        match event["name"]:
            case "ncp:packet_sent" if "sequence" in packet:
                counted["sent", number] += 1
                counted["resent", number] += "is_resend" in data
                first_bytes += 0 if "is_resend" in data else packet["data_length"]
            case "ncp:packet_refused":
                counted["sent", number] -= 1
            case "ncp:packet_received" if "sequence" in packet and (event["time"], packet["sequence"]) not in dropped:
                counted["received", number] += 1
                first_bytes += 0 if packet["sequence"] in seen else packet["data_length"]
                seen.add(packet["sequence"])
            case "ncp:packet_lost":
                counted["lost", number] += 1
    for connection in result["connections"]:
        number = connection["index"]
        for key in ("sent", "resent", "received", "lost"):
            if counted[key, number] != connection[key]:
                yield f"connection {number}: {counted[key, number]} packets {key}, the result has {connection[key]}"
    if not result.get("error") and first_bytes != result["bytes"]:
        yield f"{first_bytes} bytes of data, the result has {result['bytes']}"


def _of_capture(path: Path, host: str, link: Link, plan: Plan, folder: Path) -> Iterator[str]:
    """Differences between a capture of a link's end and the sending end's result.

    What a host sends is all in its capture, but for packets that it sends while the link is down.
    """
    if any(action["kind"] == "carrier" and action["link"] == link["name"] for action in plan["timeline"]):
        return
    counted: Counter[tuple[str, str]] | None = None
    for session in plan["sessions"]:
        if session["sender_host"] != host or session["transport"] != "udp" or not sent_by(plan).windows:
            continue
        result = folder / "agents" / f"{session['name']}-sender.json"
        by_index = {reported["index"]: reported for reported in read_json(result)["connections"]}
        for connection in session["connections"]:
            if connection["path"][0] != link["name"]:
                continue
            counted, reported = counted or data_packets(path), by_index[connection["index"]]
            number = counted[connection["sender"], connection["receiver"]]
            if number != reported["sent"]:
                where = f"{session['name']}-{connection['index']}"
                yield f"{where}: {number} packets sent, the result has {reported['sent']}"


def data_packets(path: Path) -> Counter[tuple[str, str]]:
    """The number of NCP packets with data in a capture of Ethernet frames, by the addresses of sender and receiver."""
    found: Counter[tuple[str, str]] = Counter()
    try:
        for frame in frames_of(path):
            packet = dpkt.ethernet.Ethernet(frame.data).data
            if isinstance(packet, dpkt.ip.IP) and isinstance(packet.data, dpkt.udp.UDP):
                udp = packet.data
                if udp.data.startswith(DATA):
                    ends = f"{inet_ntoa(packet.src)}:{udp.sport}", f"{inet_ntoa(packet.dst)}:{udp.dport}"
                    found[ends] += 1
    except (ValueError, dpkt.UnpackError) as error:
        raise BadInput("capture.not-readable", f"{path}: not a readable capture: {error}") from error
    return found
