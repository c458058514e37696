"""The points of a plot as CSV, taken from the figure itself: what is drawn with a name is in it."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

COLUMNS = ("panel", "line", "at", "x", "y")
"""``panel`` is the axes' title where there are several; ``at`` what the axis has in place of numbers; ``x`` is empty of
a line at one height."""
_UNNAMED = re.compile(r"_(child|container)\d+|_nolegend_|None|")
"""Labels that Matplotlib gives by itself: frames, grids, marks that only the legend shows."""


def as_csv(figure: Figure) -> str:
    """A row for each point of a line, each bar, and each end of a whisker, in the order in which they were drawn. A
    label that begins with ``_`` is a name that the legend does not show."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for axes in figure.axes:
        panel = axes.get_title("left") if len(figure.axes) > 1 else ""
        names = _names(axes.xaxis) or _names(axes.yaxis)
        across = not _names(axes.xaxis)
        for name, points in _drawn(axes):
            for x, y in points:
                if x is None or (math.isfinite(x) and math.isfinite(y)):
                    at = _nearest(names, y if across else x)
                    writer.writerow((panel, name, at, "" if x is None else f"{x:.9g}", f"{y:.9g}"))
    return buffer.getvalue()


_Points = list[tuple[float | None, float]]


def _drawn(axes: Axes) -> Iterator[tuple[str, _Points]]:
    for line in axes.lines:
        if name := _name(line):
            yield name, _of_line(line, axes)
    for container in axes.containers:
        if isinstance(container, BarContainer) and (name := _name(container)):
            yield name, [(bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height()) for bar in container]
    for collection in axes.collections:
        if isinstance(collection, LineCollection) and (name := _name(collection)):
            yield name, [(float(x), float(y)) for segment in collection.get_segments() for x, y in segment]


def _of_line(line: Line2D, axes: Axes) -> _Points:
    along, _ = line.get_transform().contains_branch_seperately(axes.transData)
    x, y = (np.asarray(values, dtype=np.float64) for values in line.get_data())
    if not along:
        return [(None, float(y[0]))]
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _name(artist: Artist | BarContainer) -> str:
    label = str(artist.get_label())
    return "" if _UNNAMED.fullmatch(label) else label.removeprefix("_")


def _names(axis: Axis) -> dict[float, str]:
    """Labels of an axis in place of numbers, by place."""
    if not isinstance(axis.get_major_formatter(), FuncFormatter):
        return {}
    places: Any = axis.get_major_locator()()
    return {float(place): axis.get_major_formatter()(place).replace("\n", " ") for place in places}


def _nearest(names: dict[float, str], place: float | None) -> str:
    if not names or place is None:
        return ""
    return names[min(names, key=lambda at: abs(at - place))]
