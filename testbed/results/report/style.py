"""Style of plots: one size, one palette, and SVG files that are the same bytes for the same data."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import ScaledTranslation

from testbed.interchange import graph

# Okabe and Ito (2008): distinguishable with any kind of colour vision. The others are as far from these and from each
# other as they are, also without the cones for red or green.
SERIES_COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#2a10d8", "#6b3a12", "#9a3ae9", "#55185e", "#a5ad5d", "#0b2a85"),
)
PAPER, INK, MUTED, GRID, SHADE = graph.PAPER, graph.INK, graph.MUTED, graph.GRID, graph.SHADE
LINE_STYLES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
"""Used beside the colours, so that a plot can be read in grey."""
HATCHES = ("////", "....", "xxxx")
"""Hatches of bars, once all colours are taken."""


def colour(number: int) -> str:
    """The colour of a series, by its place among the others, from 0."""
    return SERIES_COLOURS[number % len(SERIES_COLOURS)]


def line(number: int) -> dict[str, Any]:
    """Style of a series' line, by its place among the others, from 0: with colours, styles begin again, one further."""
    style = number + number // len(SERIES_COLOURS)
    return {"color": colour(number), "linestyle": LINE_STYLES[style % len(LINE_STYLES)]}


def bar(number: int) -> dict[str, Any]:
    """Style of a series' bars, by its place among the others, from 0."""
    if not (turn := number // len(SERIES_COLOURS)):
        return {"color": colour(number)}
    look = {"hatch": HATCHES[(turn - 1) % len(HATCHES)], "edgecolor": PAPER, "linewidth": 0}
    return {"facecolor": colour(number), **look}


def published(marker: str, size: float = 5) -> dict[str, Any]:
    """Style of other people's measurements: hollow, whatever the series."""
    hollow = {"color": PAPER, "markeredgecolor": INK, "markeredgewidth": 1}
    return {"marker": marker, "linestyle": "none", "markersize": size, **hollow}


# Read at full width on a phone, two side by side on a desktop.
SIZE_INCHES = (4.8, 3.2)
LEGEND: Any = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1), "columnspacing": 1.2, "handlelength": 1.8}
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
        axes.set_title(title)
        axes.set_ylabel(y_label)
        axes.set_xlabel("seconds since the transfer's start")
        yield figure, axes


def to_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as SVG text; ``name`` keeps its element ids apart from other figures' on one page."""
    buffer = io.StringIO()
    with mpl.rc_context({**_settings(), "svg.hashsalt": name}):
        drawing: Any = FigureCanvasSVG(figure)  # Any: its methods have no types
        # Laid out once and for all, by the texts' sizes in an SVG. `savefig` would draw it once more to do so.
        figure.set_dpi(FigureCanvasSVG.fixed_dpi)
        _place_legends(figure)
        if engine := figure.get_layout_engine():
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
        _place_legends(figure)
        for axes in figure.axes:
            if axes.get_legend() is not None:
                axes.set_title("", loc="left")
        figure.savefig(buffer, format="pdf", metadata={"Title": description, "CreationDate": None})
    return buffer.getvalue()


EVENT_LETTER = 0.0125
"""Width of a letter of an event's text, in parts of the axes'."""
MOST_LEGEND = 1.05
"""Largest width of a legend, in parts of its axes' before the labels beside them take some of it."""


def _place_legends(figure: Figure) -> None:
    """A legend of all that has a label between each title and its axes, above the events' texts, in as many columns as
    there is room for; where the figure has one of its own, there are no others. By sizes of fonts alone, so that every
    version of Matplotlib has them at the same places."""
    size = mpl.rcParams["legend.fontsize"]
    for axes in figure.axes:
        rise = max((text.xyann[1] + 9 for text in axes.texts if isinstance(text, Annotation)), default=0.0)
        named = sorted(
            zip(*axes.get_legend_handles_labels(), strict=True), key=lambda each: not isinstance(each[0], BarContainer)
        )
        if named and not figure.legends:
            handles, labels = zip(*named, strict=True)
            columns = _columns(labels, MOST_LEGEND * axes.bbox.width / size)
            above = axes.transAxes + ScaledTranslation(0, rise / 72, figure.dpi_scale_trans)
            axes.legend(handles, labels, ncols=columns, bbox_transform=above, **LEGEND)
            lines = -(-len(labels) // columns)
            rise += size * (0.8 + 1.5 * lines)
            figure.set_figheight(figure.get_figheight() + size * 1.5 * (lines - 1) / 72)  # the axes stay as they are
        if rise and axes.get_title("left"):
            axes.set_title(axes.get_title("left"), pad=rise)


def _columns(labels: Sequence[str], room_em: float) -> int:
    """The columns of a legend in so much room, by the number of letters: every version of Matplotlib takes as many."""
    sign_em, between_em, letter_em = LEGEND["handlelength"] + 0.8, LEGEND["columnspacing"], 0.58
    for lines in range(1, len(labels)):
        columns = np.array_split([len(label) for label in labels], -(-len(labels) // lines))
        if sum(sign_em + between_em + letter_em * max(column) for column in columns) - between_em <= room_em:
            return len(columns)
    return 1


# In the page, colours follow the reader's light or dark setting.
_OF_THE_PAGE = {"paper": PAPER, "ink": INK, "muted": MUTED, "grid": GRID, "shade": SHADE}
_OF_THE_PAGE |= {f"series-{number}": colour for number, colour in enumerate(SERIES_COLOURS, start=1)}


def for_page(svg: str, name: str, description: str) -> str:
    """The SVG to stand inside an HTML page: no XML prologue, named ids, colours as CSS variables, scaling."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{name}-", body)
    for variable, colour in _OF_THE_PAGE.items():
        for before in (": ", 'fill="'):  # of styles, and of a hatch's ground
            body = body.replace(before + colour, f"{before}var(--{variable})")
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
