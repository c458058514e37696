"""The topology as a picture: who is where, what is written at each link, and that each form can be read."""

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from testbed.interchange.graph import FORMATS, Box, Drawing, Line, draw, link_lines
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.scenario import files
from testbed.scenario.load import load
from tests.plan.test_topologies import POLICIES, plan_of
from topologies.link import resolve_link
from topologies.units import Rate

SHIPPED = [*files.scenarios(), *files.links()]


def shipped(path: Path) -> Plan:
    """Its plan; which policy has no part in the picture."""
    loaded = load(str(path))
    if loaded.scenario.topology.kind == "custom":
        pytest.importorskip("mininet.topo")
    policies = POLICIES | dict.fromkeys(("delivery-rate", "minrtt"), POLICIES["nkp24"])
    return resolve(loaded, policies, Choices(), new_run_id())


def at(drawing: Drawing) -> dict[str, Box]:
    return {box.name: box for box in drawing.boxes}


def written(line: Line) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of what is written at a link."""
    x, y = line.label
    half = max(map(len, line.text)) * 6 / 2
    return x - half, x + half, y - 16, y + (len(line.text) - 1) * 15 + 3


def overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def assert_legible(drawing: Drawing) -> None:
    """Nothing is written over anything else, or beyond the picture."""
    sides = {
        **{box.name: (box.x - box.width / 2, box.x + box.width / 2, box.y - 22, box.y + 22) for box in drawing.boxes},
        **{f"link {line.name}": written(line) for line in drawing.lines},
    }
    for (a, one), (b, other) in combinations(sides.items(), 2):
        assert not overlap(one, other), (a, b)
    assert min(side[0] for side in sides.values()) >= 0
    assert max(side[1] for side in sides.values()) <= drawing.width
    assert min(side[2] for side in sides.values()) >= 0
    assert max(side[3] for side in sides.values()) <= drawing.height


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_of_every_shipped_scenario_all_can_be_read(path: Path) -> None:
    plan = shipped(path)
    drawing = draw(plan)
    assert {line.name for line in drawing.lines} == {link["name"] for link in plan["links"]}
    boxes = at(drawing)
    assert set(boxes) == {host["name"] for host in plan["hosts"]} | {node["name"] for node in plan["nodes"]}
    for line in drawing.lines:
        for end, (x, _) in ((line.a, line.points[0]), (line.b, line.points[-1])):
            assert abs(x - boxes[end].x) == pytest.approx(boxes[end].width / 2, abs=0.2)
    assert_legible(drawing)


def test_senders_are_left_receivers_right_and_routers_between() -> None:
    boxes = at(draw(plan_of("dumbbell")))
    assert boxes["a1"].x == boxes["a3"].x < boxes["r1"].x < boxes["r2"].x < boxes["b1"].x == boxes["b3"].x
    assert boxes["a1"].y < boxes["a2"].y < boxes["a3"].y
    assert [boxes[name].role for name in ("a1", "b1", "a3", "r1")] == ["sender", "receiver", "iperf3", "router"]
    assert [box.role for box in draw(plan_of("ndn")).boxes] == ["producer", "forwarder", "consumer"]


@pytest.mark.parametrize("count", [1, 2, 3, 64])
def test_parallel_links_lie_apart(count: int) -> None:
    assert_legible(draw(plan_of("startup", f"links=[{{name: fast, rate: 1024pps, delay: 50ms, copies: {count}}}]")))


def test_at_a_link_stands_what_it_does() -> None:
    link = resolve_link(
        1,
        "fast",
        "h1",
        "h2",
        Rate(bps=8e6),
        delay_ms=12.5,
        loss=0.001,
        queue_mode="codel",
        impairments={"jitter_ms": 5.0, "duplicate": 0.01},
    )
    queued = link["queue"]["packets"]
    lines = ["fast", "8 Mbit/s, 12.5 ms", f"loss 0.1%, jitter 5 ms, duplicate 1%, codel, {queued} packets"]
    assert link_lines(link) == lines
    assert link_lines(resolve_link(1, "a", "h1", "h2", Rate(pps=0.5)))[1] == "0.5 packets/s, 0 ms"


def test_svg_says_all_of_it_and_nothing_twice() -> None:
    drawing = draw(plan_of("relays"))
    root = ElementTree.fromstring(FORMATS["svg"](drawing))
    texts = [str(element.text) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(texts) == sorted(
        [part for line in drawing.lines for part in line.text]
        + [part for box in drawing.boxes for part in (box.name, box.role)]
    )


def test_mermaid_has_a_line_for_each_and_no_name_that_is_a_word_of_its_own() -> None:
    text = FORMATS["mermaid"](draw(plan_of("relays")))
    assert text.splitlines()[0] == "flowchart LR"
    assert '  n1(["h1<br/>sender"])' in text.splitlines()
    assert '  n1 ---|"fast-1<br/>1024 packets/s, 25 ms"| n2' in text.splitlines()


def test_drawio_has_cells_with_their_places_and_links_with_their_ends() -> None:
    drawing = draw(plan_of("startup"))
    root = ElementTree.fromstring(FORMATS["drawio"](drawing))
    cells = {cell.get("id"): cell for cell in root.iter("mxCell")}
    assert len(cells) == 2 + len(drawing.boxes) + len(drawing.lines)
    for cell in cells.values():
        for key in ("parent", "source", "target"):
            assert cell.get(key) in (None, *cells)
    geometry = cells["node-h1"].find("mxGeometry")
    assert geometry is not None
    assert float(geometry.get("x", "")) == at(drawing)["h1"].x - at(drawing)["h1"].width / 2


def test_the_same_plan_gives_the_same_picture() -> None:
    for write in FORMATS.values():
        assert write(draw(plan_of("star"))) == write(draw(plan_of("star")))
