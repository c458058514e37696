"""How the sizes in ``sizes.csv`` are distributed: the share that fits in some segments, and a picture of all.

``python -m tests.tcp.assets.distribution`` draws ``docs/images/asset-sizes.svg`` anew.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from testbed import paths
from testbed.results.report import style
from tests.tcp.assets.measure import SIZES

PICTURE = paths.CHECKOUT / "docs" / "images" / "asset-sizes.svg"
SEGMENT_BYTES = 1500
"""As the source counts them."""
PUBLISHED = {3: 0.51, 10: 0.69}
"""By segments, read off the source's plot: objects of the 500 most popular sites, 2017."""
DESCRIPTION = (
    "Cumulative distribution of the sizes of files that pages fetch of 16 npm packages, as they are and as sent "
    "compressed; vertical lines at 3 and 10 segments, marks what was published for 500 web sites in 2017."
)


def read_sizes(path: Path = SIZES) -> dict[str, list[int]]:
    """Bytes of every file: ``as they are`` and ``as sent``."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return {"as sent": [int(row["sent_bytes"]) for row in rows], "as they are": [int(row["bytes"]) for row in rows]}


def share_within(sizes: Sequence[int], segments: int) -> float:
    """The share of sizes that are at most so many segments."""
    return sum(size <= segments * SEGMENT_BYTES for size in sizes) / len(sizes)


def picture() -> str:
    """The SVG text."""
    with mpl.rc_context(style.SETTINGS):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        for number, (name, sizes) in enumerate(read_sizes().items()):
            ordered = np.sort(sizes)
            axes.step(
                ordered,
                np.arange(1, len(ordered) + 1) / len(ordered),
                where="post",
                label=name,
                color=style.SERIES_COLOURS[number],
                linestyle=style.LINE_STYLES[number],
            )
        for segments, share in PUBLISHED.items():
            axes.axvline(segments * SEGMENT_BYTES, color=style.MUTED, linewidth=1)
            axes.text(segments * SEGMENT_BYTES * 1.08, 0.02, f"{segments} segments", fontsize=8)
            axes.plot(
                segments * SEGMENT_BYTES,
                share,
                "o",
                color=style.PAPER,
                markeredgecolor=style.INK,
                label="published: 500 web sites, 2017" if segments == 3 else None,
            )
        axes.set_xscale("log")
        axes.set_ylim(0, 1)
        axes.set_title("Sizes of assets in 16 npm packages", pad=22)
        axes.set_xlabel("bytes")
        axes.set_ylabel("share of files")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=3)
        return style.to_svg(figure, "asset-sizes", DESCRIPTION)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
