"""Runs that are one observation: in virtual time, and alike in everything that was measured."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from testbed.judge.figures import GOODPUT
from testbed.judge.status import Status
from testbed.study.kinds.table import summarise
from testbed.study.kinds.table_file import load
from testbed.study.kinds.table_result import Spread, outcomes_of, results_of, write_csv
from testbed.study.record import CellResult, observations
from tests.tables.cells import cell_result
from tests.tables.small_table import SMALL, outcome_by, write_run

CHECKS = {"law": {"judge": "follows_law", "status": "pass", "measured": 0.01, "expected": 0.0, "tolerance": 0.03}}
RUN: dict[str, Any] = {
    "row": "1",
    "column": "nkp24",
    "status": Status.PASS,
    "figures": {GOODPUT: 1.0, "rtt_ms": 50.0},
    "seconds": 8.0,
    "why": "",
    "run": "sim-1",
    "checks": CHECKS,
    "exact": True,
}


def runs(*changes: dict[str, Any]) -> list[CellResult]:
    return [cell_result(**RUN | {"repetition": number} | change) for number, change in enumerate(changes, start=1)]


@pytest.mark.parametrize(
    ("third", "left"),
    [
        ({}, 1),
        ({"seconds": 9.0, "run": "sim-2"}, 1),  # nothing that was measured
        ({"exact": False}, 3),
        ({"figures": {GOODPUT: 1.0, "rtt_ms": 50.000001}}, 3),
        ({"figures": {GOODPUT: 1.0}}, 3),
        ({"checks": {"law": {**CHECKS["law"], "measured": 0.010001}}}, 3),
        ({"checks": {}}, 3),
    ],
)
def test_alike_in_everything_that_was_measured(third: dict[str, Any], left: int) -> None:
    assert len(observations(runs({}, {}, third))) == left


def test_on_real_packets_equal_values_are_as_many_observations_as_runs() -> None:
    assert len(observations(runs(*[{"exact": False}] * 3))) == 3


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([1.0, 2.0]), st.booleans()), max_size=8))
def test_each_cell_is_looked_at_alone_and_never_vanishes(found: list[tuple[str, float, bool]]) -> None:
    every = runs(*({"column": c, "figures": {GOODPUT: v}, "exact": e} for c, v, e in found))
    left = observations(every)
    for column in "ab":
        mine = [(value, exact) for c, value, exact in found if c == column]
        one = len(set(mine)) == 1 and mine[0][1]
        assert sum(run.at["column"] == column for run in left) == (1 if one else len(mine))


@pytest.mark.parametrize(("exact", "told"), [(True, ("3", "1", "", "")), (False, ("3", "3", "1.0000", "0.7500"))])
def test_the_table_has_runs_and_observations_apart(tmp_path: Path, exact: bool, told: tuple[str, ...]) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    found = runs(*[{"row": "near", "exact": exact}] * 3)
    rows = summarise(load(str(tmp_path / "small.yaml")).table, ["near"], ["nkp24"], {"near": {}}, found)
    write_csv(rows, ["nkp24"], tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="") as file:
        (line,) = csv.DictReader(file)
    assert tuple(line[key] for key in ("n", "observations", "interval_low", "interval_level")) == told
    spread = rows[0].spread("nkp24")
    assert (spread.n, spread.is_one, spread.interval is None) == (3, exact, exact)
    assert TypeAdapter(Spread).validate_python(json.loads(json.dumps(asdict(spread)))) == spread


@pytest.mark.parametrize(
    ("provenance", "exact"),
    [
        ({"simulation": {}}, True),
        ({"engine": {"virtual_time": True, "repeatable": True}}, True),
        ({"engine": {"virtual_time": True, "repeatable": False}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_the_run_s_own_record_says_whether_it_was_in_virtual_time(
    tmp_path: Path, provenance: dict[str, Any] | None, exact: bool
) -> None:
    run = write_run(tmp_path, "x", "pass")
    if provenance is not None:
        (run / "provenance.json").write_text(json.dumps(provenance))
    assert outcome_by(run).record.exact is exact


@pytest.mark.parametrize(
    ("provenance", "host"), [({}, ""), ({"worker": "two"}, "two"), ({"simulation": {}, "worker": "two"}, "")]
)
def test_only_what_is_made_in_real_time_tells_its_host(tmp_path: Path, provenance: dict[str, Any], host: str) -> None:
    run = write_run(tmp_path, "x", "pass")
    (run / "provenance.json").write_text(json.dumps(provenance))
    found = outcome_by(run)
    assert found.record.host == host
    entries = outcomes_of([found])
    assert entries[0].get("host") == (host or None)
    (read,) = results_of({"outcomes": entries})
    assert outcomes_of([read]) == entries
    assert (read.cell, read.at, read.attempts) == (found.cell, found.at, found.attempts)


def test_an_interval_of_before_is_told_by_the_rule_of_today() -> None:
    old = {"n": 3, "median": 2.0, "low": 1.0, "high": 3.0, "interval": [1.0, 3.0], "values": [1.0, 2.0, 3.0]}
    read = TypeAdapter(Spread).validate_python
    assert read(old).interval == (1.0, 3.0, 0.75)
    assert read({**old, "values": []}).interval is None
    assert read({**old, "median": 9.0}).median == 2.0
