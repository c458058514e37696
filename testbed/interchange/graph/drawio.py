"""A picture as draw.io reads it (mxfile, uncompressed), to be moved and written on by hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from testbed.interchange.graph.drawing import Drawing, Point

NODE = "rounded={};arcSize=12;html=1;whiteSpace=wrap;"
LINK = "endArrow=none;html=1;rounded=0;labelBackgroundColor=default;"


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
        place = {"x": box.x - box.width / 2, "y": box.y - box.height / 2, "width": box.width, "height": box.height}
        SubElement(cell, "mxGeometry", {key: f"{value:g}" for key, value in place.items()} | {"as": "geometry"})
    for line in drawing.lines:
        edge = {"id": f"link-{line.name}", "value": _html(line.text), "edge": "1", "parent": "1", "style": LINK}
        cell = SubElement(root, "mxCell", edge | {"source": f"node-{line.a}", "target": f"node-{line.b}"})
        geometry = SubElement(cell, "mxGeometry", {"relative": "1", "as": "geometry"})
        _turns(geometry, line.points[1:-1])
    indent(file)
    return tostring(file, encoding="unicode") + "\n"


def _turns(geometry: Element, points: Sequence[Point]) -> None:
    """Points at which a line bends between its ends."""
    if points:
        array = SubElement(geometry, "Array", {"as": "points"})
        for x, y in points:
            SubElement(array, "mxPoint", x=f"{x:g}", y=f"{y:g}")


def _html(lines: Sequence[str]) -> str:
    first, *rest = (escape(line) for line in lines)
    return "<br>".join([f"<b>{first}</b>", *rest])
