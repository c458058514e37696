"""The rival of each claim fails the claim's check: in virtual time, for the claims that the simulator can carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from testbed.judge.checks.evidence import Evidence, agent_results
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import CheckResult
from testbed.judge.judge import judge_one
from testbed.judge.status import Status
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load as load_scenario
from testbed.series import FromFile
from testbed.study.checks.each_run import EachRunCheck
from testbed.study.checks.law import judge_law
from testbed.study.checks.table import OfTwo
from testbed.study.checks.table import judge_one as judge_table
from testbed.study.kinds import sweep as sweep_run
from testbed.study.kinds import table as table_run
from testbed.study.kinds.claims_file import Claim, Rival, RunSpec, load
from testbed.study.kinds.sweep_file import load as load_sweep
from testbed.study.kinds.table_file import load as load_table
from testbed.study.kinds.table_result import RowSummary, Spread, read_table, summaries_of
from tests.ready import simulated

pytestmark = pytest.mark.runs

CLAIMS = load()
BESIDE_TCP = "own-beside-cubic"
"""Needs a kernel's TCP."""
JUDGED = {
    name: claim
    for name, claim in CLAIMS.claims.items()
    if claim.source in ("nkp0024", "own") and claim.rival and name != BESIDE_TCP
}
Rows = Sequence[RowSummary]
Table = Callable[..., Rows]
Scenario = Callable[..., Evidence]


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Makes a run of a scenario with some changes; each once."""
    made: dict[tuple[str, ...], Evidence] = {}

    def run(name: str, sets: Sequence[str]) -> Evidence:
        if (key := (name, *sets)) not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("NCP_TESTBED_RESULTS", str(tmp_path_factory.mktemp("results")))
                patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
                one = simulated(load_scenario(name, sets), QuietProgress(), seed=None, quick=False)
                one.execute()
            reader, results = FromFile(one.folder / "telemetry.lp"), agent_results(one.folder / "agents")
            made[key] = Evidence(one.plan, reader, results)
        return made[key]

    return run


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Makes the speed table, or rows of it with some changes; each once."""
    made: dict[tuple[Any, ...], Rows] = {}

    def run(rows: tuple[str, ...] = (), sets: tuple[str, ...] = ()) -> Rows:
        if (rows, sets) not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("NCP_TESTBED_RESULTS", str(tmp_path_factory.mktemp("results")))
                patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
                asked = table_run.TableRequest(
                    repeat=1,
                    rows=",".join(rows),
                    columns="previous,nkp24,delivery-rate",
                    engine="sim",
                    runtime="process",
                )
                _, folder = table_run.run(load_table("speed-table", sets), asked, QuietProgress())
            made[rows, sets] = summaries_of(read_table(folder))
        return made[rows, sets]

    return run


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of its own, and no database."""
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")


def test_every_claim_with_a_bound_names_a_rival_and_none_without() -> None:
    for name, claim in CLAIMS.claims.items():
        if claim.source in ("nkp0024", "own"):
            assert (claim.bound is None) == (claim.rival is None) == (claim.kind == "measurement"), name
            assert bool(claim.quote) == bool(claim.place) == (claim.kind in ("claim", "changed", "correction")), name
            assert (claim.bound == "promise") == (claim.source == "own" and claim.kind != "measurement"), name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if CLAIMS.runs[claim.run].kind == "scenario" else pytest.mark.nightly)
        for name, claim in JUDGED.items()
    ],
)
def test_the_rival_of_a_claim_fails_its_check(name: str, scenario: Scenario, table: Table) -> None:
    claim = JUDGED[name]
    kinds: dict[str, Callable[..., tuple[CheckResult, CheckResult]]] = {
        "scenario": partial(of_scenario, scenario),
        "table": partial(of_table, table),
        "sweep": of_sweep,
    }
    judge = kinds[CLAIMS.runs[claim.run].kind]
    own, rivals = judge(claim, CLAIMS.runs[claim.run], claim.rival)
    assert rivals.status == Status.FAIL, rivals.reason
    assert claim.xfail or claim.cause or own.status == Status.PASS, own.reason


def of_scenario(scenario: Scenario, claim: Claim, run: RunSpec, rival: Rival) -> tuple[CheckResult, CheckResult]:
    """The claim's check over its own run, and over the rival's by the plan of its own."""
    own, theirs = (scenario(run.run, sets) for sets in (run.set, [*run.set, *rival.set]))
    (check,) = parameters_in_plan([check for check in own.plan["checks"] if check["name"] == claim.check])
    return judge_one(check, own), judge_one(check, replace(theirs, plan=own.plan))


def of_table(table: Table, claim: Claim, run: RunSpec, rival: Rival) -> tuple[CheckResult, CheckResult]:
    """The claim's check over the table, and over one in which the rival's figures stand in place of its own."""
    check = claim.table_check("it")
    if check is None:
        check = next(check for check in load_table(run.run).table.checks if check.name == claim.check)
    rows = table()
    if rival.set:
        others = table(tuple(check.rows or ()), tuple(rival.set))
    else:
        assert not isinstance(check, EachRunCheck)
        columns = [check.column] if isinstance(check, OfTwo) else check.columns
        others = [_replaced(row, columns, rival, {each.name: each for each in rows}) for row in rows]
    return judge_table(check, rows, []), judge_table(check, others, [])


def _replaced(row: RowSummary, columns: Sequence[str], rival: Rival, rows: Mapping[str, RowSummary]) -> RowSummary:
    there = rows[rival.row] if rival.row else row

    def spread(figure: str, column: str, own: Spread) -> Spread:
        if column not in columns:
            return own
        values = there.cells[figure][rival.column or column].values
        return Spread.of([value * (rival.times or 1) for value in values], own.n)

    cells = {figure: {c: spread(figure, c, own) for c, own in of.items()} for figure, of in row.cells.items()}
    return replace(row, cells=cells)


def of_sweep(claim: Claim, run: RunSpec, rival: Rival) -> tuple[CheckResult, CheckResult]:
    """The law over the sweep's runs, and over those of the rival under the policy's name."""
    loaded = load_sweep(run.run, run.set)
    _, folder = sweep_run.run(loaded, QuietProgress())
    rows, law = sweep_run.read_parquet(folder / "table.parquet"), loaded.sweep.law
    assert law is not None
    theirs = [row | {"policy": law.policy} for row in rows if row["policy"] == rival.column]
    return judge_law(rows, law), judge_law(theirs, law)
