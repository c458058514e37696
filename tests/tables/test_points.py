"""A table in the database: its own cells and those of others, and none without a value."""

from typing import Any

from line_protocol_parser import parse_line

from testbed.study.report.points import table_lines

NO_VALUE = {"n": 0, "median": None, "low": None, "high": None}
DOCUMENT: dict[str, Any] = {
    "engine": "sim",
    "quick": True,
    "overrides": [],
    "name": "speed-table",
    "run": "20261121-105150-52a4",
    "figures": ["goodput_mib_s", "rtt_ms"],
    "rows": [
        {
            "name": "1",
            "label": "1",
            "title": "",
            "states": {},
            "bounds": {"goodput_mib_s": 1.0},
            "cells": {
                "goodput_mib_s": {"nkp24": {"n": 3, "median": 0.9, "low": 0.8, "high": 0.95}, "mptcp": NO_VALUE},
                "rtt_ms": {"nkp24": {"n": 1, "median": 100.0, "low": 100.0, "high": 100.0}, "mptcp": NO_VALUE},
            },
            "known": [{"by": "published", "column": "nkp24", "value": 0.91, "figure": "goodput_mib_s"}],
        }
    ],
}


def test_a_point_per_cell_that_has_a_value():
    points = [parse_line(line) for line in table_lines(DOCUMENT, "quick", 17)]
    by_place = {(p["tags"]["figure"], p["tags"]["column"]): p["fields"] for p in points}
    assert by_place == {
        ("goodput_mib_s", "nkp24"): {
            "median": 0.9,
            "lowest": 0.8,
            "highest": 0.95,
            "n": 3,
            "bound": 1.0,
            "position": 1,
            "title": "Goodput, MiB/s",
        },
        ("goodput_mib_s", "published: nkp24"): {
            "median": 0.91,
            "n": 0,
            "bound": 1.0,
            "position": 1,
            "title": "Goodput, MiB/s",
        },
        ("rtt_ms", "nkp24"): {
            "median": 100.0,
            "lowest": 100.0,
            "highest": 100.0,
            "n": 1,
            "position": 1,
            "title": "RTT, ms",
        },
    }
    assert {point["tags"]["row"] for point in points} == {"1"}


def test_forms_and_engines_are_told_apart_and_rows_keep_their_order():
    document = {**DOCUMENT, "rows": [{**DOCUMENT["rows"][0], "name": name} for name in ("7-three", "10")]}
    points = [parse_line(line) for line in table_lines(document, "changed", 17)]
    assert {(p["tags"]["engine"], p["tags"]["variant"]) for p in points} == {("sim", "changed")}
    assert {p["tags"]["row"]: p["fields"]["position"] for p in points} == {"7-three": 1, "10": 2}
    assert {p["tags"]["row"]: p["time"] for p in points} == {"7-three": 18, "10": 19}


def test_a_table_without_values_has_no_points():
    assert table_lines({**DOCUMENT, "rows": []}, "full", 17) == []
