"""Going on with a table: which runs are kept, and which are made again."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.errors import BadInput
from testbed.runtime.interrupts import Interrupted, interruptible
from testbed.runtime.progress import Progress
from testbed.study.cell import ScenarioCell
from testbed.study.kinds import table as table_run
from testbed.study.kinds.table import TableRequest
from testbed.study.kinds.table_file import KEPT_AS, load
from testbed.study.kinds.table_result import in_table
from testbed.study.ledger import LEDGER, Ledger, differences_of
from testbed.study.record import RunRecord, read_record, result_of
from testbed.study.run import run_cells, should_retry
from tests.raises import raises
from tests.tables.small_table import PROGRAMS, SMALL, matrix_of, write_run


def change_verdict(run: Path, **changes: Any) -> None:
    document = json.loads((run / "verdict.json").read_text())
    (run / "verdict.json").write_text(json.dumps({**document, **changes}))


@pytest.mark.parametrize(
    ("verdicts", "found", "attempts", "again"),
    [
        ([], None, 0, False),
        (["pass"], "pass", 1, False),
        (["fail"], "fail", 1, False),
        (["untrusted"], "untrusted", 1, True),
        (["untrusted", "pass"], "pass", 2, False),
        (["untrusted", "untrusted", "untrusted"], "untrusted", 3, True),
        (["broken"], "fail", 1, True),
        (["broken", "pass"], "pass", 2, False),
        (["broken", "untrusted"], "untrusted", 2, True),
        (["unsupported"], "unsupported", 1, False),
    ],
)
def test_what_settles_a_cell_is_kept_and_what_does_not_is_made_again(
    small: str, tmp_path: Path, verdicts: list[str], found: str | None, attempts: int, again: bool
) -> None:
    cell = matrix_of(small).cell("near", "nkp24")
    for number, verdict in enumerate(verdicts):
        broken = verdict in ("broken", "unsupported")
        run = write_run(tmp_path / cell.folder, f"2026-{number}", "fail" if broken else verdict)
        if broken:
            change_verdict(run, broken="the relay ended", unsupported=verdict == "unsupported")
    (tmp_path / cell.folder / "2026-9").mkdir(parents=True)  # a run that was killed left no verdict
    earlier = result_of(cell.id, cell.at, cell.earlier(tmp_path, []))
    assert (in_table(earlier).status if earlier else None) == found
    if earlier:
        assert earlier.attempts == attempts
        assert should_retry(earlier.record, 0, cell.engine) is again


@pytest.mark.parametrize(("verdict", "again"), [("untrusted", False), ("broken", True)])
def test_in_virtual_time_an_untrusted_run_would_be_the_same_again(
    small: str, tmp_path: Path, verdict: str, again: bool
) -> None:
    cell = matrix_of(small, engine="sim").cell("near", "nkp24")
    run = write_run(tmp_path / cell.folder, "sim-1", "untrusted" if verdict == "untrusted" else "fail")
    if verdict == "broken":
        change_verdict(run, broken="the disk is full")
    [record] = cell.earlier(tmp_path, [])
    assert should_retry(record, 0, cell.engine) is again


def test_a_run_that_the_user_stopped_says_nothing_of_its_cell(small: str, tmp_path: Path) -> None:
    cell = matrix_of(small).cell("near", "nkp24")
    run = write_run(tmp_path / cell.folder, "2026-0", "fail")
    with pytest.raises(Interrupted) as stopped, interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
    for broken, counts in (("the relay ended", True), (stopped.value.message, False)):
        change_verdict(run, broken=broken)
        assert bool(cell.earlier(tmp_path, [])) is counts


def test_going_on_makes_untrusted_and_broken_runs_again_and_tells_so(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = matrix_of(small).cells(*(("near", "nkp24", number) for number in (1, 2, 3, 4)))
    late, broken, good, new = cells
    for number in range(3):
        write_run(tmp_path / late.folder, f"2026-{number}", "untrusted")
    change_verdict(write_run(tmp_path / broken.folder, "2026-0", "fail"), broken="the relay ended")
    write_run(tmp_path / good.folder, "2026-0", "pass")
    # Of the cell that was late, two runs of these three are untrusted again.
    came = {late: ["untrusted", "untrusted", "pass"], broken: ["fail"], new: ["pass"]}

    def attempt(cell: ScenarioCell, folder: Path, _progress: Progress) -> RunRecord:
        left = came[cell]
        run = write_run(folder / cell.folder, f"2027-{9 - len(left)}", left.pop(0))
        record = read_record(run, folder, cell.id)
        assert record
        return record

    monkeypatch.setattr(ScenarioCell, "run", attempt)
    monkeypatch.setattr(ScenarioCell, "unsupported", "")
    each: list[tuple[str, str]] = []
    tell = each.append
    run_cells(cells, tmp_path, Progress(), each=lambda result: tell((result.at["repetition"], result.status)))
    found = run_cells(cells, tmp_path, Progress(), describe=lambda result: result.status)

    assert [(o.status, o.attempts) for o in found.values()] == [("pass", 6), ("fail", 2), ("pass", 1), ("pass", 1)]
    assert not any(came.values())
    # Until it is run again a cell is what it was.
    assert each == [
        *zip("123", ("untrusted", "error", "pass"), strict=True),
        ("1", "pass"),
        ("2", "fail"),
        ("4", "pass"),
    ]
    assert len(list((tmp_path / late.folder).iterdir())) == 6
    told = capsys.readouterr().err
    names = "row near nkp24 #1, row near nkp24 #2"
    assert f"2 of 4 can't be trusted or broke down; made again: {names}\n" in told
    assert told.count("(kept)") == 4
    assert len(list(Ledger(tmp_path / LEDGER).read())) == 5 + 3 + 1 + 1


def test_a_table_that_is_gone_on_with_is_judged_by_the_checks_of_now(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))

    def folder_of(text: str, resume: str) -> Path:
        Path(small).write_text(text)
        asked = TableRequest(resume=resume, engine="sim")
        return table_run.begin(load(small), asked, PROGRAMS, paths.results()).folder

    begun = folder_of(SMALL, "")
    stricter = SMALL.replace("min: 1}", "min: 2}")
    assert folder_of(stricter, "latest") == begun
    assert load(str(begun / KEPT_AS)).table.checks == load(small).table.checks
    with raises(BadInput, "resume.other-options", key="cells"):
        folder_of(stricter.replace("transfer: 1MiB}", "transfer: 3MiB}", 1), "latest")


def test_a_line_of_the_ledger_that_is_not_what_the_run_says_is_found(small: str, tmp_path: Path) -> None:
    cells = matrix_of(small).cells(*(("near", "nkp24", number) for number in (1, 2)))
    runs = [write_run(tmp_path / cell.folder, "2026-0", "pass") for cell in cells]
    records = [record for cell in cells for record in cell.earlier(tmp_path, [])]
    ledger = Ledger(tmp_path / LEDGER)
    ledger.append(records)
    assert list(differences_of(tmp_path)) == []
    fast = {**records[0].figures, "goodput_mib_s": 2 * records[0].figures["goodput_mib_s"]}
    ledger.append([records[0].model_copy(update={"figures": fast})])
    [found] = differences_of(tmp_path)
    assert str(found).startswith("runs.jsonl: cells/near/nkp24/1/2026-0.figures.goodput_mib_s: ")
    ledger.append([records[0].model_copy(update={"rules": "other"})])  # read anew when it is resumed
    shutil.rmtree(runs[1])
    assert [one.code for one in differences_of(tmp_path)] == [found.code, "ledger.no-run"]
