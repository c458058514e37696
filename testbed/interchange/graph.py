"""The topology of a plan as a picture: one rule for where things are, and a writer for each form.

Senders are on the left, receivers on the right, and routers between, by their hops from the senders. Links between the
same two nodes lie apart from each other. Lengths are in CSS pixels, y grows downwards.

SVG is black on white by itself; its colours are those that a report's page replaces by its reader's. Mermaid's
flowchart, as GitHub and most wikis draw it, finds its own places for things. draw.io's file (mxfile, uncompressed) is
to be moved and written on by hand.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from math import dist
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from testbed.plan.link_words import delay, impairments, rate
from testbed.plan.model import Plan
from topologies.link import Link, shaped_at_hosts

PAPER, INK, MUTED, GRID, SHADE = "#ffffff", "#1f2328", "#59636e", "#d8dee4", "#eef1f4"
"""The colours of all pictures. A page replaces them by its reader's (``testbed.results.report.style.for_page``)."""
CHARACTER, LINE = 6.6, 15.0
"""The width of a character, as an upper mean of common sans-serif fonts at 12 px, and the height of a line."""
NODE_HEIGHT, GAP, MARGIN = 44.0, 22.0, 16.0
LEAST_NODE_WIDTH, BEND = 76.0, 36.0
"""``BEND`` is how far from a node a link is level."""
TEXT = f"text-anchor: middle; stroke: {PAPER}; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke"
FONT = "font-family: system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; font-size: 12px"
NODE = "rounded={};arcSize=12;html=1;whiteSpace=wrap;"
LINK = "endArrow=none;html=1;rounded=0;labelBackgroundColor=default;"

Point = tuple[float, float]
NamedLink = tuple[str, str, str]
"""A link's name and ends."""


@dataclass
class Box:
    """A host or a router; ``x`` and ``y`` are its middle."""

    name: str
    role: str
    column: int
    beside: list[str]
    """Names of the nodes that it is linked with."""
    needs: float = NODE_HEIGHT + GAP
    """Height of the node and of the links that end at it, one below the other."""
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0


@dataclass(frozen=True)
class Line:
    """A link from node to node, by all its ``points``, and what is written at ``label``: one line above it, the others
    below."""

    name: str
    a: str
    b: str
    points: tuple[Point, ...]
    label: Point
    text: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """A picture of a topology."""

    title: str
    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def draw(plan: Plan) -> Drawing:
    """The plan's topology; the same plan gives the same picture."""
    texts = {link["name"]: link_lines(link) for link in plan["links"]}
    lane = max(len(text) for text in texts.values()) * LINE + 16
    boxes = _columns(plan)
    lanes: dict[frozenset[str], list[str]] = defaultdict(list)
    for link in plan["links"]:
        lanes[frozenset((link["a"]["host"], link["b"]["host"]))].append(link["name"])
    for ends, links in lanes.items():
        for name in ends:
            boxes[name].needs = max(boxes[name].needs, len(links) * lane)
    _rows(boxes)
    longest = max(len(text) for box in boxes.values() for text in (box.name, box.role))
    width = max(LEAST_NODE_WIDTH, longest * CHARACTER + 20)
    reach = width + 2 * BEND + 16 + max(len(line) * CHARACTER for text in texts.values() for line in text)
    for box in boxes.values():
        box.x, box.width = box.column * reach, width
    drawn = []
    for link in plan["links"]:
        a, b = boxes[link["a"]["host"]], boxes[link["b"]["host"]]
        beside = lanes[frozenset((a.name, b.name))]
        offset = (beside.index(link["name"]) - (len(beside) - 1) / 2) * lane
        points = _upright(a, b, offset) if a.x == b.x else _level(a, b, _height(a, b, boxes, lane) + offset)
        (x1, y1), (x2, y2) = max(pairwise(points), key=lambda piece: (piece[0][1] == piece[1][1], dist(*piece)))
        label = (x1 + x2) / 2, (y1 + y2) / 2
        drawn.append(Line(link["name"], a.name, b.name, points, label, tuple(texts[link["name"]])))
    return _framed(f"{plan['scenario']}: the topology", list(boxes.values()), drawn)


def _columns(plan: Plan) -> dict[str, Box]:
    """Each node in its column: hops from the nearest sender; whoever only receives is right of all that pass on."""
    flows = [(session["sender_host"], session["receiver_host"]) for session in plan["sessions"]]
    flows += [(flow["client_host"], flow["server_host"]) for flow in plan["cross_traffic"]]
    senders = {sender for sender, _ in flows}
    names = [host["name"] for host in plan["hosts"]] + [node["name"] for node in plan["nodes"]]
    links = [(link["name"], link["a"]["host"], link["b"]["host"]) for link in plan["links"]]
    ways = [shortest_ways(links, sender) for sender in senders]
    hops = {name: min((len(way[name]) for way in ways if name in way), default=0) for name in names}
    receivers = {receiver for _, receiver in flows} - senders
    last = max((hops[name] for name in names if name not in receivers), default=0) + 1
    beside: dict[str, dict[str, None]] = defaultdict(dict)
    for _, a, b in links:
        beside[a][b] = beside[b][a] = None
    return {
        name: Box(name, role_of(plan, name), last if name in receivers else hops[name], list(beside[name]))
        for name in sorted(names, key=lambda name: (hops[name], names.index(name)))
    }


def shortest_ways(links: Sequence[NamedLink], start: str) -> dict[str, list[str]]:
    """A shortest way, by the names of its links, to each node that can be reached."""
    ways: dict[str, list[str]] = {start: []}
    ahead = [start]
    for node in ahead:
        for name, *ends in links:
            other = ends[node == ends[0]]
            if node in ends and other not in ways:
                ways[other] = [*ways[node], name]
                ahead.append(other)
    return ways


def _rows(boxes: Mapping[str, Box]) -> None:
    """Down each column, in the order of the means of what each is linked with on the left."""
    for column in sorted({box.column for box in boxes.values()}):
        own = [box for box in boxes.values() if box.column == column]

        def mean(box: Box, column: int = column) -> float:
            left = [boxes[name].y for name in box.beside if boxes[name].column < column]
            return sum(left) / len(left) if left else 0.0

        own.sort(key=mean)  # those alike stay in the plan's order
        top = -sum(box.needs for box in own) / 2
        for box in own:
            box.y = top + box.needs / 2
            top += box.needs


def _height(a: Box, b: Box, boxes: Mapping[str, Box], lane: float) -> float:
    """The height at which a link between two columns is level: at its end with fewer neighbours on that side, as these
    lie apart."""
    counts = []
    for one, other in ((a, b), (b, a)):
        right = other.column > one.column
        counts.append(sum((boxes[name].column > one.column) == right for name in one.beside))
    y = (a.y + b.y) / 2 if counts[0] == counts[1] else a.y if counts[0] < counts[1] else b.y
    columns = range(*sorted((a.column, b.column)))[1:]
    between = [box.y for box in boxes.values() if box.column in columns]
    if all(abs(y - other) > (NODE_HEIGHT + lane) / 2 for other in between):
        return y
    top, bottom = min(between) - NODE_HEIGHT - lane / 2, max(between) + NODE_HEIGHT + lane / 2
    return top if y - top < bottom - y else bottom


def _level(a: Box, b: Box, y: float) -> tuple[Point, ...]:
    """The line from edge to edge, level at its label."""
    right = 1 if a.x < b.x else -1
    start, end = (a.x + right * a.width / 2, a.y), (b.x - right * b.width / 2, b.y)
    if start[1] == y == end[1]:
        return start, end
    turns = [(x + side * right * (BEND if level != y else 0), y) for (x, level), side in ((start, 1), (end, -1))]
    return tuple(dict.fromkeys((start, *turns, end)))


def _upright(a: Box, b: Box, offset: float) -> tuple[Point, ...]:
    """Within a column."""
    down = 1 if a.y < b.y else -1
    return (a.x + offset / 4, a.y + down * NODE_HEIGHT / 2), (b.x + offset / 4, b.y - down * NODE_HEIGHT / 2)


def _framed(title: str, boxes: Sequence[Box], lines: Sequence[Line]) -> Drawing:
    """All of it moved to where the picture begins."""
    xs = [x for box in boxes for x in (box.x - box.width / 2, box.x + box.width / 2)]
    ys = [y for box in boxes for y in (box.y - NODE_HEIGHT / 2, box.y + NODE_HEIGHT / 2)]
    for line in lines:
        ys += [line.label[1] - LINE - 4, line.label[1] + (len(line.text) - 1) * LINE + 6]
        ys += [y for _, y in line.points]
        wide = max(map(len, line.text)) * CHARACTER / 2
        xs += [line.label[0] - wide, line.label[0] + wide]
    left, top = MARGIN - min(xs), MARGIN - min(ys)

    def moved(point: Point) -> Point:
        return round(point[0] + left, 1), round(point[1] + top, 1)

    width, height = round(max(xs) + left + MARGIN), round(max(ys) + top + MARGIN)
    placed = (replace(b, x=round(b.x + left, 1), y=round(b.y + top, 1), width=round(b.width, 1)) for b in boxes)
    drawn = (replace(line, points=tuple(map(moved, line.points)), label=moved(line.label)) for line in lines)
    return Drawing(title, width, height, tuple(placed), tuple(drawn))


def role_of(plan: Plan, name: str) -> str:
    """The role of a node in the run."""
    for node in plan.get("ndn", {}).get("nodes", []):
        if node["host"] == name:
            return str(node["role"])
    sessions, flows = plan["sessions"], plan["cross_traffic"]
    ends = {"sender": [s["sender_host"] for s in sessions], "receiver": [s["receiver_host"] for s in sessions]}
    roles = [role for role, hosts in ends.items() if name in hosts]
    beside = {flow["tool"] for flow in flows if name in (flow["client_host"], flow["server_host"])}
    return ", ".join([*roles, *sorted(beside)]) or "router"


def link_lines(link: Link) -> list[str]:
    """The link's name; its rate and delay; and, where it has any, what else it does to packets."""
    more = impairments(link)
    if not shaped_at_hosts(link):
        more.append(f"{link['queue']['mode']}, {link['queue']['packets']} packets")
    return [link["name"], f"{rate(link)}, {delay(link)}", *([", ".join(more)] if more else [])]


def to_svg(drawing: Drawing) -> str:
    """SVG text, the same for the same drawing."""
    width, height = f"{drawing.width:g}", f"{drawing.height:g}"
    root = Element("svg", xmlns="http://www.w3.org/2000/svg", width=width, height=height)
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("style", f"width: {width}px; {FONT}")  # on a page, too, where it may be scrolled
    SubElement(root, "title").text = drawing.title
    SubElement(root, "rect", width="100%", height="100%", style=f"fill: {PAPER}")
    for line in drawing.lines:
        points = " ".join(f"{x:g},{y:g}" for x, y in line.points)
        SubElement(root, "polyline", points=points, style=f"fill: none; stroke: {MUTED}; stroke-width: 1.5")
    for line in drawing.lines:
        x, y = line.label
        _text(root, x, [y - 6, *(y + LINE * number for number in range(1, len(line.text)))], line.text)
    for box in drawing.boxes:
        corner, fill = ("4", PAPER) if box.role == "router" else ("10", SHADE)
        SubElement(root, "rect", _edges(box), rx=corner, style=f"fill: {fill}; stroke: {INK}; stroke-width: 1.2")
        _text(root, box.x, [box.y - 4, box.y + 12], (box.name, box.role))
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def _edges(box: Box) -> dict[str, str]:
    """The left upper corner and the size of a node."""
    edges = {"x": box.x - box.width / 2, "y": box.y - NODE_HEIGHT / 2, "width": box.width, "height": NODE_HEIGHT}
    return {key: f"{value:g}" for key, value in edges.items()}


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
        SubElement(cell, "mxGeometry", _edges(box) | {"as": "geometry"})
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


FORMATS: Mapping[str, Callable[[Drawing], str]] = {"svg": to_svg, "mermaid": to_mermaid, "drawio": to_drawio}
"""Writers of drawings, by their names in ``./run.sh graph --format``."""
