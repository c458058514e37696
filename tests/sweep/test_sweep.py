"""A tiny sweep on the real simulator: its table, a stop, and its repetition."""

import csv
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

from testbed.documents import write_csv
from testbed.engines.engine import Engine
from testbed.judge.ncp_figures import rules
from testbed.judge.status import Status
from testbed.machine import build
from testbed.runtime.progress import Progress
from testbed.study.checks.law import judge_law, of_the_law
from testbed.study.kinds import sweep as sweeps
from testbed.study.kinds.sweep import read_parquet, write_parquet
from testbed.study.kinds.sweep_file import LawLine, LoadedSweep, load, planned
from testbed.study.ledger import LEDGER, Ledger
from testbed.study.record import CellResult, RunRecord
from testbed.study.report.page import number_of
from testbed.study.run import run_cells
from tests.bundle.made import verify_folder
from tests.said import places
from tests.tables.cells import cell_result

TEXT = """\
name: tiny
title: Two windows
scenario: startup
seconds: 8s
parameters:
  ncp.send_window: [512KiB, 1MiB, 2MiB]
policies: [nkp24, delivery-rate]
plots:
  - {figure: settled_s, x: ncp.send_window}
law: {policy: nkp24, tolerance: 10%}
"""


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedSweep:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    file = tmp_path / "tiny.yaml"
    file.write_text(TEXT)
    return load(str(file))


def test_table_plots_law_and_repetition(sweep: LoadedSweep, tmp_path: Path) -> None:
    verdict, folder = sweeps.run(sweep)
    assert verdict.verdict == "pass", verdict.summary
    with (folder / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == ["nkp24", "delivery-rate"] * 3
    for row in rows:
        assert float(row["of_bound"]) > 0.9
        assert 7 < float(row["delivered_ratio"]) < 9
        assert float(row["rtt_ms"]) == max(float(row["rtt_ms_1"]), float(row["rtt_ms_2"]))
    # The time to converge doubles with the window: τ = W/Σrate.
    settled = [float(row["settled_s"]) for row in rows if row["policy"] == "nkp24"]
    assert settled[2] - settled[1] == pytest.approx(2 * (settled[1] - settled[0]), rel=0.15)
    law = next(found for found in verdict.checks if found.judge == "law_slope")
    assert law.measured == pytest.approx(law.expected, rel=0.1)
    parquet = pyarrow.parquet.read_table(folder / "table.parquet").to_pylist()
    assert [row["run"] for row in parquet] == [row["run"] for row in rows]
    assert parquet[0]["of_bound"] == float(rows[0]["of_bound"])
    page = (folder / "report.html").read_text()
    assert "fitted: slope" in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    before = _files(folder)
    (folder.parent / "runs.jsonl").unlink()  # all of it once more
    again, same = sweeps.run(sweep)
    assert (again, same) == (verdict, folder)
    assert _files(folder) == before


def _files(folder: Path) -> dict[str, bytes]:
    """But for what tells of the machine and the hour."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "provenance.json"
    }


def test_goes_on_where_it_was_stopped(sweep: LoadedSweep, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    simulator = build.build_programs("ncp-sim")["ncp-sim"]
    cells = sweeps.cells_of(list(planned(sweep, build.policy_facts(simulator))), simulator)
    ledger = Ledger(tmp_path / LEDGER)
    kept: list[str] = []

    def until_the_third(result: CellResult) -> None:
        kept.append(result.cell)
        if len(kept) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, tmp_path, Progress(), each=until_the_third)
    assert [record.run for record in ledger.read()] == kept
    asked: list[str] = []
    run = sweeps.FigureCell.run
    monkeypatch.setattr(Engine, "width", lambda _engine: 1)

    def noted(cell: sweeps.FigureCell, study: Path, progress: Progress) -> RunRecord:
        asked.append(cell.id)
        return run(cell, study, progress)

    monkeypatch.setattr(sweeps.FigureCell, "run", noted)
    whole = run_cells(cells, tmp_path, Progress())
    assert set(asked) == {cell.id for cell in cells} - set(kept)
    assert {record.run: record for record in ledger.read()} == {name: one.record for name, one in whole.items()}


def test_figures_by_other_rules_are_not_kept(sweep: LoadedSweep) -> None:
    simulator = build.build_programs("ncp-sim")["ncp-sim"]
    cell = sweeps.cells_of([next(planned(sweep, build.policy_facts(simulator)))], simulator)[0]
    line = RunRecord(run=cell.id, cell=cell.id, status=Status.PASS, rules="other")
    assert cell.earlier(sweep.path.parent, [line]) == []
    today = line.model_copy(update={"rules": rules()})
    assert cell.earlier(sweep.path.parent, [today]) == [today]


def test_a_slope_that_is_not_the_laws_fails() -> None:
    rows = [{"policy": "nkp24", "tau_s": tau, "settled_s": 3.5 * tau, "law_settled_s": 2.78 * tau} for tau in (1, 2, 3)]
    asked = LawLine(policy="nkp24", tolerance=0.1)
    assert judge_law(rows, asked).status == "fail"
    assert judge_law(rows[:2], asked).status == "insufficient-data"


def test_the_law_is_not_asked_where_the_window_does_not_fill_the_links() -> None:
    rows = [
        {"policy": "nkp24", "rtt_ms": 200.0, "tau_s": tau, "settled_s": 2.78 * tau, "law_settled_s": 2.78 * tau}
        for tau in (1, 2, 3)
    ]
    short = {"policy": "nkp24", "rtt_ms": 200.0, "tau_s": 0.22, "settled_s": 50.0, "law_settled_s": 0.62}
    every = LawLine(policy="nkp24", tolerance=0.1)
    filled = LawLine(policy="nkp24", tolerance=0.1, min_round_trips=1.5)
    assert judge_law([*rows, short], every).status == "fail"
    assert of_the_law([*rows, short], filled) == rows
    assert judge_law([*rows, short], filled).status == "pass"


def test_a_transfer_that_does_not_end_is_told(sweep: LoadedSweep) -> None:
    simulator = build.build_programs("ncp-sim")["ncp-sim"]
    changed = load(str(sweep.path), ["limits.transfer_time=2s"])
    cell = sweeps.cells_of([next(planned(changed, build.policy_facts(simulator)))], simulator)[0]
    record = cell.run(sweep.path.parent, Progress())
    assert "bytes arrived within 2.0 s" in record.reason
    assert (record.status, record.figures) == (Status.ERROR, {})


@pytest.mark.parametrize(("values", "n"), [([1.0, 1.0, 1.0], "3: one"), ([1.0, 1.0, 1.1], "3"), ([1.0], "1")])
def test_seeds_that_all_give_the_same_are_one_observation(values: list[float], n: str) -> None:
    place = "w=1MiB", "nkp24"
    runs = [
        cell_result(*place, i, Status.PASS, {"rtt_ms": v}, 1.0, "", f"sim-{i}", exact=True)
        for i, v in enumerate(values, 1)
    ]
    assert number_of(runs) == n


def _in_text(folder: Path) -> None:
    """One more in the last digit of a figure."""
    with (folder / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0]["goodput_mib_s"] = str(round(float(rows[0]["goodput_mib_s"]) + 1e-6, 6))
    write_csv(folder / "table.csv", rows)


def _in_parquet(folder: Path) -> None:
    table = read_parquet(folder / "table.parquet")
    table[0]["goodput_mib_s"] += 1e-6
    write_parquet(table, folder / "table.parquet")


def _in_the_verdict(folder: Path) -> None:
    path = folder / "verdict.json"
    path.write_text(path.read_text().replace('"tolerance": 0.1', '"tolerance": 0.9'))


@pytest.mark.parametrize(
    ("forge", "where"),
    [(_in_text, "table.csv"), (_in_parquet, "table.csv"), (_in_the_verdict, "checks")],
    ids=["text", "parquet", "verdict"],
)
def test_a_forged_figure_is_found(sweep: LoadedSweep, forge: Callable[[Path], None], where: str) -> None:
    _, folder = sweeps.run(sweep)
    assert verify_folder(folder).differences == []
    forge(folder)
    found = places(verify_folder(folder).differences)
    assert any(place.startswith(where) for place in found), found
