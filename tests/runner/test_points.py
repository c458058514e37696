"""Points in line protocol: as InfluxDB's own client writes them, and read back as they were."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from influxdb.line_protocol import make_lines
from line_protocol_parser import parse_line

from testbed.points import line_protocol, point

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(lambda name: not name.endswith("\\"))
VALUES = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), NAMES)
POINTS = st.builds(
    point, NAMES, st.dictionaries(NAMES, NAMES), st.dictionaries(NAMES, VALUES, min_size=1), st.integers(0, 2**62)
)


@given(st.lists(POINTS, max_size=3))
def test_lines_are_those_of_influxdbs_client(points: list[dict[str, Any]]) -> None:
    assert line_protocol(points) == (make_lines({"points": points}) if points else "")


def test_a_line_is_read_back_as_it_was() -> None:
    tags, fields = {"host": "a b", "x": "c,d=e", "none": ""}, {"f": 1.5, "i": 3, "text": 'say "x\\y"', "yes": True}
    read = parse_line(line_protocol([point("some thing", tags, fields, 7)]).rstrip("\n"))
    assert (read["measurement"], read["time"]) == ("some thing", 7)
    assert read["tags"] == {"host": "a b", "x": "c,d=e"}
    assert read["fields"] == fields
