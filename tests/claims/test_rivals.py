"""A rival that is a run of its own fails the claim's check, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from testbed.judge.checks.evidence import Evidence, agent_results
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import CheckResult
from testbed.judge.judge import judge_one
from testbed.judge.status import Status
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load as load_scenario
from testbed.series import FromFile
from testbed.study.checks.law import judge_law
from testbed.study.checks.table import judge_one as judge_table
from testbed.study.kinds import sweep as sweep_run
from testbed.study.kinds import table as table_run
from testbed.study.kinds.claims_file import Claim, Rival, RunSpec, load
from testbed.study.kinds.sweep_file import load as load_sweep
from testbed.study.kinds.table_file import load as load_table
from testbed.study.kinds.table_result import RowSummary, read_table, summaries_of
from tests.claims.test_rivals_of_tables import check_of, measured
from tests.ready import simulated

pytestmark = pytest.mark.runs

CLAIMS = load()
JUDGED = {
    name: claim
    for name, claim in CLAIMS.claims.items()
    if claim.rival and (claim.rival.set or CLAIMS.runs[claim.run].kind != "table")
}
"""All but those over a table whose rival is a figure of it, or a factor (tests/claims/test_rivals_of_tables.py)."""
Rows = Sequence[RowSummary]
Table = Callable[[Sequence[str], Sequence[str]], Rows]
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
    """Makes rows of the speed table with some changes."""

    def run(rows: Sequence[str], sets: Sequence[str]) -> Rows:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NCP_TESTBED_RESULTS", str(tmp_path_factory.mktemp("results")))
            patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
            asked = table_run.TableRequest(1, ",".join(rows), "previous,nkp24,delivery-rate", "process", engine="sim")
            _, folder = table_run.run(load_table("speed-table", sets), asked, QuietProgress())
        return summaries_of(read_table(folder))

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
        pytest.param(name, marks=pytest.mark.nightly if CLAIMS.runs[claim.run].kind == "sweep" else [])
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
    """The claim's check over the table, and over the rival's figures beside the bounds of the claim's own plan. A check
    of all rows fails in the first."""
    check = check_of(claim)
    own = {row.name: row for row in measured(run.run)}
    theirs = table(check.rows or list(own)[:1], rival.set)
    others = {row.name: replace(own[row.name], cells=row.cells) for row in theirs}
    return judge_table(check, list(own.values()), []), judge_table(check, list((own | others).values()), [])


def of_sweep(claim: Claim, run: RunSpec, rival: Rival) -> tuple[CheckResult, CheckResult]:
    """The law over the sweep's runs, and over those of the rival under the policy's name."""
    loaded = load_sweep(run.run, run.set)
    _, folder = sweep_run.run(loaded, QuietProgress())
    rows, law = sweep_run.read_parquet(folder / "table.parquet"), loaded.sweep.law
    assert law is not None
    theirs = [row | {"policy": law.policy} for row in rows if row["policy"] == rival.column]
    return judge_law(rows, law), judge_law(theirs, law)
