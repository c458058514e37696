"""A plot of a report."""

from __future__ import annotations

from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from testbed.results.report import points, style


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

    def named(self, name: str) -> Plot:
        """The same plot under another name."""
        return replace(self, name=name)


def drawn(figure: Figure, name: str, description: str, *, wide: bool = False) -> Plot:
    """The plot of a figure that is complete."""
    data = points.as_csv(figure)
    pdf = style.to_pdf(figure, description) if style.on_paper() else None
    return Plot(name, description, style.to_svg(figure, name, description), data, pdf, wide)
