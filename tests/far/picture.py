"""The picture of docs/hosts.md: ``python -m tests.far.picture`` writes docs/images/hosts.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from tests.cluster.picture import OURS, THEIRS, arrow, box

OUT = Path(__file__).resolve().parents[2] / "docs" / "images" / "hosts.svg"
TITLE = (
    "Hosts h1 and h2 are containers on two other machines. Each of their link interfaces is the end of a VXLAN tunnel "
    "to the middle of that link, which is on the machine that leads the run. A helper container on each machine makes "
    "the interfaces, samples, and answers what measures the way there."
)


def main() -> None:
    """Draw it."""
    mpl.rcParams.update({"svg.hashsalt": "hosts", "svg.fonttype": "none", "font.family": "sans-serif"})
    figure = Figure(figsize=(8, 3.7))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 8), ylim=(0, 3.7))
    axes.axis("off")
    for left, machine, host in ((0.15, "m1", "h1"), (5.75, "m2", "h2")):
        box(axes, left, 0.85, 2.1, 2.7, f"{machine}: Docker and SSH", THEIRS)
        box(
            axes,
            left + 0.15,
            1.85,
            1.8,
            1.2,
            f"host {host}: its agents\n\n{host}-eth1: rate, queue\n{host}-eth2: rate, queue",
            OURS,
        )
        box(axes, left + 0.15, 1.0, 1.8, 0.65, "helper: interfaces,\nsamples, clock", OURS)
    box(axes, 2.95, 0.85, 2.1, 2.7, "this machine", THEIRS)
    box(axes, 3.1, 1.85, 1.8, 1.2, "middles of links (relay)\n\nlink 1: the rest of its\ndelay; loss, jitter", OURS)
    box(axes, 3.1, 1.0, 1.8, 0.65, "judge, database,\nunderlay.csv", OURS)
    for height in (2.15, 2.4):
        arrow(axes, (2.12, height), (3.08, height), "<|-|>")
        arrow(axes, (4.92, height), (5.88, height), "<|-|>")
    arrow(axes, (2.12, 1.32), (3.08, 1.32), "<|-|>", dashed=True)
    arrow(axes, (4.92, 1.32), (5.88, 1.32), "<|-|>", dashed=True)
    axes.text(
        0.15, 0.52, "——  frames of a link: VXLAN, one tunnel for each end, never fragmented", fontsize=8, va="center"
    )
    axes.text(
        0.15,
        0.22,
        "- - -  Docker's API and sockets over SSH; packets that measure delay and clock",
        fontsize=8,
        va="center",
    )
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, metadata={"Date": None, "Title": TITLE, "Creator": "ncp-testbed"})


if __name__ == "__main__":
    main()
