"""Which runs a table is made of: its cells, the plan of each, and the values that come of a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import paths
from testbed.errors import BadInput
from testbed.judge.figures import GOODPUT
from testbed.plan.duration import expected_transfer_s
from testbed.scenario.files import is_table, tables
from testbed.study.kinds import table as table_run
from testbed.study.kinds.table import Selection, TableRequest, chosen
from testbed.study.kinds.table_file import Column, Row, load, scenario_of
from testbed.study.record import read_record
from tests.raises import Containing, Said, raises
from tests.tables.small_table import POLICIES, matrix_of, write_run
from topologies.link import rate_pps


def all_scenarios(name: str) -> None:
    matrix = matrix_of(name)
    for row in matrix.selection.rows.values():
        for column in matrix.selection.columns.values():
            scenario_of(matrix.selection.loaded, row, column)


@pytest.mark.parametrize("path", tables(), ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_of_every_shipped_table_has_a_plan(path: Path, quick: bool) -> None:
    matrix = matrix_of(path.stem, quick=quick)
    for row in matrix.selection.rows:
        for name, column in matrix.selection.columns.items():
            made = matrix.cell(row, name, 2)
            plan, scenario = made.plan, made.loaded
            assert plan["scenario"] == path.stem == scenario.scenario.name
            # In virtual time there may be no database.
            assert {check["judge"] for check in plan["checks"]} - {"points_stored"}
            assert plan["seed"] == matrix.selection.loaded.table.seed + 1
            if plan["traffic"] == "ncp":
                (session, *_) = plan["sessions"]
                codes = column.set.get("ncp.code", {})
                sender = codes if isinstance(codes, str) else codes.get("sender", "ours" if codes else name)
                policy = "nkp24" if sender == "ours" else sender
                assert session["policy"] == (column.carrier or policy)


def test_the_speed_table_is_the_proposals() -> None:
    matrix = matrix_of("speed-table")
    with (paths.CHECKOUT / "data" / "published" / "nkp0024-speed-rerun.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert [row["row"] for row in rows] == list(matrix.selection.rows)
    for row in rows:
        plan = matrix.cell(row["row"], "nkp24").plan
        links = [f"{rate_pps(x):g}@{x['delay_ms']:g}:{x['loss']:g}" for x in plan["links"]]
        assert " ".join(links) == row["links"]
        assert plan["sessions"][0]["transfer_bytes"] == (80 if row["row"] == "6" else 8) << 20
        assert {x["queue"]["packets"] for x in plan["links"]} == {2}


def test_a_policy_that_the_agent_has_is_a_column(small: str) -> None:
    assert list(matrix_of(small).selection.columns) == list(POLICIES)
    assert list(matrix_of("speed-table").selection.columns)[-1] == "mptcp"


def test_what_is_set_for_all_cells_has_the_last_word(small: str) -> None:
    matrix = matrix_of(small, "links.a.delay=7ms")
    assert [matrix.cell(row, "nkp24").plan["links"][0]["delay_ms"] for row in ("near", "far")] == [7, 7]
    assert expected_transfer_s(matrix_of(small, quick=True).cell("far", "nkp24").plan) == 1


def test_mptcp_gets_the_same_links_and_bytes() -> None:
    matrix = matrix_of("speed-table")
    ours, theirs = (matrix.cell("5", column).plan for column in ("nkp24", "mptcp"))
    assert theirs["links"] == ours["links"]
    assert theirs["sessions"][0]["transfer_bytes"] == ours["sessions"][0]["transfer_bytes"]
    assert theirs["sessions"][0]["congestion_control"] == "cubic"
    assert [check["judge"] for check in theirs["checks"]] == ["mptcp_carried", "multipath", "points_stored"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "title: Two rows",
            "titel: Two rows",
            Said(
                "input.unknown-key",
                place=Containing("small.yaml:2: titel"),
                line=2,
                field="titel",
                key="titel",
                guess=Containing("; did you mean 'title'"),
            ),
        ),
        ("name: near", "name: far", Said("table.row-twice", row="far")),
        (
            "delay: 50ms",
            "delay: 50",
            Said("quantity.number-without-unit", field="links.a.delay", number=50, example="50ms, 2s or 1min"),
        ),
        (
            "delay: 5ms",
            "delay: 5",
            Said(
                "quantity.number-without-unit",
                place=Containing("small.yaml:4: links.a.delay"),
                line=4,
                field="links.a.delay",
                number=5,
            ),
        ),
        ("policies: all", "carrier: mptcp", Said("table.name-or-policies")),
        (
            "policies: all",
            "{name: x, congestion_control: cubic}",
            Said("table.congestion-control-of-ncp", carriers="mptcp"),
        ),
        ("judge: ratio", "judge: ratios", Said("input.wrong-type", field="checks.faster")),
        ("min: 1}", "rows: [farr]}", Said("table.no-such-row", row="farr")),
    ],
)
def test_a_mistake_in_a_table_is_named(small: str, old: str, new: str, says: Said) -> None:
    table = Path(small)
    table.write_text(table.read_text().replace(old, new, 1))
    with raises(BadInput, says):
        all_scenarios(small)


def test_tables_are_told_from_scenarios(small: str) -> None:
    assert is_table("speed-table")
    assert is_table(small)
    assert not is_table("startup")
    assert not is_table(str(paths.SCENARIOS / "startup.yaml"))


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 4))
def test_each_cell_is_run_once_and_a_repetition_is_a_whole_table(rows: int, columns: int, repeat: int) -> None:
    names = [f"r{n}" for n in range(rows)], [f"c{n}" for n in range(columns)]
    of_rows, of_columns = (
        {name: kind(name=name) for name in of} for kind, of in zip((Row, Column), names, strict=True)
    )
    planned = Selection(load("speed-table"), TableRequest(), of_rows, of_columns, repeat, whole=True).places()
    assert len(planned) == len(set(planned)) == rows * columns * repeat
    assert [cell.repetition for cell in planned] == sorted(cell.repetition for cell in planned)
    assert len({cell.folder for cell in planned}) == len(planned)


def test_a_selection_keeps_the_tables_order_and_names_what_there_is() -> None:
    assert list(chosen("row", "3, 1", dict.fromkeys("123"))) == ["1", "3"]
    assert list(chosen("row", "", dict.fromkeys("12"))) == ["1", "2"]
    with raises(BadInput, "table.no-such-part", kind="row", name="4"):
        chosen("row", "4", dict.fromkeys("12"))


def test_a_quick_table_may_leave_rows_out_and_any_can_be_asked_for() -> None:
    quick = load("speed-table", quick=True)
    assert list(table_run.select(quick, TableRequest(), POLICIES).rows) == ["1", "2", "5", "6", "7", "7-three"]
    assert list(table_run.select(quick, TableRequest(rows="4,3"), POLICIES).rows) == ["3", "4"]
    whole = table_run.select(load("speed-table"), TableRequest(), POLICIES)
    assert (len(whole.rows), whole.repeat, whole.whole) == (8, 3, True)


def test_values_come_from_the_receiver(tmp_path: Path) -> None:
    run = write_run(tmp_path, "r", "pass", goodput_bps=1.5 * 8 * 2**20)
    fetched = {"role": "sender", "goodput_bps": 1, "connections": 5}  # a count, where it is no NCP agent's
    (run / "agents" / "a.json").write_text(json.dumps(fetched))
    record = read_record(run, tmp_path, "1/a/1")
    assert record
    assert record.figures[GOODPUT] == 1.5
