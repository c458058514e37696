"""How plots look: one size, one palette, and SVG files that are the same bytes for the same data."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from testbed import colours

# Okabe and Ito, "Color Universal Design" (2008): told apart with any kind of colour vision.
SERIES_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
PAPER, INK, MUTED, GRID, SHADE = colours.PAPER, colours.INK, colours.MUTED, colours.GRID, colours.SHADE
LINE_STYLES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
"""Used beside the colours, so that a plot can be read in grey."""


def published(marker: str, size: float = 5) -> dict[str, Any]:
    """How a point looks that others measured: hollow, whatever its series."""
    return {
        "marker": marker,
        "linestyle": "none",
        "markersize": size,
        "color": PAPER,
        "markeredgecolor": INK,
        "markeredgewidth": 1,
    }


# Read at full width on a phone, two side by side on a desktop.
SIZE_INCHES = (4.8, 3.2)

# Any: matplotlib types its settings by the literal names of all of them.
SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "figure.facecolor": PAPER,
    "svg.fonttype": "none",
}


@contextmanager
def canvas(size_inches: tuple[float, float]) -> Iterator[Figure]:
    """An empty figure in the testbed's style."""
    with mpl.rc_context(SETTINGS):
        yield Figure(figsize=size_inches, layout="constrained")


@contextmanager
def new_plot(title: str, y_label: str) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one axes over seconds since the transfer's start, in the testbed's style."""
    with canvas(SIZE_INCHES) as figure:
        axes = figure.subplots()
        axes.set_title(title, pad=22)  # the legend lies between title and axes
        axes.set_ylabel(y_label)
        axes.set_xlabel("seconds since the transfer's start")
        yield figure, axes


def to_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as SVG text; ``name`` keeps its element ids apart from other figures' on one page."""
    buffer = io.StringIO()
    with mpl.rc_context({**SETTINGS, "svg.hashsalt": name}):
        _lay_out(figure)
        figure.savefig(buffer, format="svg", metadata={"Title": description, "Creator": "ncp-testbed", "Date": None})
    return buffer.getvalue()


def _lay_out(figure: Figure) -> None:
    """Place the parts once and for all: where that is left to ``savefig``, it draws the whole figure twice."""
    engine = figure.get_layout_engine()
    if engine is not None:
        FigureCanvasSVG(figure)
        figure.set_dpi(FigureCanvasSVG.fixed_dpi)
        engine.execute(figure)
        figure.set_layout_engine("none")


# In the page, colours follow the reader's light or dark setting.
_PAGE_COLOURS = {
    PAPER: "var(--paper)",
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--grid)",
    SHADE: "var(--shade)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES_COLOURS, start=1)},
}


def for_page(svg: str, name: str, description: str) -> str:
    """The SVG to stand inside an HTML page: no XML prologue, named ids, colours as CSS variables, scaling."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{name}-", body)
    for colour, variable in _PAGE_COLOURS.items():
        body = body.replace(f": {colour}", f": {variable}")
    # Width and height in points would fix the size; the viewBox keeps the proportions.
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    return body.replace("<svg", f'<svg role="img" aria-label="{description}"', 1)
