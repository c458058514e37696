"""Runs of claims end when something is decided: where one more is made, where none is, and what a single one says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.judge import sign_test
from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.judge.status import Status
from testbed.runtime.progress import QuietProgress
from testbed.study.checks import claims as checks
from testbed.study.checks.claims import Judged, Made
from testbed.study.checks.table import DifferenceCheck, RatioCheck, judge_one
from testbed.study.kinds import claims as kind
from testbed.study.kinds.claims_file import Claim, load
from testbed.study.kinds.table import places_requested
from testbed.study.kinds.table_result import RowSummary, Spread
from testbed.study.record import CellResult
from tests.tables.cells import cell_result

CLAIMS = """\
sources:
  them: {title: A paper, by: Somebody, where: in print}
setups:
  lossy: {source: them, text: Lossy links., given: {"links.*.delay_ms": 50}}
runs:
  lossy:
    run: speed-table
    set: [transfer=64KiB]
    rows: ["7"]
    columns: [previous, nkp24]
    repeat: 3
    minutes: 1
    disk_mb: 1
    quick: {minutes: 0.5}
claims:
  sure:
    source: them
    kind: beyond
    setup: lossy
    text: It carries something.
    run: lossy
    judge: {judge: within, columns: [nkp24], min: 0.001, rows: ["7"]}
    expected: something
    why: so
"""


@pytest.mark.runs
def test_repetitions_end_as_soon_as_all_claims_that_rest_on_them_are_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testbed.paths.results", lambda: tmp_path / "results")
    monkeypatch.setattr(kind, "MOST", 7)
    monkeypatch.setattr(kind, "MOST_RESUMED", 8)
    file = tmp_path / "claims.yaml"

    def run(resume: str = "") -> tuple[list[Judged], list[str], Path]:
        _, found, folder = kind.run(load(file), kind.Request("sim", resume=resume), QuietProgress())
        (table,) = (folder / "runs" / "lossy" / "speed-table").glob("2*")
        return found, sorted(place.cell for place in places_requested(table)), folder

    file.write_text(CLAIMS)
    (sure,), cells, _ = run()
    assert (sure.verdict, sure.n, sure.evidence) == ("pass", 5, 21.25)
    # Three of each, and two more of the column alone that the claim is about.
    assert cells == sorted([*(f"7/previous/{n}" for n in range(1, 4)), *(f"7/nkp24/{n}" for n in range(1, 6))])

    near = (
        CLAIMS[CLAIMS.index("  sure:") :].replace("  sure:", "  near:").replace("0.001", f"{sure.figures['7 nkp24']}")
    )
    file.write_text(CLAIMS + near)
    (sure, near_), cells, folder = run()
    assert (sure.verdict, near_.verdict, near_.n) == ("pass", "inconclusive", 7)
    assert sum("nkp24" in cell for cell in cells) == 7
    first = (folder / "runs.jsonl").read_text()
    (_, near_), cells, again = run(folder.name)
    assert again == folder
    assert (near_.n, sum("nkp24" in cell for cell in cells)) == (8, 8)  # a finished result goes on
    assert (folder / "runs.jsonl").read_text().startswith(first)
    assert near_.sees == ("0.08 of the figure, of 8 runs, σ 0.045 of 8; nearer to a limit it can't be decided here")

    for engine, word, part in (("vkernel", "fail", "inconclusive"), ("sim", "pass", "skipped")):
        file.write_text(f"{CLAIMS}{near}    undecidable_on: {{{engine}: It lies at the limit.}}\n")
        verdict, (_, near_), _ = kind.run(load(file), kind.Request("sim", resume=folder.name), QuietProgress())
        assert (verdict, near_.verdict, near_.part) == (word, "inconclusive", part)
        told = [(folder / name).read_text() for name in ("claims.json", "claims.csv", "report.html")]
        assert all(("It lies at the limit." in text) == (engine == "sim") for text in told)


CLAIM = Claim(
    source="them", kind="claim", text="Eight.", setup="s", run="r", check="ratio", expected="7 to 9", why="so"
)


@pytest.mark.parametrize(
    ("made_by", "judge", "word"),
    [
        ({"engine": {"repeatable": False}}, "ratio", "insufficient-data"),
        ({"engine": {"repeatable": True}}, "ratio", "pass"),
        ({"simulation": {}}, "ratio", "pass"),
        ({"engine": {"repeatable": False}}, "payload_intact", "pass"),
    ],
)
def test_one_run_on_real_packets_decides_nothing_but_a_fact(
    tmp_path: Path, made_by: dict[str, Any], judge: str, word: str
) -> None:
    check = CheckResult(name="ratio", judge=judge, status=Status.PASS, reason="So.", measured=8.0)
    verdict = Verdict(
        scenario="x",
        run="1",
        verdict=Status.PASS,
        summary="s",
        checks=[check],
        trust=Trust(trusted=True),
        duration_s=1.0,
        policy="p",
    )
    (tmp_path / "verdict.json").write_text(json.dumps(verdict.to_json()))
    (tmp_path / "plan.json").write_text("{}")
    (tmp_path / "provenance.json").write_text(json.dumps(made_by))
    found = checks.judge("nkp24-startup-ratio", CLAIM, Made("r", "", Status.PASS, folder="."), tmp_path)
    assert (found.verdict, found.n, found.figures) == (word, 1, {"measured": 8.0})
    says = "n = 1 decides no claim on real packets." in found.reason
    assert says == (word == "insufficient-data")


def cells_of(**columns: list[float]) -> list[CellResult]:
    return [
        cell_result("1", column, number, Status.PASS, {"rate": value}, 1.0, "", "x")
        for column, values in columns.items()
        for number, value in enumerate(values, 1)
    ]


SHARED = [1.0, 5.0, 2.0, 9.0, 4.0]
ROW = RowSummary("1", "1", "", {}, {"rate": {"a": Spread.of([]), "b": Spread.of([])}}, {}, [])


def test_what_both_columns_share_in_a_run_does_not_scatter() -> None:
    """The old interval of two medians, over the same runs, is open."""
    cells = cells_of(a=[value * 1.1 for value in SHARED], b=SHARED)
    unpaired = [
        Spread.of([cell.record.figures["rate"] for cell in cells if cell.at["column"] == name]) for name in "ab"
    ]
    row = RowSummary("1", "1", "", {}, {"rate": dict(zip("ab", unpaired, strict=True))}, {}, [])
    check = RatioCheck(name="x", judge="ratio", column="a", over="b", min=1.05)
    assert judge_one(check, [row], cells).status == "inconclusive"
    found = judge_one(check, [row], cells, watched=True)
    assert found.status == "pass"
    assert found.figures["1 a"] == pytest.approx(1.1)
    difference = DifferenceCheck(name="x", judge="difference", column="a", over="b", min=0.05, max=1)
    assert judge_one(difference, [row], cells, watched=True).status == "pass"


def test_saboteur_pairs_of_other_seeds_are_no_pairs() -> None:
    cells = cells_of(a=[value * 1.1 for value in SHARED], b=[*SHARED[1:], SHARED[0]])
    check = RatioCheck(name="x", judge="ratio", column="a", over="b", min=1.05)
    assert judge_one(check, [ROW], cells, watched=True).status == "inconclusive"


def test_a_run_that_does_not_count_leaves_no_pair() -> None:
    cells = cells_of(a=[1.1] * 5, b=[1.0] * 5)
    check = RatioCheck(name="x", judge="ratio", column="a", over="b", min=1.05)
    assert judge_one(check, [ROW], cells, watched=True).status == "pass"
    four = judge_one(check, [ROW], [cell for cell in cells if cell.cell != "1/b/3"], watched=True)
    assert (four.status, four.figures["evidence"]) == ("insufficient-data", sign_test.evidence(4, 4))
