"""Tables: which runs they are made of, what counts, and how they are judged."""

from __future__ import annotations

import csv
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import paths
from testbed.checks.result import Trust, Verdict
from testbed.errors import BadInput
from testbed.figures import GOODPUT
from testbed.matrix import table_run
from testbed.matrix.execute import Matrix
from testbed.matrix.judging import judge_one, judge_table
from testbed.matrix.load import Cell, available, cells, contenders, is_table, load, scenario_of, select
from testbed.matrix.model import BoundCheck, KnownCheck, RatioCheck
from testbed.matrix.outcome import Outcome, Spread, read_outcome
from testbed.matrix.report import filled_in, write_report
from testbed.matrix.summary import KnownValue, RowSummary, read_known, summarise, write_csv
from testbed.matrix.table_run import Asked
from testbed.plan.resolve import Choices, expected_transfer_s
from testbed.runner.interrupts import Interrupted, interruptible
from testbed.runner.mptcp import completion_s
from testbed.runner.progress import Progress

POLICIES = {
    name: {"name": name, "cap_packets": None, "initial": "W/n"} for name in ("previous", "nkp24", "another")
}

SMALL = """\
name: small
title: Two rows
cells:
  links: [{name: a, rate: 1024pps, delay: 5ms}]
  ncp: {policy: nkp24, transfer: 1MiB}
  checks: [{name: payload, judge: payload_intact}]
rows:
  - {name: near}
  - name: far
    set:
      links.a.delay: 50ms
      transfer: 2MiB
columns:
  - policies: all
checks:
  - {name: faster, judge: ratio, column: nkp24, over: previous, min: 1}
quick: {rows.far.set.transfer: 1MiB}
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return str(path)


def matrix_of(name: str, folder: Path, *assignments: str, quick: bool = False) -> Matrix:
    loaded = load(name, assignments, quick=quick)
    columns = {c.name: c for c in contenders(loaded.table, list(POLICIES))}
    rows = {row.name: row for row in loaded.table.rows}
    return Matrix(loaded, rows, columns, folder, {}, POLICIES, Choices(), Progress())


def all_scenarios(name: str, folder: Path) -> None:
    matrix = matrix_of(name, folder)
    for row in matrix.rows.values():
        for contender in matrix.columns.values():
            scenario_of(matrix.loaded, row, contender)


@pytest.mark.parametrize("path", available(), ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_of_every_shipped_table_has_a_plan(path: Path, quick: bool, tmp_path: Path) -> None:
    matrix = matrix_of(path.stem, tmp_path, quick=quick)
    for row in matrix.rows:
        for column in matrix.columns:
            plan, scenario = matrix.plan(Cell(row, column, 2))
            assert plan["scenario"] == path.stem == scenario.scenario.name
            assert plan["seed"] == matrix.loaded.table.seed + 1
            if plan["traffic"] == "ncp":
                assert plan["sessions"][0]["policy"] == column


def test_the_speed_table_is_the_proposals(tmp_path: Path) -> None:
    matrix = matrix_of("speed-table", tmp_path)
    with (paths.CHECKOUT / "published" / "nkp0024-speed-rerun.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert [row["row"] for row in rows] == list(matrix.rows)
    for row in rows:
        plan, _ = matrix.plan(Cell(row["row"], "nkp24", 1))
        links = [f"{x['rate_pps']:g}@{x['delay_ms']:g}:{x['loss']:g}" for x in plan["links"]]
        assert " ".join(links) == row["links"]
        assert plan["sessions"][0]["transfer_bytes"] == (80 if row["row"] == "6" else 8) << 20
        assert {x["queue"]["packets"] for x in plan["links"]} == {2}


def test_a_policy_that_the_agent_has_is_a_column(small: str, tmp_path: Path) -> None:
    assert list(matrix_of(small, tmp_path).columns) == ["previous", "nkp24", "another"]
    assert list(matrix_of("speed-table", tmp_path).columns)[-1] == "mptcp"


def test_what_is_set_for_all_cells_has_the_last_word(small: str, tmp_path: Path) -> None:
    matrix = matrix_of(small, tmp_path, "links.a.delay=7ms")
    assert [matrix.plan(Cell(row, "nkp24", 1))[0]["links"][0]["delay_ms"] for row in matrix.rows] == [7, 7]
    assert expected_transfer_s(matrix_of(small, tmp_path, quick=True).plan(Cell("far", "nkp24", 1))[0]) == 1


def test_mptcp_gets_the_same_links_and_bytes(tmp_path: Path) -> None:
    matrix = matrix_of("speed-table", tmp_path)
    ours, theirs = (matrix.plan(Cell("5", column, 1))[0] for column in ("nkp24", "mptcp"))
    assert theirs["links"] == ours["links"]
    assert theirs["sessions"][0]["transfer_bytes"] == ours["sessions"][0]["transfer_bytes"]
    assert theirs["sessions"][0]["congestion_control"] == "cubic"
    assert [check["judge"] for check in theirs["checks"]] == ["mptcp_carried", "points_stored"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "title: Two rows",
            "titel: Two rows",
            r"small.yaml:2: titel: unknown key 'titel'; did you mean 'title'",
        ),
        ("name: near", "name: far", "two rows are named 'far'"),
        ("delay: 50ms", "delay: 50", r"links.a.delay.*50 has no unit.*\(row far, column previous\)"),
        ("delay: 5ms", "delay: 5", r"small.yaml:4: links.a.delay: 5 has no unit"),
        ("policies: all", "carrier: mptcp", "give either name or policies: all"),
        ("policies: all", "{name: x, congestion_control: cubic}", "congestion_control is for carrier: mptcp"),
        ("judge: ratio", "judge: ratios", "checks.faster"),
        ("min: 1}", "rows: [farr]}", "there is no row 'farr'"),
    ],
)
def test_a_mistake_in_a_table_is_named(small: str, tmp_path: Path, old: str, new: str, says: str) -> None:
    Path(small).write_text(SMALL.replace(old, new, 1))
    with pytest.raises(BadInput, match=says):
        all_scenarios(small, tmp_path)


def test_tables_are_told_from_scenarios(small: str) -> None:
    assert is_table("speed-table")
    assert is_table(small)
    assert not is_table("startup")
    assert not is_table(str(paths.SCENARIOS / "startup.yaml"))


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 4))
def test_each_cell_is_run_once_and_a_repetition_is_a_whole_table(
    rows: int, columns: int, repeat: int
) -> None:
    names = [f"r{n}" for n in range(rows)], [f"c{n}" for n in range(columns)]
    planned = list(cells(*names, repeat))
    assert len(planned) == len(set(planned)) == rows * columns * repeat
    assert [cell.repetition for cell in planned] == sorted(cell.repetition for cell in planned)
    assert len({cell.folder for cell in planned}) == len(planned)


def test_a_selection_keeps_the_tables_order_and_names_what_there_is() -> None:
    assert select("rows", "3, 1", ["1", "2", "3"]) == ["1", "3"]
    assert select("rows", "", ["1", "2"]) == ["1", "2"]
    with pytest.raises(BadInput, match="--rows: there is no row '4'; rows: 1, 2"):
        select("rows", "4", ["1", "2"])


def test_a_quick_table_may_leave_rows_out_and_any_can_be_asked_for(tmp_path: Path) -> None:
    quick = load("speed-table", quick=True)
    assert list(table_run.select(quick, Asked(), POLICIES).rows) == ["1", "2", "5", "6", "7", "7-three"]
    assert list(table_run.select(quick, Asked(rows="4,3"), POLICIES).rows) == ["3", "4"]
    whole = table_run.select(load("speed-table"), Asked(), POLICIES)
    assert (len(whole.rows), whole.repeat, whole.whole) == (8, 3, True)


@given(st.lists(st.floats(0.01, 100), max_size=9))
def test_the_spread_of_any_values(values: list[float]) -> None:
    spread = Spread.of(values)
    assert spread == Spread.of(values[::-1])
    assert spread.n == len(values)
    if spread.median is None:
        assert not values
    else:
        assert spread.low == min(values) <= spread.median <= max(values) == spread.high
        assert sum(v < spread.median for v in values) <= len(values) / 2


def outcome(row: str, column: str, value: float, verdict: Any = "pass", repetition: int = 1) -> Outcome:
    return Outcome(
        row,
        column,
        repetition,
        verdict,
        {GOODPUT: value},
        8 / value,
        "" if verdict == "pass" else "late",
        "x",
    )


def row_of(known: list[KnownValue], **medians: float | None) -> RowSummary:
    cells_ = {c: Spread.of([] if m is None else [m]) for c, m in medians.items()}
    return RowSummary("1", "1", "", {GOODPUT: 1.0}, {GOODPUT: cells_}, dict.fromkeys(cells_, "ok"), known)


positive = st.floats(0.1, 10)


@given(positive, positive, st.floats(0.1, 5))
def test_a_ratio_holds_or_not(one: float, other: float, least: float) -> None:
    check = RatioCheck(name="x", judge="ratio", column="a", over="b", min=least)
    result = judge_one(check, [row_of([], a=one, b=other)], ["a", "b"])
    assert result.status == ("pass" if one / other >= least else "fail")


@given(positive, st.lists(positive, min_size=1, max_size=3), st.floats(0.01, 0.5))
def test_near_one_known_value_is_enough(median: float, values: list[float], tolerance: float) -> None:
    known = [KnownValue(f"source {n}", "a", value, GOODPUT) for n, value in enumerate(values)]
    check = KnownCheck(name="x", judge="known", columns=["a"], tolerance=tolerance)
    result = judge_one(check, [row_of(known, a=median)], ["a"])
    near = [k.by for k in known if abs(median / k.value - 1) <= tolerance]
    assert result.status == ("pass" if near else "fail")
    for by in near:
        assert by in result.reason  # which of them it is near to is said


def test_a_median_of_too_few_runs_leaves_it_open() -> None:
    check = KnownCheck(name="x", judge="known", columns=["a"], tolerance=0.1, least_n=2)
    result = judge_one(check, [row_of([KnownValue("source", "a", 1.0, GOODPUT)], a=5.0)], ["a"])
    assert result.status == "not-covered"


@pytest.mark.parametrize(
    ("engine", "cpu_time", "status"),
    [("mininet", True, "fail"), ("vkernel", True, "not-asked"), ("vkernel", False, "fail")],
)
def test_values_that_contain_cpu_time_are_not_asked_where_the_cpu_is_free(
    engine: str, cpu_time: bool, status: str
) -> None:
    check = KnownCheck(name="x", judge="known", columns=["a"], tolerance=0.1, cpu_time=cpu_time)
    known = row_of([KnownValue("source", "a", 1.0, GOODPUT)], a=5.0)
    assert judge_one(check, [known], ["a"], engine=engine).status == status


@given(positive)
def test_more_than_the_links_carry_fails(median: float) -> None:
    check = BoundCheck(name="x", judge="bound", columns=["a"], max=1)
    assert judge_one(check, [row_of([], a=median)], ["a"]).status == ("pass" if median <= 1 else "fail")


def test_what_has_no_value_leaves_a_check_open() -> None:
    check = BoundCheck(name="x", judge="bound", columns=["a", "b"], max=1)
    result = judge_one(check, [row_of([], a=0.5, b=None)], ["a", "b"])
    assert (result.status, result.measured) == ("not-covered", "1 of 2")
    missing = judge_one(check, [row_of([], a=0.5)], ["a"])
    assert missing.status == "not-covered"
    assert "there is no column b" in missing.reason


def judged(small: str, outcomes: list[Outcome], *, partial: bool = False) -> tuple[list[RowSummary], Verdict]:
    table = load(small).table
    columns = ["previous", "nkp24"]
    summaries = summarise(
        table, ["near", "far"], columns, {key: {GOODPUT: 1.0} for key in ("near", "far")}, outcomes
    )
    return summaries, judge_table(table, "r", summaries, columns, outcomes, partial=partial)


def all_of(value: float) -> list[Outcome]:
    return [outcome(row, c, v) for row in ("near", "far") for c, v in (("previous", 0.8), ("nkp24", value))]


def test_an_untrusted_run_never_counts(small: str) -> None:
    good = all_of(0.9)
    summaries, verdict = judged(small, good)
    assert verdict.verdict == "pass"
    late = outcome("near", "nkp24", 99.0, "untrusted", repetition=2)
    summaries, verdict = judged(small, [*good, late])
    assert summaries[0].spread("nkp24") == Spread.of([0.9])
    assert summaries[0].states["nkp24"] == "untrusted"
    assert verdict.verdict == "untrusted"
    assert "row near nkp24 #2" in verdict.trust.reasons[0]


def test_a_run_that_fails_its_own_checks_fails_the_table(small: str) -> None:
    _, verdict = judged(small, [*all_of(0.9), outcome("far", "nkp24", 1.0, "fail", repetition=2)])
    assert verdict.verdict == "fail"
    assert "Row far nkp24 #2" in verdict.checks[0].reason


def test_only_part_of_a_table_may_leave_checks_open(small: str) -> None:
    some = [o for o in all_of(0.9) if o.row == "near"]
    assert judged(small, some)[1].verdict == "fail"
    assert judged(small, some, partial=True)[1].verdict == "pass"
    assert judged(small, all_of(0.7), partial=True)[1].verdict == "fail"


def write_run(folder: Path, name: str, verdict: Any, goodput_bps: float = 8 * 2**20) -> Path:
    run = folder / name
    (run / "agents").mkdir(parents=True)
    trust = Trust(trusted=verdict != "untrusted", reasons=["late"] if verdict == "untrusted" else [])
    document = Verdict(
        scenario="small", run=name, verdict=verdict, summary="s", checks=[], trust=trust, duration_s=1.0, policy="p"
    ).to_json()  # fmt: skip
    (run / "verdict.json").write_text(json.dumps(document))
    result = {"role": "receiver", "goodput_bps": goodput_bps, "duration_s": 1.0}
    (run / "agents" / "r.json").write_text(json.dumps(result))
    return run


@pytest.mark.parametrize(
    ("verdicts", "kept", "attempts"),
    [
        ([], None, 0),
        (["pass"], "pass", 1),
        (["fail"], "fail", 1),
        (["untrusted"], None, 0),
        (["untrusted", "pass"], "pass", 2),
        (["untrusted", "untrusted"], None, 0),
        (["untrusted", "untrusted", "untrusted"], "untrusted", 3),
    ],
)
def test_what_is_finished_is_kept_and_an_untrusted_run_is_made_up_to_twice_more(
    small: str, tmp_path: Path, verdicts: list[str], kept: str | None, attempts: int
) -> None:
    matrix, cell = matrix_of(small, tmp_path), Cell("near", "nkp24", 1)
    for number, verdict in enumerate(verdicts):
        write_run(tmp_path / cell.folder, f"2026-{number}", verdict)
    (tmp_path / cell.folder / "2026-9").mkdir(parents=True)  # a run that was killed left no verdict
    found = matrix._kept(cell)
    assert (found.verdict if found else None) == kept
    if found:
        assert (found.attempts, found.figures[GOODPUT]) == (attempts, 1.0)


def test_a_run_that_the_user_stopped_is_made_again(small: str, tmp_path: Path) -> None:
    matrix, cell = matrix_of(small, tmp_path), Cell("near", "nkp24", 1)
    run = write_run(tmp_path / cell.folder, "2026-0", "fail")
    document = json.loads((run / "verdict.json").read_text())
    with pytest.raises(Interrupted) as stopped, interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
    for broken, again in (("the relay ended", False), (stopped.value.message, True)):
        (run / "verdict.json").write_text(json.dumps({**document, "broken": broken}))
        assert (matrix._kept(cell) is None) is again


def test_values_come_from_the_receiver(tmp_path: Path) -> None:
    run = write_run(tmp_path, "r", "pass", goodput_bps=1.5 * 8 * 2**20)
    (run / "agents" / "a.json").write_text(json.dumps({"role": "sender", "goodput_bps": 1}))
    assert read_outcome("1", "a", 1, run).figures[GOODPUT] == 1.5


def test_a_file_of_known_values_without_the_column_is_named(small: str) -> None:
    known = load("speed-table").table.known[0]
    assert read_known(known)["7"]["current"] == "1.798"
    with pytest.raises(BadInput, match=r"known.published.columns: .* has no column 'nkp'"):
        read_known(known.model_copy(update={"columns": {"nkp24": "nkp"}}))


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.floats(0.01, 1))
def test_bytes_have_arrived_when_the_intervals_say_so(counts: list[int], fraction: float) -> None:
    intervals = [{"bytes": n, "start": i / 10, "end": (i + 1) / 10} for i, n in enumerate(counts)]
    wanted = max(1, int(sum(counts) * fraction))
    at_s = completion_s(intervals, wanted)
    assert at_s is not None
    whole = int(at_s * 10 + 1e-9)
    assert sum(counts[:whole]) <= wanted + 1
    assert sum(counts[: whole + 1]) >= wanted - 1
    assert completion_s(intervals, sum(counts) + 1) is None


def test_findings_are_filled_in_with_what_was_measured() -> None:
    row = row_of([], nkp24=1.0, previous=0.5)
    text = "{1.nkp24} over {1.previous} is {1.nkp24/previous}; {2.nkp24}"
    assert filled_in(text, [row]) == "1.000 over 0.500 is 2.00; (not run)"


def test_the_report_is_made_from_the_folder_alone(small: str, tmp_path: Path) -> None:
    summaries, verdict = judged(small, all_of(0.9))
    document = {
        "schema": 2, "name": "small", "run": "r", "title": "T", "source": "", "description": "",
        "figures": [GOODPUT],
        "engine": "mininet",
        "quick": False, "repeat": 1, "overrides": [], "columns": ["previous", "nkp24"],
        "rows": [s.as_json() for s in summaries], "ratios": [["nkp24", "previous"]], "findings": ["{near.nkp24}"],
        "outcomes": [o.as_json() for o in all_of(0.9)],
    }  # fmt: skip
    (tmp_path / "table.json").write_text(json.dumps(document))
    (tmp_path / "verdict.json").write_text(json.dumps(verdict.to_json()))
    page = write_report(tmp_path)
    text = page.read_text()
    assert "<b>0.900</b>" in text
    assert "1.12" in text  # 0.9 / 0.8
    assert "<svg" in text
    assert write_report(tmp_path).read_text() == text
    write_csv(summaries, ["previous", "nkp24"], tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["row"], r["column"], r["median"]) for r in rows][:2] == [
        ("near", "previous", "0.8000"), ("near", "nkp24", "0.9000"),
    ]  # fmt: skip
