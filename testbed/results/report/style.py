"""Style of plots: one size, one palette, and SVG files that are the same bytes for the same data."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from testbed.interchange import graph

# Okabe and Ito (2008): distinguishable with any kind of colour vision.
SERIES_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
PAPER, INK, MUTED, GRID, SHADE = graph.PAPER, graph.INK, graph.MUTED, graph.GRID, graph.SHADE
LINE_STYLES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
"""Used beside the colours, so that a plot can be read in grey."""


def colour(number: int) -> str:
    """The colour of a series, by its place among the others, from 0."""
    return SERIES_COLOURS[number % len(SERIES_COLOURS)]


def line(number: int) -> dict[str, Any]:
    """Style of a series' line, by its place among the others, from 0."""
    return {"color": colour(number), "linestyle": LINE_STYLES[number % len(LINE_STYLES)]}


def published(marker: str, size: float = 5) -> dict[str, Any]:
    """Style of other people's measurements: hollow, whatever the series."""
    hollow = {"color": PAPER, "markeredgecolor": INK, "markeredgewidth": 1}
    return {"marker": marker, "linestyle": "none", "markersize": size, **hollow}


# Read at full width on a phone, two side by side on a desktop.
SIZE_INCHES = (4.8, 3.2)
LEGEND: Any = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.99), "columnspacing": 1.2, "handlelength": 1.8}
"""Place of a legend: between title and axes."""
WIDE_POINTS = 500
"""A plot from here on is scrolled on a phone, where it could not be read at the screen's width."""

# Any: matplotlib types its settings by the literal names of all of them.
SETTINGS: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), MUTED),
    "axes.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "figure.facecolor": PAPER,
    "svg.fonttype": "none",
}

COLUMN_INCHES = 3.5
"""Widths in a paper of two columns, as IEEE and ACM set them; a wide plot takes both."""
# No smaller than a paper's own captions. Fonts are embedded as they are, as Type 3 is refused by many.
_ON_PAPER: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.3,
    "figure.facecolor": "none",
    "pdf.fonttype": 42,
}
_paper: ContextVar[bool] = ContextVar("paper", default=False)


@contextmanager
def for_paper() -> Iterator[None]:
    """Plots that are drawn inside are drawn for a paper as well."""
    before = _paper.set(True)
    try:
        yield
    finally:
        _paper.reset(before)


def on_paper() -> bool:
    """Whether plots are drawn for a paper."""
    return _paper.get()


def of_the_page(length: float) -> float:
    """A length as it is on the page, in the form that is drawn now."""
    return length * COLUMN_INCHES / SIZE_INCHES[0] if on_paper() else length


def _settings() -> Any:
    return {**SETTINGS, **_ON_PAPER} if on_paper() else SETTINGS


@contextmanager
def canvas(size_inches: tuple[float, float]) -> Iterator[Figure]:
    """An empty figure in the testbed's style."""
    width, height = map(of_the_page, size_inches)
    with mpl.rc_context(_settings()):
        yield Figure(figsize=(width, height), layout="constrained")


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
    with mpl.rc_context({**_settings(), "svg.hashsalt": name}):
        drawing: Any = FigureCanvasSVG(figure)  # Any: its methods have no types
        # Laid out once and for all, by the texts' sizes in an SVG. `savefig` would draw it once more to do so.
        if engine := figure.get_layout_engine():
            figure.set_dpi(FigureCanvasSVG.fixed_dpi)
            engine.execute(figure)
            figure.set_layout_engine("none")
        drawing.print_svg(buffer, metadata={"Title": description, "Creator": "ncp-testbed", "Date": None})
    return buffer.getvalue()


def to_pdf(figure: Figure, description: str) -> bytes:
    """The figure as a paper takes it: without the title, which its caption says, and with legends that fit in."""
    from matplotlib.backends.backend_pdf import FigureCanvasPdf  # of no use to any other run

    buffer = io.BytesIO()
    with mpl.rc_context(_settings()):
        FigureCanvasPdf(figure)
        figure.set_dpi(72)  # PDF's, by which texts are as wide as they will be
        for axes in figure.axes:
            if axes.get_legend() is not None:
                axes.set_title("", loc="left")
                _narrow_legend(axes, MOST_LEGEND * figure.bbox.width)
        figure.savefig(buffer, format="pdf", metadata={"Title": description, "CreationDate": None})
    return buffer.getvalue()


MOST_LEGEND = 0.8
"""Part of a figure's width for the axes; the rest is for labels left of them."""


def _narrow_legend(axes: Axes, width: float) -> None:
    """The axes' legend in fewer columns, until it is no wider."""
    legend = axes.get_legend()
    assert legend is not None
    handles = [handle for handle in legend.legend_handles if handle is not None]
    labels = [text.get_text() for text in legend.get_texts()]
    columns = len(labels)
    while columns > 1 and legend.get_window_extent().width > width:
        columns -= 1
        legend = axes.legend(handles, labels, ncols=columns, **LEGEND)


# In the page, colours follow the reader's light or dark setting.
_OF_THE_PAGE = {"paper": PAPER, "ink": INK, "muted": MUTED, "grid": GRID, "shade": SHADE}
_OF_THE_PAGE |= {f"series-{number}": colour for number, colour in enumerate(SERIES_COLOURS, start=1)}


def for_page(svg: str, name: str, description: str) -> str:
    """The SVG to stand inside an HTML page: no XML prologue, named ids, colours as CSS variables, scaling."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{name}-", body)
    for variable, colour in _OF_THE_PAGE.items():
        body = body.replace(f": {colour}", f": var(--{variable})")
    if drawn_px := re.search(r'style="width: ([\d.]+)px;', body):
        # A drawing with a width of its own gives way on a narrow screen, as far as it can still be read there.
        least_px = 0.75 * float(drawn_px[1])
        body = body.replace(drawn_px[0], f"{drawn_px[0]} max-width: 100%; min-width: {least_px:g}px;", 1)
    wide = (found := re.search(r'<svg[^>]*? width="([\d.]+)pt"', body)) and float(found[1]) >= WIDE_POINTS
    for side in ("width", "height"):  # in points they would fix the size; the viewBox keeps the proportions
        body = re.sub(rf'(<svg[^>]*?) {side}="[^"]*"', r"\1", body, count=1)
    kind = 'class="wide" ' if wide else ""
    label = escape(description, quote=False).replace('"', "&quot;")
    return body.replace("<svg", f'<svg {kind}role="img" aria-label="{label}"', 1)
