"""The picture of docs/cluster.md: ``python -m tests.far.picture`` writes docs/images/hosts.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from tests.cluster.picture import OURS, THEIRS, arrow, box

OUT = Path(__file__).resolve().parents[2] / "docs" / "images" / "hosts.svg"
TITLE = (
    "Hosts h1 and h2 are containers on two machines, m1 and m2. The middle of link 1 is on m1, that of link 2 on m2; "
    "the end that is on the other machine reaches it by a VXLAN tunnel. A helper container on each machine makes the "
    "interfaces, samples, and measures the way to the other one. The machine that leads the run gets what is sampled, "
    "and measures the ways to both for their clocks."
)


def main() -> None:
    """Draw it."""
    mpl.rcParams.update({"svg.hashsalt": "hosts", "svg.fonttype": "none", "font.family": "sans-serif"})
    figure = Figure(figsize=(8, 4.9))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 8), ylim=(0, 4.9))
    axes.axis("off")
    machines = (("m1", "h1", 0.15, 0.3, 2.1, 3.2, 1), ("m2", "h2", 4.65, 6.1, 4.75, 2.2, 2))
    for machine, host, left, host_at, middle_at, middle_low, link in machines:
        box(axes, left, 1.35, 3.2, 3.4, f"{machine}: Docker and SSH", THEIRS)
        box(axes, host_at, 2.15, 1.6, 2.25, f"host {host}: its agents", OURS)
        for number, height in ((1, 3.62), (2, 2.62)):
            axes.text(host_at + 0.8, height, f"{host}-eth{number}: rate, queue", fontsize=8.5, ha="center", va="center")
        told = f"middle of link {link}:\nrest of its delay,\nloss, jitter"
        box(axes, middle_at, middle_low, 1.15, 0.85, told, OURS)
        box(axes, left + 0.15, 1.45, 2.9, 0.52, "helper: interfaces, samples,\nthe way to the other machine", OURS)
    for start, end, height in ((1.88, 2.12, 3.62), (3.23, 6.12, 3.62), (1.88, 4.77, 2.62), (5.88, 6.12, 2.62)):
        arrow(axes, (start, height), (end, height), "<|-|>")
    arrow(axes, (3.22, 1.71), (4.78, 1.71), "<|-|>", dashed=True)
    box(axes, 2.85, 0.32, 2.3, 0.6, "this machine: judge,\ndatabase, underlay.csv", THEIRS)
    arrow(axes, (2.2, 1.43), (3.1, 0.92), "<|-|>", dashed=True)
    arrow(axes, (5.8, 1.43), (4.9, 0.92), "<|-|>", dashed=True)
    frames = "——  frames of a link: VXLAN between\n         machines, never fragmented"
    axes.text(0.15, 0.72, frames, fontsize=8, va="center")
    told = "- - -  packets that measure delay and\n         clock; Docker's API over SSH"
    axes.text(0.15, 0.3, told, fontsize=8, va="center")
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, metadata={"Date": None, "Title": TITLE, "Creator": "ncp-testbed"})


if __name__ == "__main__":
    main()
