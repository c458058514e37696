"""A report's part about a download over the kernel's TCP: its time sequence, and theory beside measurement."""

from collections.abc import Sequence
from typing import Any

from testbed import documents, paths
from testbed.results.report import style
from testbed.results.report.folder import ResultFolder
from testbed.results.report.plot import Curve, Plot, curve_plot
from testbed.traffic.tcp.captured import receive_window
from testbed.traffic.tcp.captured.sequence import DATA, EDGES, Edge, read_csv

PUBLISHED = paths.CHECKOUT / "data" / "published" / "initial-rwnd.csv"
DESCRIPTION = (
    "Data as the sender's host sent it and the right edge of the window that the receiver advertised, from captured "
    "packets. Dashed lines: whole round trips."
)


def is_download(folder: ResultFolder) -> bool:
    """Whether the folder is of a download that came to its end."""
    return bool(folder.plan.get("tcp", {}).get("kind") == "download" and (folder.path / EDGES).exists())


def published(case: str | None) -> dict[str, str] | None:
    """The patch's figures of a case, read off its charts; None where it has none."""
    return next((row for row in documents.read_csv(PUBLISHED) if row["case"] == case), None)


def time_sequence_plot(folder: ResultFolder) -> Plot:
    """The chart as the patch has it: data and the advertised right edge over time since the first data packet."""
    sequence = read_csv(folder.path / EDGES, folder.path / DATA)
    rtt_ms, object_kb = _rtt_ms(folder), sequence.object_bytes / 1000
    end_s = sequence.acknowledged_s
    last_ms = 1000 * (end_s if end_s is not None else sequence.edges[-1].t_s)
    x, y = _steps([edge for edge in sequence.edges if edge.t_s * 1000 <= last_ms + rtt_ms / 10])
    curves = [Curve("right edge", x, y, {"color": style.SERIES_COLOURS[1], "linewidth": 1.6})]
    for again, label, marker, size, colour in ((False, "data", ".", 2.5, 0), (True, "data sent again", "o", 4, 3)):
        look: Any = {"linestyle": "none", "marker": marker, "markersize": size, "color": style.SERIES_COLOURS[colour]}
        if sent := [segment for segment in sequence.data if segment.again == again]:
            ends_kb = [(segment.first_byte + segment.bytes) / 1000 for segment in sent]
            curves.append(Curve(label, [segment.t_s * 1000 for segment in sent], ends_kb, look))
    trips = {"color": style.MUTED, "linewidth": 0.7, "linestyle": (0, (4, 3)), "zorder": 1}
    curves += [Curve("", trip * rtt_ms, None, trips) for trip in range(1, int(last_ms / rtt_ms) + 1)]
    thin = {"color": style.INK, "linewidth": 0.8, "linestyle": (0, (1, 2))}
    curves.append(Curve("object's end", None, object_kb, thin))
    if sequence.initial_window_bytes < sequence.object_bytes:
        edges_kb = [receive_window.LIMITED_WINDOW_BYTES * receive_window.EDGE_GROWTH**trip / 1000 for trip in range(4)]
        steps = {"drawstyle": "steps-post", "color": style.INK, "linewidth": 0.9, "linestyle": (0, (2, 2))}
        curves.append(Curve("theory", [trip * rtt_ms for trip in range(4)], edges_kb, steps))
    if source := published(folder.plan["tcp"]["published"]):
        acknowledged_ms = float(source["acknowledged_ms"])
        last_ms = max(last_ms, acknowledged_ms)
        hollow = {"linestyle": "none", "marker": "D", "markersize": 5, "markerfacecolor": "none"}
        look = {**hollow, "color": style.SERIES_COLOURS[2]}
        curves.append(Curve("patch: all acked", [acknowledged_ms], [object_kb], look))
    title, unit = "Time sequence at the sender", "kB of the object"
    axes: Any = {"x_label": "ms since the first data packet", "right": last_ms * 1.04, "top": max(*y, object_kb) * 1.05}
    return curve_plot("time-sequence", title, unit, DESCRIPTION, curves, **axes)


def _steps(edges: Sequence[Edge]) -> tuple[list[float], list[float]]:
    """The highest edge so far, as a staircase: milliseconds from 0, kB."""
    x: list[float] = []
    y: list[float] = []
    for edge in edges:
        at_ms, kb = max(0.0, edge.t_s * 1000), edge.right_edge_bytes / 1000
        for height in (*y[-1:], *([kb] if not y or kb > y[-1] else [])):
            x.append(at_ms)
            y.append(height)
    return x, y


def theory_table(folder: ResultFolder) -> dict[str, Any]:
    """Theory and measurement: the calculation in the patch, the figure in the patch, and the measured time."""
    requested, figures = folder.plan["tcp"], folder.verdict.figures
    object_bytes, rtt_s = int(requested["object_bytes"]), _rtt_ms(folder) / 1000
    limited = figures["initial_window_bytes"] < object_bytes
    reckoned = f"{receive_window.one_rtt_bps(object_bytes, rtt_s) / 1e6:.0f} Mbit/s"
    if limited:
        whole, exact = (receive_window.limited_bps(object_bytes, rtt_s, whole_rtts=up) / 1e6 for up in (True, False))
        rtts = receive_window.limited_rtts(object_bytes)
        reckoned = f"{whole:.1f} Mbit/s; {exact:.1f} if {rtts:.2f} RTT are not rounded up"
    sender = next((result for result in folder.agents.values() if result.get("role") == "sender"), {})
    waited_at = ", ".join(f"{edge:,}" for edge in sender.get("edges_met_bytes", [])) or "none"
    first = receive_window.LIMITED_WINDOW_BYTES
    edges = f"{first:,}, {first * receive_window.EDGE_GROWTH:,.0f}" if limited else "none"
    chart_edge = chart_ms = chart_rtts = "–"
    if source := published(requested["published"]):
        acknowledged_ms = float(source["acknowledged_ms"])
        chart_edge = f"{int(source['first_edge_bytes']):,} (chart)"
        chart_ms, chart_rtts = f"{acknowledged_ms:g}", f"{acknowledged_ms / 1000 / rtt_s:.1f}"
    segments = f"{sender.get('segments_sent', 0)} of {sender.get('max_segment_size_bytes', 0)} bytes"
    window = "64 KiB" if limited else "the receive buffer's"
    theory_ms = f"{figures['theory_rtts'] * rtt_s * 1000:.1f}"
    throughput = f"{object_bytes * 8 / figures['completion_ms'] / 1e3:.1f} Mbit/s"
    return {
        "title": "Theory beside measurement",
        "note": "Theory is the patch's, without handshake, request and time on the wire; for BBR its pacing of the "
        "first window, and a slow start where the initial congestion window is less than the object. The patch's first "
        "edge is read off a chart whose lines are 82,578 or 123,573 bytes apart.",
        "header": ("", "theory", "the patch measured", "here"),
        "rows": [
            ("segments", f"{receive_window.packets(object_bytes)} of 1460 bytes", "–", segments),
            ("initial window, bytes", window, chart_edge, f"{figures['initial_window_bytes']:,.0f}"),
            ("edges that the sender waited at", edges, "–", waited_at),
            ("all acknowledged, ms", theory_ms, chart_ms, f"{figures['completion_ms']:.1f}"),
            ("round trips", f"{figures['theory_rtts']:.2f}", chart_rtts, f"{figures['rtts']:.2f}"),
            ("throughput", reckoned, "–", throughput),
        ],
    }


def _rtt_ms(folder: ResultFolder) -> float:
    delays = {link["name"]: float(link["delay_ms"]) for link in folder.plan["links"]}
    return 2 * sum(delays[name] for name in folder.plan["sessions"][0]["connections"][0]["path"])
