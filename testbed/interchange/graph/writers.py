"""Writers of drawings, each as text.

SVG is black on white by itself; its colours are those that a report's page replaces by its reader's. Mermaid's
flowchart, as GitHub and most wikis draw it, finds its own places for things. draw.io's file (mxfile, uncompressed) is
to be moved and written on by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from testbed.interchange.graph.colours import INK, MUTED, PAPER, SHADE
from testbed.interchange.graph.drawing import LINE, NODE_HEIGHT, Drawing

TEXT = f"text-anchor: middle; stroke: {PAPER}; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke"
FONT = "font-family: system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; font-size: 12px"
NODE = "rounded={};arcSize=12;html=1;whiteSpace=wrap;"
LINK = "endArrow=none;html=1;rounded=0;labelBackgroundColor=default;"


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
            y=f"{box.y - NODE_HEIGHT / 2:g}",
            width=f"{box.width:g}",
            height=f"{NODE_HEIGHT:g}",
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


def to_mermaid(drawing: Drawing) -> str:
    """Mermaid text."""
    # Names of nodes may be words of Mermaid's, such as "end".
    ids = {box.name: f"n{number}" for number, box in enumerate(drawing.boxes, start=1)}
    lines = ["flowchart LR", f"  %% {drawing.title}"]
    for box in drawing.boxes:
        left, right = ("[", "]") if box.role == "router" else ("([", "])")
        lines.append(f"  {ids[box.name]}{left}{_quoted((box.name, box.role))}{right}")
    lines += [f"  {ids[line.a]} ---|{_quoted(line.text)}| {ids[line.b]}" for line in drawing.lines]
    return "\n".join(lines) + "\n"


def _quoted(lines: Iterable[str]) -> str:
    """The text as a label; inside of quotes only these characters have a meaning."""
    escaped = (text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;") for text in lines)
    return '"' + "<br/>".join(escaped) + '"'


def to_drawio(drawing: Drawing) -> str:
    """The text of a ``.drawio`` file, the same for the same drawing."""
    file = Element("mxfile", host="ncp-testbed")
    model = SubElement(SubElement(file, "diagram", id="topology", name="topology"), "mxGraphModel")
    root = SubElement(model, "root")
    SubElement(root, "mxCell", {"id": "0"})
    SubElement(root, "mxCell", {"id": "1", "parent": "0"})
    for box in drawing.boxes:
        node = {"id": f"node-{box.name}", "value": _html((box.name, box.role)), "vertex": "1", "parent": "1"}
        cell = SubElement(root, "mxCell", node | {"style": NODE.format(int(box.role != "router"))})
        place = {"x": box.x - box.width / 2, "y": box.y - NODE_HEIGHT / 2, "width": box.width, "height": NODE_HEIGHT}
        SubElement(cell, "mxGeometry", {key: f"{value:g}" for key, value in place.items()} | {"as": "geometry"})
    for line in drawing.lines:
        edge = {"id": f"link-{line.name}", "value": _html(line.text), "edge": "1", "parent": "1", "style": LINK}
        cell = SubElement(root, "mxCell", edge | {"source": f"node-{line.a}", "target": f"node-{line.b}"})
        geometry = SubElement(cell, "mxGeometry", {"relative": "1", "as": "geometry"})
        if bends := line.points[1:-1]:
            array = SubElement(geometry, "Array", {"as": "points"})
            for x, y in bends:
                SubElement(array, "mxPoint", x=f"{x:g}", y=f"{y:g}")
    indent(file)
    return tostring(file, encoding="unicode") + "\n"


def _html(lines: Sequence[str]) -> str:
    first, *rest = (escape(line) for line in lines)
    return "<br>".join([f"<b>{first}</b>", *rest])
