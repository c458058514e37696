"""qlog in the words of QUIC, which qvis draws: a file for each connection, as qvis knows one path."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from testbed.interchange.traces.reading import Event, Trace, traces_of

PACKET_BYTES = 1024
"""Bytes that a packet of a window counts in drawings: qvis counts windows in bytes."""


def export(folder: Path) -> list[Path]:
    """Write ``traces/<session>-<role>-<connection>.qlog`` of a result folder; returns the files."""
    written = []
    for name, trace in traces_of(folder).items():
        for number in sorted({event["data"]["connection"] for event in trace.events if "connection" in event["data"]}):
            written.append(folder / "traces" / f"{name}-{number}.qlog")
            written[-1].write_text(json.dumps(_document(name, trace, number), separators=(",", ":")) + "\n")
    return written


def _document(name: str, trace: Trace, number: int) -> dict[str, Any]:
    """A qlog file of draft 02 (0.3), the newest that qvis reads."""
    common = {"time_format": "relative", "reference_time": 0, "protocol_type": ["QUIC"]}
    events = [made for event in trace.events if (made := _event(event, number))]
    vantage_point = trace.header["trace"]["vantage_point"]
    one = {"title": f"{name}-{number}", "vantage_point": vantage_point, "common_fields": common, "events": events}
    return {"qlog_version": "0.3", "qlog_format": "JSON", "title": trace.header["title"], "traces": [one]}


def _event(event: Event, number: int) -> Event | None:
    """An event of one connection in QUIC's words; None where it has none for it."""
    data, name = event["data"], event["name"].removeprefix("ncp:")
    if data.get("connection") != number or name not in _IN_QUIC:
        return None
    category, in_quic = _IN_QUIC[name]
    return {"time": event["time"], "name": f"{category}:{name}", "data": in_quic(data)}


def _packet(data: dict[str, Any]) -> dict[str, Any]:
    """Reports of reading are left out: they are of the session, and qvis draws a connection's bytes."""
    packet = data["packet"]
    length = packet.get("data_length", 0)
    header: dict[str, Any] = {"packet_type": "1RTT" if "handshake" not in packet else "initial"}
    frames: list[dict[str, Any]] = []
    if "sequence" in packet:
        header["packet_number"] = packet["sequence"]
        offset = (packet["sequence"] - 1) * length
        frames.append({"frame_type": "stream", "stream_id": 0, "offset": offset, "length": length})
    if "acked_ranges" in packet:
        frames.append({"frame_type": "ack", "ack_delay": 0, "acked_ranges": packet["acked_ranges"]})
    if "handshake" in packet:
        frames.append({"frame_type": "crypto", "offset": 0, "length": 0})
    if "close" in packet:
        frames.append({"frame_type": "connection_close", "error_space": "application", "error_code": 0})
    return {"header": header, "raw": {"length": length, "payload_length": length}, "frames": frames}


def _lost(data: dict[str, Any]) -> dict[str, Any]:
    return {"header": {"packet_type": "1RTT", "packet_number": data["sequence"]}}


def _metrics(data: dict[str, Any]) -> dict[str, Any]:
    reported = {"congestion_window": round(data["window"] * PACKET_BYTES)}
    reported |= {"bytes_in_flight": data["in_flight"] * PACKET_BYTES, "packets_in_flight": data["in_flight"]}
    if "smoothed_rtt" in data:
        reported |= {"smoothed_rtt": data["smoothed_rtt"], "latest_rtt": data["smoothed_rtt"]}
    return reported


_IN_QUIC: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "packet_sent": ("transport", _packet),
    "packet_received": ("transport", _packet),
    "packet_lost": ("recovery", _lost),
    "metrics_updated": ("recovery", _metrics),
}
"""QUIC's category of each event, and the writer of its details."""
