"""The table of faults: each row names tests that there are, and tells when they are carried out."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from noxfile import OF_OTHER_SESSIONS
from testbed import paths

PAGE = paths.CHECKOUT / "docs" / "results" / "faults.md"
TESTS = Path("tests") / "emulation"
"""Where a file's name alone leads."""
TABLE = re.compile(
    r"^\| *(?P<fault>[^|]+?) *\|[^|]*\|[^|]*\| *(?P<tests>`[^|]*?) *\| *(?P<when>[a-z, ]+?) *\|$", re.MULTILINE
)
NAMED = re.compile(r"`([\w/]+\.py)(?:::(\w+)(?:\[([\w-]+)\])?)?`")


def is_nightly(things: list[ast.expr]) -> bool:
    return any("pytest.mark.nightly" in ast.unparse(thing) for thing in things)


@cache
def collected(file: Path) -> dict[str, tuple[str, str]]:
    """Of each test of a file when it is carried out, and what its decorators say."""
    tree = ast.parse((paths.CHECKOUT / file).read_text())
    marks = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return {
        node.name: (
            "night" if is_nightly([*marks, *node.decorator_list]) else "push",
            " ".join(ast.unparse(decorator) for decorator in node.decorator_list),
        )
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def wrong(text: str) -> list[str]:
    """What is not so of a page's rows."""
    found: list[str] = []
    rows = list(TABLE.finditer(text))
    named: set[str] = set()
    for row in rows:
        when: set[str] = set()
        for name, function, case in NAMED.findall(row["tests"]):
            file = Path(name) if "/" in name else TESTS / name
            there = collected(file) if (paths.CHECKOUT / file).is_file() else {}
            meant = {function: there[function]} if function in there else {} if function else there
            if not meant or (case and not re.search(rf"['\"]{re.escape(case)}['\"]", there[function][1])):
                found.append(f"{row['fault']}: no {name}::{function}")
            if file == TESTS / "test_faults.py":
                named |= meant.keys()
            times = {time for time, _ in meant.values()}
            if "night" in times and any(file.is_relative_to(folder) for folder in OF_OTHER_SESSIONS.values()):
                found.append(f"{row['fault']}: no night carries out {file}")
            when |= times
        if when != set(row["when"].split(", ")):
            found.append(f"{row['fault']}: {row['when']}, but its tests are of {sorted(when)}")
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| fault ")]
    if len(lines) != len(rows):
        found.append(f"{len(lines)} rows, of which {len(rows)} name a test and when it is carried out")
    return found + sorted(f"no row names {test}" for test in collected(TESTS / "test_faults.py").keys() - named)


def test_every_row_names_tests_that_are_carried_out_then() -> None:
    assert wrong(PAGE.read_text()) == []


@pytest.mark.parametrize(
    ("said", "instead", "why"),
    [
        (
            "test_a_sender_hangs",
            "test_a_sender_sleeps",
            "sender hangs (SIGSTOP): no test_faults.py::test_a_sender_sleeps",
        ),
        ("[relay]", "[relays]", "relay killed: no test_faults.py::test_a_part_is_killed"),
        ("test_outage.py", "test_no_outage.py", "InfluxDB killed and back: no test_no_outage.py::"),
        (
            "test_trust.py` | night, push |",
            "test_trust.py` | night |",
            "clock stepped by an hour: night, but its tests are of",
        ),
        ("| `test_faults.py::test_grafana_is_gone` |", "| by hand |", "no row names test_grafana_is_gone"),
        ("| `test_faults.py::test_grafana_is_gone` |", "| by hand |", "24 rows, of which 23 name a test"),
        (
            "`test_outage.py` | push",
            "`tests/sabotage/test_real_packets.py` | night",
            "no night carries out tests/sabotage",
        ),
    ],
)
def test_a_row_that_is_not_so_is_told_of(said: str, instead: str, why: str) -> None:
    text = PAGE.read_text()
    assert said in text
    assert why in "\n".join(wrong(text.replace(said, instead)))
