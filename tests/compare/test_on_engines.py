"""What two engines may differ in, and how that is told."""

import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from testbed import paths
from testbed.cli import compare
from testbed.errors import CannotRun
from testbed.judge.checks.evidence import Evidence
from testbed.results.report.folder import ResultFolder
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.checks.agrees import Agreement, compare_runs
from testbed.study.report.page import write_cross_check
from testbed.study.report.plots import shares
from tests.ready import simulated as prepare


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory):
    """Runs a quick startup in virtual time, with other settings if asked; gives its evidence."""
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("cross-check")
        patch.setenv("NCP_TESTBED_RESULTS", str(place / "results"))
        patch.setenv("NCP_TESTBED_STATE", str(place / "state"))
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")

        def run(*settings: str) -> Evidence:
            loaded = load("startup", [*settings], quick=True)
            simulation = prepare(loaded, Progress(), seed=None, quick=True)
            simulation.execute()
            evidence = ResultFolder(simulation.folder).evidence
            assert evidence is not None
            return evidence

        yield run


def test_a_run_is_the_same_as_itself(simulated) -> None:
    evidence = simulated()
    differences = compare_runs(evidence, evidence)
    assert {d.figure for d in differences} == {"window share 1", "window share 2", "goodput", "convergence"}
    assert all(d.same and d.off == 0 for d in differences)


def test_another_rate_and_another_start_differ(simulated) -> None:
    slower = compare_runs(simulated(), simulated("links.fast.rate=960pps"))
    assert not next(d for d in slower if d.figure == "goodput").same
    elsewhere = compare_runs(simulated(), simulated("ncp.initial_windows=[3000, 1096]"))
    share = next(d for d in elsewhere if d.figure == "window share 1")
    assert not share.same
    assert (share.off or 0) > 0.1


def test_nothing_compared_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path))
    # As an ordinary user real packets can't be had: that is told, and is not taken for a refusal.
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    app = typer.Typer()
    app.command()(compare.compare)
    app.command("cross-check")(compare.cross_check)
    ended = CliRunner().invoke(app, ["cross-check", "startup", "--quick"])
    assert isinstance(ended.exception, CannotRun)
    assert "PASS" not in ended.output
    monkeypatch.setattr("testbed.study.kinds.cross_check.scenarios", lambda: [paths.SCENARIOS / "dumbbell.yaml"])
    ended = CliRunner().invoke(app, ["cross-check"])
    assert isinstance(ended.exception, CannotRun)
    assert "nothing to compare" in str(ended.exception)


def test_the_page_names_what_differs(simulated, tmp_path: Path) -> None:
    first, second = simulated(), simulated("links.fast.rate=960pps")
    plots = [shares(first.plan["sessions"][0], {"a": first, "b": second})]
    same = Agreement("startup", "Title", {}, compare_runs(first, first), plots, [])
    off = Agreement("slower", "Title", {}, compare_runs(first, second), plots, [])
    starved = Agreement("starved", "Title", {}, compare_runs(first, second), plots, ["starved"])
    for found, word in (([same], "PASS"), ([starved, off], "UNTRUSTED"), ([same, off], "FAIL")):
        page = write_cross_check(tmp_path / "x", found, {"dumbbell": "iperf3"}).read_text()
        assert f"<title>{word}: " in page
    assert "differs" in page
    assert "dumbbell: iperf3" in page
    shutil.rmtree(tmp_path / "x")
