"""A table in the database: its own cells and those of others, and none without a value."""

from line_protocol_parser import parse_line

from testbed.matrix.points import table_lines

NO_VALUE = {"n": 0, "median": None, "low": None, "high": None}
DOCUMENT = {
    "name": "speed-table", "run": "20261121-105150-52a4", "figures": ["goodput_mib_s", "rtt_ms"],
    "rows": [{
        "name": "1", "bounds": {"goodput_mib_s": 1.0},
        "cells": {
            "goodput_mib_s": {"nkp24": {"n": 3, "median": 0.9, "low": 0.8, "high": 0.95}, "mptcp": NO_VALUE},
            "rtt_ms": {"nkp24": {"n": 1, "median": 100.0, "low": 100.0, "high": 100.0}, "mptcp": NO_VALUE},
        },
        "known": [{"by": "published", "column": "nkp24", "value": 0.91, "figure": "goodput_mib_s"}],
    }],
}  # fmt: skip


def test_a_point_per_cell_that_has_a_value():
    points = [parse_line(line) for line in table_lines(DOCUMENT, 17)]
    by_place = {(p["tags"]["figure"], p["tags"]["column"]): p["fields"] for p in points}
    assert by_place == {
        ("goodput_mib_s", "nkp24"): {"median": 0.9, "lowest": 0.8, "highest": 0.95, "n": 3, "bound": 1.0},
        ("goodput_mib_s", "published: nkp24"): {"median": 0.91, "n": 0, "bound": 1.0},
        ("rtt_ms", "nkp24"): {"median": 100.0, "lowest": 100.0, "highest": 100.0, "n": 1},
    }
    assert {point["tags"]["row"] for point in points} == {"1"}


def test_a_table_without_values_has_no_points():
    assert table_lines({**DOCUMENT, "rows": []}, 17) == []
