"""The suite for congestion control: its page tells what it asks, and it asks everybody the same."""

from __future__ import annotations

import re

from testbed import paths
from testbed.study.kinds.table_file import load

SUITE = load("cc-suite").table
PAGE = (paths.CHECKOUT / "docs" / "results" / "cc-suite.md").read_text(encoding="utf-8")
ROWS = PAGE.split("## Rows and limits")[1].split("Columns are")[0]


def test_the_page_has_a_line_for_every_row_in_italics_where_the_quick_form_leaves_it_out() -> None:
    first_cells = re.findall(r"^\| ([^|]+) \|", ROWS, re.MULTILINE)[1:]
    named = [name.replace("`", "") for cell in first_cells for name in cell.split(", ")]
    rows = [row.name for row in SUITE.rows]
    assert sorted(name.strip("*") for name in named) == sorted(rows)
    assert [name for name in rows if f"*{name}*" not in named] == [r for r in rows if r in SUITE.quick["only"]]


def test_every_row_is_asked_something_of_every_column() -> None:
    columns = [column.name for column in SUITE.columns]
    assert all(list(check.columns) == columns for check in SUITE.checks if check.judge == "within")
    assert {row for check in SUITE.checks for row in check.rows or ()} == {row.name for row in SUITE.rows}


def test_every_row_says_where_it_is_from() -> None:
    assert all(re.search(r"\(RFC \d{4}", row.title) for row in SUITE.rows)
