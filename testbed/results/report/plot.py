"""A plot of a report: curves and what they are drawn by, its file, and its points as CSV."""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from testbed.results.report import style

COLUMNS = ("panel", "line", "at", "x", "y")
"""``panel`` is the axes' title where there are several; ``at`` what the axis has in place of numbers; ``x`` is empty of
a line at one height."""
_UNNAMED = re.compile(r"_(child|container)\d+|_nolegend_|None|")
"""Labels that Matplotlib gives by itself: frames, grids, marks that only the legend shows."""


@dataclass(frozen=True)
class Plot:
    """One plot: file name without suffix, its caption, the SVG text, the points that are drawn as CSV ("" of a
    drawing), and, if requested, the plot as a paper prints it. ``wide``: it has several panels."""

    name: str
    description: str
    svg: str
    data: str = ""
    pdf: bytes | None = None
    wide: bool = False


class Curve(NamedTuple):
    """A line, or marks, as ``look`` says. Without ``x`` it is a line at the height ``y``, without ``y`` one at ``x``. A
    label that begins with ``_`` names its points, but is not in the legend."""

    label: str
    x: Any
    y: Any
    look: Mapping[str, Any]
    band: tuple[Any, Any] | None = None
    """Lowest and highest values, with a shade between."""
    band_name: str = ""
    """Name of the shade's edges, if it is not the label."""


def draw_curves(axes: Axes, curves: Iterable[Curve]) -> None:
    """Draw them in their order."""
    for label, x, y, look, band, band_name in curves:
        if x is None:
            axes.axhline(y, label=label, **look)
        elif y is None:
            axes.axvline(x, label=label, **look)
        else:
            axes.plot(x, y, label=label, **look)
        if band is not None:
            axes.fill_between(x, *band, color=look["color"], alpha=0.16, linewidth=0)
            for edge, values in zip(("lowest", "highest"), band, strict=True):
                axes.plot(x, values, visible=False, label=f"_{band_name or label}, {edge}")


def curve_plot(
    name: str,
    title: str,
    unit: str,
    description: str,
    curves: Iterable[Curve],
    *,
    x_label: str = "seconds since the transfer's start",
    left: float | None = 0,
    right: float | None = None,
    top: float | None = None,
    events: Iterable[tuple[float, str]] = (),
    further: Callable[[Axes], None] = lambda _axes: None,
) -> Plot:
    """A plot of curves on axes from ``left`` and 0 to ``right`` and ``top``, with ``events`` by their times.
    ``further`` draws what else is no curve."""
    with style.new_plot(title, unit) as (figure, axes):
        draw_curves(axes, curves)
        axes.set(xlabel=x_label, xlim=(left, right), ylim=(0, top))
        further(axes)
        figure.set_figheight(figure.get_figheight() + _draw_events(axes, events) / 72)
        return drawn(figure, name, description)


_STEPS = 0.02
"""Events of one thing that follow each other within this part of the time axis are the steps of one."""


def _draw_events(axes: Axes, events: Iterable[tuple[float, str]]) -> float:
    """A vertical line for each event, with its text above the axes, where no curve is, in as many lines as they need;
    returns the height of these in points. What changes in steps has one text, of the first and the last step."""
    last_s = axes.get_xlim()[1]
    steps: list[list[tuple[float, str]]] = []
    for at_s, text in (event for event in events if 0 <= event[0] <= last_s):
        about = text.partition(": ")[0]
        if steps and steps[-1][-1][1].partition(": ")[0] == about != text and at_s - steps[-1][-1][0] < _STEPS * last_s:
            steps[-1].append((at_s, text))
        else:
            steps.append([(at_s, text)])
    begins: list[float] = []
    for order, ((at_s, text), *others) in enumerate(reversed(steps)):  # so that no text lies where an earlier one leads
        for each_s in (at_s, *(to_s for to_s, _ in others[-1:])):
            axes.axvline(each_s, color=style.MUTED, linewidth=1, linestyle=(0, (4, 2)))
        said = f"{text} … {others[-1][1].partition(': ')[2]}" if others else text
        at, width = at_s / last_s, style.EVENT_LETTER * (len(said) + 1)
        after = at + width <= 1 or at < width
        begin = at if after else at - width
        line = next((number for number, first in enumerate(begins) if begin + width <= first), len(begins))
        begins[line : line + 1] = [begin]
        place: Any = {"xycoords": ("data", "axes fraction"), "xytext": (0, 3 + 9 * line), "textcoords": "offset points"}
        side: Any = {"ha": "left" if after else "right", "annotation_clip": False, "zorder": 5 - 0.01 * order}
        look: Any = {"fontsize": 7.5, "color": style.MUTED, "bbox": {"fc": style.PAPER, "ec": "none", "pad": 0.5}}
        lead = {
            "arrowstyle": "-",
            "color": style.MUTED,
            "lw": 0.6,
            "shrinkA": 0,
            "shrinkB": 0,
            "relpos": (not after, 0),
        }
        axes.annotate(said, (at_s, 1), **place, **side, **look, arrowprops=lead)
    return 9.0 * len(begins)


def drawn(figure: Figure, name: str, description: str, *, wide: bool = False) -> Plot:
    """The plot of a figure that is complete."""
    data = as_csv(figure)
    pdf = style.to_pdf(figure, description) if style.on_paper() else None
    return Plot(name, description, style.to_svg(figure, name, description), data, pdf, wide)


def as_csv(figure: Figure) -> str:
    """The points, taken from the figure itself: a row for each point of a line, each bar, and each end of a whisker
    that has a name, in the order in which they were drawn."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for axes in figure.axes:
        panel = axes.get_title("left") if len(figure.axes) > 1 else ""
        across = not _names(axes.xaxis)
        names = _names(axes.yaxis if across else axes.xaxis)
        for artist, points in _drawn(axes):
            label = str(artist.get_label())
            for x, y in points:
                if not _UNNAMED.fullmatch(label) and (x is None or (math.isfinite(x) and math.isfinite(y))):
                    place = y if across else x
                    at = "" if not names or place is None else names[min(names, key=lambda to: abs(to - place))]
                    writer.writerow((panel, label.removeprefix("_"), at, "" if x is None else f"{x:.9g}", f"{y:.9g}"))
    return buffer.getvalue()


def _drawn(axes: Axes) -> Iterator[tuple[Artist | BarContainer, list[tuple[float | None, float]]]]:
    """Artists that have points, with these."""
    for line in axes.lines:
        along, _ = line.get_transform().contains_branch_seperately(axes.transData)
        x, y = (np.asarray(values, dtype=np.float64).tolist() for values in line.get_data())
        yield line, list(zip(x, y, strict=True)) if along else [(None, y[0])]
    for bars in axes.containers:
        if isinstance(bars, BarContainer):
            yield bars, [(bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height()) for bar in bars]
    for whiskers in axes.collections:
        if isinstance(whiskers, LineCollection):
            yield whiskers, [(float(x), float(y)) for ends in whiskers.get_segments() for x, y in ends]


def _names(axis: Axis) -> dict[float, str]:
    """Labels of an axis in place of numbers, by place."""
    if not isinstance(axis.get_major_formatter(), FuncFormatter):
        return {}
    places: Any = axis.get_major_locator()()
    return {float(place): axis.get_major_formatter()(place).replace("\n", " ") for place in places}
