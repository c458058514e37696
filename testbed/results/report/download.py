"""A report's part about a download over the kernel's TCP: its time sequence, and theory beside measurement."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from testbed import documents, paths
from testbed.results.report import style
from testbed.results.report.folder import ResultFolder
from testbed.results.report.plot import Plot, drawn
from testbed.traffic.tcp.captured import receive_window
from testbed.traffic.tcp.captured.sequence import DATA, EDGES, Edge, TimeSequence, read_csv

PUBLISHED = paths.CHECKOUT / "data" / "published" / "initial-rwnd.csv"
DESCRIPTION = (
    "Data as the sender's host sent it and the right edge of the window that the receiver advertised, from captured "
    "packets. Full dots: sent again. Dashed lines: whole round trips."
)


@dataclass(frozen=True)
class Table:
    """Rows of texts under a title."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dataclass(frozen=True)
class Published:
    """A case of the patch, read off its charts."""

    acknowledged_ms: float
    first_edge_bytes: int


def is_download(folder: ResultFolder) -> bool:
    """Whether the folder is of a download that came to its end."""
    return bool(folder.plan.get("tcp", {}).get("kind") == "download" and (folder.path / EDGES).exists())


def published(case: str | None) -> Published | None:
    """The patch's figures of a case; None where it has none."""
    found = [row for row in documents.read_csv(PUBLISHED) if row["case"] == case]
    if not found:
        return None
    return Published(float(found[0]["acknowledged_ms"]), int(found[0]["first_edge_bytes"]))


def time_sequence_plot(folder: ResultFolder) -> Plot:
    """The chart as the patch has it: data and the advertised right edge over time since the first data packet."""
    sequence = read_csv(folder.path / EDGES, folder.path / DATA)
    with style.new_plot("Time sequence at the sender", "kB of the object") as (figure, axes):
        _draw(axes, sequence, _rtt_ms(folder), published(folder.plan["tcp"]["published"]))
        return drawn(figure, "time-sequence", DESCRIPTION)


def _draw(axes: Axes, sequence: TimeSequence, rtt_ms: float, source: Published | None) -> None:
    end_s = sequence.acknowledged_s
    last_ms = 1000 * (end_s if end_s is not None else sequence.edges[-1].t_s)
    shown = [e for e in sequence.edges if e.t_s * 1000 <= last_ms + rtt_ms / 10]
    x, y = _steps(shown)
    axes.plot(x, y, color=style.SERIES_COLOURS[1], linewidth=1.6, label="right edge")
    for again, label in ((False, "data"), (True, "data sent again")):
        sent = [d for d in sequence.data if d.again == again]
        if sent:
            axes.plot(
                [d.t_s * 1000 for d in sent],
                [(d.first_byte + d.bytes) / 1000 for d in sent],
                linestyle="none",
                marker="o" if again else ".",
                markersize=4 if again else 2.5,
                color=style.SERIES_COLOURS[3 if again else 0],
                label=label,
            )
    top = max(*y, sequence.object_bytes / 1000) * 1.05
    for trip in range(1, int(last_ms / rtt_ms) + 1):
        axes.axvline(trip * rtt_ms, color=style.MUTED, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
    axes.axhline(
        sequence.object_bytes / 1000, color=style.INK, linewidth=0.8, linestyle=(0, (1, 2)), label="object's end"
    )
    right_ms = last_ms * 1.04
    if sequence.initial_window_bytes < sequence.object_bytes:
        edges_kb = [receive_window.LIMITED_WINDOW_BYTES * receive_window.EDGE_GROWTH**trip / 1000 for trip in range(4)]
        axes.plot(
            [trip * rtt_ms for trip in range(4)],
            edges_kb,
            drawstyle="steps-post",
            color=style.INK,
            linewidth=0.9,
            linestyle=(0, (2, 2)),
            label="theory",
        )
    if source is not None:
        right_ms = max(right_ms, source.acknowledged_ms * 1.04)
        axes.plot(
            [source.acknowledged_ms],
            [sequence.object_bytes / 1000],
            linestyle="none",
            marker="D",
            markersize=5,
            markerfacecolor="none",
            color=style.SERIES_COLOURS[2],
            label="patch: all acked",
        )
    axes.set_xlabel("ms since the first data packet")
    axes.set_xlim(0, right_ms)
    axes.set_ylim(0, top)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.1, 0.985),
        ncols=6,
        columnspacing=0.9,
        handlelength=1.2,
        handletextpad=0.4,
        fontsize=7,
    )


def _steps(edges: list[Edge]) -> tuple[list[float], list[float]]:
    """The highest edge so far, as a staircase: milliseconds from 0, kB."""
    x: list[float] = []
    y: list[float] = []
    for edge in edges:
        at_ms, kb = max(0.0, edge.t_s * 1000), edge.right_edge_bytes / 1000
        if y:
            x.append(at_ms)
            y.append(y[-1])
        if not y or kb > y[-1]:
            x.append(at_ms)
            y.append(kb)
    return x, y


def theory_table(folder: ResultFolder) -> Table:
    """Theory and measurement: the calculation in the patch, the figure in the patch, and the measured time."""
    requested, figures = folder.plan["tcp"], folder.verdict.figures
    object_bytes, rtt_s = int(requested["object_bytes"]), _rtt_ms(folder) / 1000
    source = published(requested["published"])
    limited = figures["initial_window_bytes"] < object_bytes
    bound_bps = receive_window.one_rtt_bps(object_bytes, rtt_s)
    reckoned = f"{bound_bps / 1e6:.0f} Mbit/s"
    if limited:
        whole, exact = (
            receive_window.limited_bps(object_bytes, rtt_s, whole_rtts=rounded) / 1e6 for rounded in (True, False)
        )
        rtts = receive_window.limited_rtts(object_bytes)
        reckoned = f"{whole:.1f} Mbit/s; {exact:.1f} if {rtts:.2f} RTT are not rounded up"
    sender = next((result for result in folder.agents.values() if result.get("role") == "sender"), {})
    edges = ", ".join(f"{edge:,}" for edge in sender.get("edges_met_bytes", [])) or "none"
    first = receive_window.LIMITED_WINDOW_BYTES
    by_patch = f"{first:,}, {first * receive_window.EDGE_GROWTH:,.0f}"
    throughput = object_bytes * 8 / figures["completion_ms"] / 1e3
    first_edge = f"{source.first_edge_bytes:,} (chart)" if source else "–"
    return Table(
        "Theory beside measurement",
        "Theory is the patch's, without handshake, request and time on the wire; for BBR its pacing of the first "
        "window, and a slow start where the initial congestion window is less than the object. The patch's first edge "
        "is read off a chart whose lines are 82,578 or 123,573 bytes apart.",
        ("", "theory", "the patch measured", "here"),
        [
            (
                "segments",
                f"{receive_window.packets(object_bytes)} of 1460 bytes",
                "–",
                f"{sender.get('segments_sent', 0)} of {sender.get('max_segment_size_bytes', 0)} bytes",
            ),
            (
                "initial window, bytes",
                "64 KiB" if limited else "the receive buffer's",
                first_edge,
                f"{figures['initial_window_bytes']:,.0f}",
            ),
            ("edges that the sender waited at", by_patch if limited else "none", "–", edges),
            (
                "all acknowledged, ms",
                f"{figures['theory_rtts'] * rtt_s * 1000:.1f}",
                f"{source.acknowledged_ms:g}" if source else "–",
                f"{figures['completion_ms']:.1f}",
            ),
            (
                "round trips",
                f"{figures['theory_rtts']:.2f}",
                f"{source.acknowledged_ms / 1000 / rtt_s:.1f}" if source else "–",
                f"{figures['rtts']:.2f}",
            ),
            ("throughput", reckoned, "–", f"{throughput:.1f} Mbit/s"),
        ],
    )


def _rtt_ms(folder: ResultFolder) -> float:
    delays = {link["name"]: float(link["delay_ms"]) for link in folder.plan["links"]}
    return 2 * sum(delays[name] for name in folder.sessions[0]["connections"][0]["path"])
