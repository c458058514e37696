"""Time-sequence graphs for xplot, in the colours of tcptrace: what a connection sent (white), what is acknowledged
(green), how far the session's window allows (yellow), what it sent again (red R)."""

from collections.abc import Iterator
from pathlib import Path

from testbed.interchange.traces.reading import Trace, traces_of
from testbed.plan.read import read_plan


def export(folder: Path) -> list[Path]:
    """Write ``traces/<session>-<connection>.xpl`` of a result folder for each sender's trace; returns the files."""
    plan, traces, written = read_plan(folder / "plan.json"), traces_of(folder), []
    for session in plan["sessions"]:
        trace = traces.get(f"{session['name']}-sender")
        for connection in session["connections"] if trace else ():
            assert trace is not None
            name = f"{session['name']}-{connection['index']}"
            path = folder / "traces" / f"{name}.xpl"
            title = f"{plan['scenario']} {plan['run']}: {name} over {connection['link']}"
            axes = ("xlabel", "time since the session was established, s", "ylabel", "sequence")
            lines = ["double double", "title", title, *axes, *_drawn(trace, connection["index"]), "go"]
            path.write_text("".join(f"{line}\n" for line in lines))
            written.append(path)
    return written


def _drawn(trace: Trace, number: int) -> Iterator[str]:
    """Curves in s since the session was established, and packets. Acknowledgements are this connection's own; they may
    acknowledge packets of any."""
    start_ms = next(e["time"] for e in trace.of("session_state_updated") if e["data"]["new"] == "established")
    window_bytes, mtu_bytes = _agreed(trace)
    told_bytes, steps = 0, {"green": (0.0, 0.0), "yellow": (0.0, 0.0)}

    def rise(colour: str, at_s: float, level: float) -> Iterator[str]:
        """Draw a line up to here, where it rises to a level; it never falls."""
        from_s, before = steps[colour]
        if level > before:
            steps[colour] = at_s, level
            yield colour
            yield f"line {from_s:.6f} {before:.3f} {at_s:.6f} {before:.3f}"
            yield f"line {at_s:.6f} {before:.3f} {at_s:.6f} {level:.3f}"

    for event in trace.events:
        at_s, data = (event["time"] - start_ms) / 1000, event["data"]
        packet = data.get("packet", {})
        if event["name"] == "ncp:packet_received":
            told_bytes = max(told_bytes, packet.get("bytes_read", 0))
            yield from rise("yellow", at_s, (told_bytes + window_bytes) / mtu_bytes)
            if data["connection"] == number and "acked_ranges" in packet:
                yield from rise("green", at_s, max(last for _, last in packet["acked_ranges"]))
        elif event["name"] == "ncp:packet_sent" and "sequence" in packet and data["connection"] == number:
            sequence = packet["sequence"]
            begin, end = f"{at_s:.6f} {sequence}", f"{at_s:.6f} {sequence + 1}"
            yield "red" if "is_resend" in data else "white"
            yield from (f"darrow {end}", f"uarrow {begin}", f"line {begin} {end}")
            if "is_resend" in data:
                yield from (f"atext {end}", "R")


def _agreed(trace: Trace) -> tuple[int, int]:
    """Window and MTU in bytes: the smaller of both ends'."""
    packets = [event["data"].get("packet", {}) for event in trace.events]
    offers = [packet["handshake"] for packet in packets if "handshake" in packet]
    return min(offer["window"] for offer in offers), min(offer["mtu"] for offer in offers)
