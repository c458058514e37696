"""Tables on two engines: their figures and what their checks say."""

import copy
from dataclasses import asdict
from typing import Any

import pytest

from testbed.judge.status import Status
from testbed.study.checks.agrees import compare_figures, compare_tables
from testbed.study.kinds import table_file
from testbed.study.kinds.table_result import RowSummary, Spread, outcomes_of
from tests.tables.cells import cell_result

LOADED = table_file.load("initial-rwnd")
VALUES = {
    "completion_ms": 52.0,
    "rtts": 1.04,
    "theory_rtts": 1.0,
    "initial_window_bytes": 1099776.0,
    "first_flight_bytes": 1048576.0,
    "edges_met": 0.0,
    "segments_sent_again": 0.0,
}


def document(*, more: tuple[float, ...] = (), **changed: float) -> dict[str, Any]:
    """A ``table.json`` of one row and one column; ``more``: completion times of further runs."""
    values = VALUES | changed
    cells = {figure: {"cubic": Spread.of([values[figure]])} for figure in LOADED.table.figures}
    cells["completion_ms"]["cubic"] = Spread.of([values["completion_ms"], *more])
    row = RowSummary("unlimited", "unlimited", "", {}, cells, {"cubic": Status.PASS}, [])
    outcome = cell_result("unlimited", "cubic", 1, Status.PASS, values, 1.0, "", "run")
    return copy.deepcopy(
        {
            "schema": 2,
            "engine": "mininet",
            "columns": ["cubic"],
            "rows": [asdict(row)],
            "outcomes": outcomes_of([outcome]),
        }
    )


def test_the_same_table_is_the_same() -> None:
    found = compare_tables(LOADED.table, document(), document())
    assert {d.figure for d in found} == {*LOADED.table.figures, "check"}
    assert all(d.same for d in found)


def test_a_figure_beyond_five_percent_differs_and_one_within_does_not() -> None:
    found = compare_tables(LOADED.table, document(), document(completion_ms=54.0, edges_met=1.0))
    off = {d.figure: d for d in found if d.figure != "check"}
    assert off["completion_ms"].same
    assert off["completion_ms"].off == pytest.approx(2 / 52)
    assert not off["edges_met"].same, "one where there was none"


def test_a_check_that_turns_is_a_difference_though_its_figure_is_within() -> None:
    found = compare_tables(LOADED.table, document(rtts=1.49), document(rtts=1.51))
    assert [d.session for d in found if not d.same] == ["unlimited in a little over a round trip"]


def test_a_figure_that_only_one_engine_has_differs() -> None:
    (missing,) = compare_figures("run", {"goodput_mbps": 5.0}, {})
    assert not missing.same
    assert missing.off is None


def test_percentages_are_compared_in_points() -> None:
    (gain,) = compare_figures("run", {"over_slow_start_percent": 0.1}, {"over_slow_start_percent": 0.4})
    assert gain.off == pytest.approx(0.003)


def test_how_far_runs_of_one_engine_differ_is_told_beside_the_medians() -> None:
    found = compare_tables(LOADED.table, document(more=(50.0, 61.0)), document(completion_ms=60.0))
    (completion,) = (d for d in found if d.figure == "completion_ms")
    assert completion.off == pytest.approx(8 / 52)
    assert "52.00 (50.00–61.00) and 60.00 ms" in completion.text
