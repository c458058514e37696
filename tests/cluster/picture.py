"""The picture of docs/cluster.md: ``python tests/cluster/picture.py`` writes docs/images/cluster.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

OUT = Path(__file__).resolve().parents[2] / "docs" / "images" / "cluster.svg"
TITLE = (
    "The submitter pushes a bundle, wheels, programs, kernel and certificates to each host by Ansible over SSH. "
    "Runs go from the submitter to the scheduler on the first host and to a worker on each host over TLS; results come "
    "back to the submitter, whose ledger is the truth."
)
OURS, THEIRS, LINE = "#dbe9f6", "#f3f3f3", "#445566"


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
    """A box with its words at the top."""
    shape = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.08", fc=colour, ec=LINE, lw=1)
    axes.add_patch(shape)
    axes.text(x + width / 2, y + height - 0.12, text, ha="center", va="top", fontsize=8.5, linespacing=1.35)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], style: str, dashed: bool = False) -> None:
    """From a box to another."""
    line = FancyArrowPatch(
        start, end, arrowstyle=style, mutation_scale=11, lw=1.2, color=LINE, ls="--" if dashed else "-"
    )
    axes.add_patch(line)


def main() -> None:
    """Draw it."""
    mpl.rcParams.update({"svg.hashsalt": "cluster", "svg.fonttype": "none", "font.family": "sans-serif"})
    figure = Figure(figsize=(8, 3.9))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 8), ylim=(0, 3.9))
    axes.axis("off")
    calls = "./run.sh cluster up\n./run.sh sweep … --cluster"
    told = f"this machine (submitter)\n\n{calls}\n\nthe study's folder:\nledger and results"
    box(axes, 0.15, 1.25, 2.1, 1.75, told, OURS)
    tops = (2.72, 1.42, 0.12)
    for top, name in zip(tops, ("first host", "second host", "third host …"), strict=True):
        box(axes, 4.3, top, 3.5, 1.1, "", THEIRS)
        axes.text(6.05, top + 0.98, name, fontsize=8.5, va="top")
        box(axes, 6.05, top + 0.12, 1.6, 0.66, "worker: a process\nfor each run", OURS)
        arrow(axes, (2.3, 2.5), (4.25, top + 0.85), "-|>", dashed=True)
    box(axes, 4.45, tops[0] + 0.12, 1.25, 0.66, "scheduler\n:8786", OURS)
    arrow(axes, (2.3, 1.7), (4.95, tops[0] + 0.1), "<|-|>")
    arrow(axes, (5.72, tops[0] + 0.42), (6.03, tops[0] + 0.42), "<|-|>")
    for top in tops[1:]:
        arrow(axes, (5.3, tops[0] + 0.1), (6.03, top + 0.45), "<|-|>")
    axes.text(
        0.15,
        0.8,
        "- - -  once, by Ansible over SSH: commit,\n         packages, programs, kernel",
        fontsize=8,
        va="center",
    )
    axes.text(0.15, 0.35, "——  runs and results, over TLS", fontsize=8, va="center")
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, metadata={"Date": None, "Title": TITLE, "Creator": "ncp-testbed"})


if __name__ == "__main__":
    main()
