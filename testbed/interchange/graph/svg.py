"""A picture as SVG: black on white by itself; colours are those that a report's page replaces by its reader's."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from testbed.interchange.graph.colours import INK, MUTED, PAPER, SHADE
from testbed.interchange.graph.drawing import LINE, Drawing

TEXT = f"text-anchor: middle; stroke: {PAPER}; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke"
FONT = "font-family: system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; font-size: 12px"


def to_svg(drawing: Drawing) -> str:
    """SVG text, the same for the same drawing."""
    root = Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        width=f"{drawing.width:g}",
        height=f"{drawing.height:g}",
        viewBox=f"0 0 {drawing.width:g} {drawing.height:g}",
        style=f"width: {drawing.width:g}px; {FONT}",  # on a page, too, where it may be scrolled
    )
    SubElement(root, "title").text = drawing.title
    SubElement(root, "rect", width="100%", height="100%", style=f"fill: {PAPER}")
    for line in drawing.lines:
        points = " ".join(f"{x:g},{y:g}" for x, y in line.points)
        SubElement(root, "polyline", points=points, style=f"fill: none; stroke: {MUTED}; stroke-width: 1.5")
    for line in drawing.lines:
        x, y = line.label
        _text(root, x, [y - 6, *(y + LINE * number for number in range(1, len(line.text)))], line.text)
    for box in drawing.boxes:
        SubElement(
            root,
            "rect",
            x=f"{box.x - box.width / 2:g}",
            y=f"{box.y - box.height / 2:g}",
            width=f"{box.width:g}",
            height=f"{box.height:g}",
            rx="4" if box.role == "router" else "10",
            style=f"fill: {PAPER if box.role == 'router' else SHADE}; stroke: {INK}; stroke-width: 1.2",
        )
        _text(root, box.x, [box.y - 4, box.y + 12], (box.name, box.role))
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def _text(root: Element, x: float, baselines: Sequence[float], lines: Sequence[str]) -> None:
    """Lines of text, the first one bold, before a halo that keeps lines of links away from them."""
    for number, (y, text) in enumerate(zip(baselines, lines, strict=True)):
        look = f"fill: {MUTED}" if number else f"fill: {INK}; font-weight: 600"
        SubElement(root, "text", x=f"{x:g}", y=f"{y:g}", style=f"{look}; {TEXT}").text = text
