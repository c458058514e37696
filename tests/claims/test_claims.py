"""Claims: what the file may say, what becomes of a run's results, and the page that is made from small files."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.errors import BadInput
from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.judge.status import Status
from testbed.runtime.progress import Progress
from testbed.study.checks import claims as judged
from testbed.study.checks.claims import Judged, Made
from testbed.study.kinds import claims as all_run
from testbed.study.kinds import table_file
from testbed.study.kinds.claims import Request
from testbed.study.kinds.claims_file import Claims, load
from testbed.study.kinds.table_result import Place, Spread, missing, outcomes_of
from testbed.study.report.page import write_claims
from testbed.study.report.text import claims_lines
from tests.raises import Containing, Said, raises
from tests.tables.cells import cell_result
from tools.reference import KINDS

SMALL = """\
sources:
  them: {title: A paper, by: Somebody, where: in print}
setups:
  equal: {source: them, text: Two links., given: {"links.*.delay_ms": 50}}
runs:
  start: {run: startup, minutes: 1, disk_mb: 1, quick: {minutes: 0.5}}
  table: {run: speed-table, columns: [nkp24], rows: ["1"], minutes: 1, disk_mb: 1, quick: {minutes: 0.5, repeat: 2}}
  line: {run: converge-rate, minutes: 1, disk_mb: 1, quick: {whole: true, minutes: 1}}
claims:
  ratio:
    {source: them, kind: claim, setup: equal, text: Eight., run: start, check: final window ratio, expected: 7 to 9,
     why: so}
  carries:
    source: them
    kind: beyond
    setup: equal
    text: It carries much.
    run: table
    judge: {judge: bound, columns: [nkp24], min: 0.9, max: 1, rows: ["1"]}
    expected: 90%
    why: it is
  slope:
    {source: them, kind: correction, setup: equal, text: A line., run: line, check: "law τ = W/Σrate, nkp24",
     expected: law, why: so}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "claims.yaml"
    path.write_text(SMALL)
    return path


def test_every_shipped_claim_points_at_a_run_and_a_check_that_exist() -> None:
    claims = load()
    assert claims.claims
    assert {claim.kind for claim in claims.claims.values()} == set(KINDS)
    for name in ("known", "within", "ratio"):  # a published value stands beside one figure
        for claim in claims.claims.values():
            if claim.value is not None and claim.judge and claim.judge["judge"] == name:
                assert len(claim.judge.get("rows", ["one"])) == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("run: startup,", "run: startupp,", Said("scenario.not-found", place=Containing("runs.start"))),
        (
            "final window ratio",
            "final ratio",
            Said(
                "claims.bad-claim", wrong=Containing("check 'final ratio': startup has no such check; it has windows")
            ),
        ),
        (
            "law τ = W/Σrate, nkp24",
            "law, nkp24",
            Said("claims.bad-claim", wrong=Containing("check 'law, nkp24': converge-rate has no such check")),
        ),
        (
            'max: 1, rows: ["1"]',
            'max: 1, rows: ["9"]',
            Said("claims.bad-claim", wrong="there is no row '9' in speed-table"),
        ),
        ("judge: bound", "judge: bond", Said("input.wrong-type", place=Containing("claims"))),
        (
            "source: them, kind: claim",
            "source: us, kind: claim",
            Said("claims.no-such-part", kind="source", name="us", guess=Containing("them")),
        ),
        (
            "run: line, check",
            "run: lines, check",
            Said("claims.no-such-part", kind="run", name="lines", place=Containing("claims.slope.run")),
        ),
        (
            "setup: equal, text: Eight",
            "setup: other, text: Eight",
            Said("claims.no-such-part", kind="setup", name="other", guess=Containing("equal")),
        ),
        ("kind: claim, setup", "kind: changed, setup", Said("claims.beside-without-changed")),
        ("kind: claim, setup", "kind: changed, beside: ratio, setup", Said("claims.no-differs")),
        (
            "kind: claim, setup",
            "kind: changed, beside: slope, differs: [{ours: a, theirs: b}], setup",
            Said("claims.beside-no-claim", claim="ratio", beside="slope"),
        ),
        (
            "kind: claim, setup",
            "kind: claim, differs: [{ours: a, theirs: b, keys: [tcp.window]}], setup",
            Said("claims.differs-elsewhere", claim="ratio", setup="equal", key="tcp.window"),
        ),
        (
            "{source: them, text: Two",
            "{source: us, text: Two",
            Said("claims.no-such-part", kind="source", name="us", place=Containing("setups.equal.source")),
        ),
        ("kind: claim, setup", "kind: clam, setup", Said("input.wrong-type", field="claims.ratio.kind", value="clam")),
        ("check: final window ratio,", "", Said("claims.check-or-judge")),
        ("why: so}", "why: so, cause: a cap}", Said("claims.cause-without-failure")),
        ("why: so}", "why: so, xfail: {cause: ' '}}", Said("input.wrong-type")),
        ("why: so}", "why: so, xfail: {strict: false}}", Said("input.missing")),
        ("why: so}", "why: so, undecidable_on: {emulator: it scatters}}", Said("engine.unknown", name="emulator")),
        ("why: so}", "why: so, undecidable_on: {sim: ' '}}", Said("input.wrong-type")),
        ("why: so}", "why: so, bound: guess}", Said("input.wrong-type", field="claims.ratio.bound", value="guess")),
        ("why: so}", "why: so, rival: {text: the old windows}}", Said("claims.rival-ways")),
        ("why: so}", "why: so, rival: {text: half, times: 0.5, row: '1'}}", Said("claims.rival-ways")),
        ("why: so}", "why: so, rival: {text: half, times: 0.5}}", Said("claims.rival-ways")),
        ("why: so}", "why: so, rival: {text: a row, row: '1', no_run: so}}", Said("claims.rival-ways")),
        ("expected: 90%", "expected: 90%\n    xfail: {cause: a cap}", Said("claims.xfail-of-a-promise")),
        ("min: 0.9", "minimum: 0.9", Said("input.unknown-key", field=Containing("minimum"))),
        ("{run: startup,", "{run: startup, set: [polcy=x],", Said("set.no-such-value", place=Containing("runs.start"))),
    ],
)
def test_what_points_at_nothing_is_named(file: Path, old: str, new: str, says: Said) -> None:
    assert old in SMALL
    file.write_text(SMALL.replace(old, new, 1))
    with raises(BadInput, says):
        load(file)


def test_only_some_claims_need_only_their_runs(file: Path) -> None:
    some = load(file, only=["slope"])
    assert (list(some.claims), list(some.runs)) == (["slope"], ["line"])
    with raises(BadInput, "claims.no-such-claim", name="slop", guess=Containing("; did you mean 'slope'")):
        load(file, only=["slop"])


def commands(claims: Claims, *, quick: bool, engine: Any = "mininet") -> dict[str, str]:
    return {name: Request(engine, quick).command(spec) for name, spec in claims.runs.items()}


def test_a_run_is_the_command_that_a_user_would_type(file: Path) -> None:
    claims = load(file)
    assert commands(claims, quick=False) == {
        "start": "./run.sh startup --repeat 5",
        "table": "./run.sh speed-table --rows 1 --columns nkp24 --repeat 5",
        "line": "./run.sh converge-rate",
    }
    assert commands(claims, quick=True, engine="sim") == {
        "start": "./run.sh startup --quick --engine sim",
        "table": "./run.sh speed-table --rows 1 --columns nkp24 --repeat 2 --quick --engine sim",
        "line": "./run.sh converge-rate",
    }


def write_verdict(folder: Path, status: Any, measured: Any = 8.0, reasons: list[str] | None = None) -> None:
    check = CheckResult(
        name="final window ratio", judge="ratio", status=status, measured=measured, expected="7 to 9", reason="So."
    )
    trust = Trust(trusted=not reasons, reasons=reasons or [])
    verdict = "untrusted" if reasons else "pass" if status == "pass" else "fail"
    folder.mkdir(parents=True, exist_ok=True)
    document = Verdict(
        scenario="startup",
        run=folder.name,
        verdict=verdict,
        summary="s",
        checks=[check],
        trust=trust,
        duration_s=1.0,
        policy="nkp24",
    )
    (folder / "verdict.json").write_text(json.dumps(document.to_json()))


def made(state: Any = "pass", why: str = "") -> Made:
    return Made("start", "./run.sh startup", state, why, "runs/start/startup/x" if state == "pass" else "")


def judge(claims: Claims, folder: Path, run: Made) -> Judged:
    return judged.judge("ratio", claims.claims["ratio"], run, folder)


@pytest.mark.parametrize(
    ("status", "word", "as_known"),
    [
        ("pass", "pass", True),
        ("fail", "fail", False),
        ("inconclusive", "inconclusive", None),
        ("insufficient-data", "insufficient-data", None),
        ("error", "error", None),
    ],
)
def test_a_claim_has_the_word_of_its_check(
    file: Path, tmp_path: Path, status: str, word: str, as_known: bool | None
) -> None:
    write_verdict(tmp_path / "runs/start/startup/x", status)
    found = judge(load(file), tmp_path, made())
    assert (found.verdict, found.as_known, found.reason) == (word, as_known, "So.")
    assert found.measured == "8.00"


def test_what_only_a_full_run_decides_is_open_after_a_quick_one(file: Path, tmp_path: Path) -> None:
    write_verdict(tmp_path / "runs/start/startup/x", "fail")
    claims = load(file)
    claim = claims.claims["ratio"].model_copy(update={"full_only": "it is too short"})
    quick = judged.judge("ratio", claim, replace(made(), shorter=True), tmp_path)
    assert (quick.verdict, quick.reason) == ("skipped", "Left open by a quick run: it is too short")
    assert judged.judge("ratio", claim, made(), tmp_path).verdict == "fail"


def test_an_untrusted_run_decides_nothing(file: Path, tmp_path: Path) -> None:
    write_verdict(tmp_path / "runs/start/startup/x", "pass", reasons=["the relay was late"])
    found = judge(load(file), tmp_path, made())
    assert (found.verdict, found.reason, found.as_known) == ("untrusted", "the relay was late", None)


@pytest.mark.parametrize("status", ["pass", "fail"])
@pytest.mark.parametrize(("fact", "word"), [("pass", None), ("skipped", None), ("fail", "error"), ("error", "error")])
def test_a_claim_stands_on_the_facts_of_its_run(
    file: Path, tmp_path: Path, status: str, fact: Any, word: str | None
) -> None:
    folder = tmp_path / "runs/start/startup/x"
    write_verdict(folder, status)
    document = json.loads((folder / "verdict.json").read_text())
    payload = CheckResult(name="every byte", judge="payload_intact", status=fact, reason="So.")
    document["checks"].append(payload.model_dump(mode="json"))
    (folder / "verdict.json").write_text(json.dumps(document))
    found = judge(load(file), tmp_path, made())
    assert found.verdict == word or (word is None and found.verdict == {"pass": "pass", "fail": "fail"}[status])
    assert word is None or "“every byte” does not hold" in found.reason


@pytest.mark.parametrize(
    ("state", "word"), [("unsupported", "unsupported"), ("skipped", "skipped"), ("error", "error")]
)
def test_a_run_that_was_not_made_says_why(file: Path, tmp_path: Path, state: str, word: str) -> None:
    found = judge(load(file), tmp_path, made(state, "no kernel for it"))
    assert (found.verdict, found.reason, found.report) == (word, "no kernel for it", "")


def one(word: Any, *, reproduces: bool = True, name: str = "x") -> Judged:
    return Judged(
        id=name,
        source="them",
        kind="claim",
        text="t",
        verdict=word,
        reason="r",
        run="start",
        command="c",
        check="k",
        published="",
        expected="e",
        tolerance="",
        why="w",
        reproduces=reproduces,
    )


@given(st.lists(st.tuples(st.sampled_from(Status), st.booleans()), min_size=1, max_size=8), st.booleans())
def test_all_is_the_worst_claim_that_was_asked(found: list[tuple[Status, bool]], quick: bool) -> None:
    claims = [one(word, reproduces=known) for word, known in found]
    verdict = judged.verdict_of(claims, quick=quick)
    asked = [(word, known) for word, known in found if word != "skipped"]
    as_known = [(word == "pass") == known for word, known in asked if word in ("pass", "fail")]
    open_ = any(word in ("inconclusive", "insufficient-data", "unsupported") for word, _ in asked)
    if verdict == "pass":
        assert any(as_known)
        assert all(as_known)
        assert all(word not in ("untrusted", "error", "missing") for word, _ in asked)
        assert quick or not open_
    assert (verdict == "untrusted") == any(word == "untrusted" for word, _ in asked)
    decided = sum(word in ("pass", "fail") for word, _ in found)
    assert judged.decided_of(claims).startswith(f"{decided} of {len(found)} claims decided")


def test_what_is_known_not_to_reproduce_does_not_fail_all_and_is_told() -> None:
    claims = [one("pass"), one("fail", reproduces=False)]
    assert judged.verdict_of(claims, quick=False) == "pass"
    assert "1 do not reproduce, as is known" in judged.summary_of(claims)
    odd = one("pass", reproduces=False, name="odd")
    assert judged.verdict_of([*claims, odd], quick=False) == "fail"
    assert "otherwise than known: odd" in judged.summary_of([odd])


def test_what_holds_by_chance_is_as_known_either_way_and_nothing_else_is() -> None:
    chance = replace(one("pass", reproduces=False, name="odd"), kind="beyond", by_chance=True)
    for found in (chance, replace(chance, verdict=Status.FAIL)):
        assert judged.verdict_of([found], quick=False) == "pass"
        assert "otherwise than known" not in judged.summary_of([found])
    for word in (Status.UNTRUSTED, Status.INCONCLUSIVE, Status.ERROR):
        assert judged.verdict_of([replace(chance, verdict=word)], quick=False) != Status.PASS


def test_what_was_not_decided_is_told_and_a_full_run_has_to_decide_it() -> None:
    claims = [one("pass"), one("inconclusive"), one("skipped")]
    assert judged.decided_of(claims) == "1 of 3 claims decided; not decided: 1 inconclusive, 1 skipped"
    assert judged.verdict_of(claims, quick=True) == "pass"
    assert judged.verdict_of(claims, quick=False) == "fail"
    assert judged.verdict_of([claims[0], claims[2]], quick=False) == "pass"
    assert judged.verdict_of([claims[2]], quick=True) == "fail"


def undecided(file: Path, folder: Path, engine: str, status: str = "inconclusive") -> Judged:
    """The claim that can't be decided in the simulator, judged by a run on an engine."""
    file.write_text(SMALL.replace("why: so}", "why: so, undecidable_on: {sim: It scatters by 9%.}}", 1))
    write_verdict(folder / "runs/start/startup/x", status)
    claim = load(file).claims["ratio"]
    return judged.judge("ratio", claim, made(), folder, undecidable=claim.undecidable_on.get(engine, ""))


def test_what_can_t_be_decided_stays_open_and_does_not_count_where_its_entry_says_so(
    file: Path, tmp_path: Path
) -> None:
    found = undecided(file, tmp_path, "sim")
    assert (found.verdict, found.part, found.as_json()["asked"]) == ("inconclusive", "skipped", True)
    assert (found.undecidable, found.reason) == (
        "It scatters by 9%.",
        "So. It can't be decided here: It scatters by 9%.",
    )
    assert judged.verdict_of([one("pass"), found], quick=False) == "pass"
    assert judged.decided_of([one("pass"), found]).endswith("not decided: 1 can't be decided here (ratio)")
    shown = "\n".join(claims_lines([found], "sim"))
    assert "can't be decided" in shown.splitlines()[1]
    assert "ratio can't be decided here: It scatters by 9%." in shown
    assert judged.changes_since([one("pass", name="ratio")], [found]) == ([], ["ratio"])
    assert Judged(**json.loads(json.dumps(found.as_json()))) == found


def test_saboteur_what_is_undecided_where_its_entry_does_not_say_so_does_not_pass(file: Path, tmp_path: Path) -> None:
    for engine in ("mininet", "vkernel"):
        found = undecided(file, tmp_path, engine)
        assert (found.verdict, found.undecidable) == ("inconclusive", "")
        assert judged.verdict_of([one("pass"), found], quick=False) == "fail"
    assert judged.verdict_of([undecided(file, tmp_path, "sim")], quick=False) == "fail"  # nothing is decided


@pytest.mark.parametrize(
    ("status", "verdict"), [("pass", "pass"), ("fail", "fail"), ("insufficient-data", "fail"), ("error", "fail")]
)
def test_only_a_claim_that_stays_inconclusive_can_t_be_decided(
    file: Path, tmp_path: Path, status: str, verdict: str
) -> None:
    found = undecided(file, tmp_path, "sim", status)
    assert (found.verdict, found.undecidable, found.reason) == (status, "", "So.")
    assert judged.verdict_of([one("pass"), found], quick=False) == verdict


def test_claims_that_are_new_and_lost_since_a_reference_are_named() -> None:
    before = [one("pass", name="a"), one("fail", name="b"), one("pass", name="gone"), one("pass", name="open")]
    now = [one("fail", name="a"), one("pass", name="b"), one("pass", name="added"), one("inconclusive", name="open")]
    assert judged.changes_since(before, now) == (["b"], ["a", "open"])


def test_only_a_source_s_claim_in_its_own_set_up_counts_as_not_reproduced() -> None:
    known = one("fail", reproduces=False)
    own = replace(known, kind="beyond")
    changed = replace(one("pass"), kind="changed")
    text = judged.summary_of([known, own, changed, one("pass")])
    assert text.startswith("2 of 4 claims hold, 1 of them with something changed; 1 do not reproduce, as is known")
    assert "do not reproduce" not in judged.summary_of([own, changed])


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One quick run in virtual time, and two claims of it."""
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    asked = Request("sim", quick=True, only=("nkp24-startup-law", "nkp24-startup-10s"))
    verdict, found, folder = all_run.run(load(only=asked.only), asked, Progress())
    assert (verdict, [claim.verdict for claim in found]) == ("pass", ["pass", "pass"])
    return folder


@pytest.mark.runs
def test_a_run_that_serves_two_claims_is_made_once_kept_and_reported(result: Path, tmp_path: Path) -> None:
    asked = Request("sim", quick=True, only=("nkp24-startup-law", "nkp24-startup-10s"), resume="latest")
    before = {path: path.stat().st_mtime_ns for path in result.rglob("telemetry.lp")}
    assert len(before) == 1
    assert all_run.run(load(only=asked.only), asked, Progress())[0] == "pass"
    assert {path: path.stat().st_mtime_ns for path in result.rglob("telemetry.lp")} == before
    other = Request("sim", quick=False, only=asked.only, resume="latest")
    with raises(BadInput, "resume.other-options", key="quick"):
        all_run.run(load(only=asked.only), other, Progress())

    with (result / "claims.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [(row["id"], row["verdict"]) for row in rows] == [
        ("nkp24-startup-10s", "pass"),
        ("nkp24-startup-law", "pass"),
    ]
    page = (result / "report.html").read_text()
    assert not re.search(r"(src|href)=\"(https?:)?//|<script|@import|url\(http", page)
    for target in re.findall(r'href="([^"#]+)"', page):
        assert (result / target).is_file(), target

    small = tmp_path / "small"
    copies = all_run.keep_reference(result, small)
    assert sum(path.stat().st_size for path in copies) < 200_000
    assert not list(small.rglob("*.lp"))
    write_claims(small)
    assert (small / "plots/startup-shares.svg").read_bytes() == (result / "plots/startup-shares.svg").read_bytes()
    document = json.loads((result / "claims.json").read_text())
    (result / "claims.json").write_text(json.dumps({**document, "complete": False}))
    with raises(BadInput, "claims.result-stopped"):
        all_run.keep_reference(result, tmp_path / "other")


@pytest.mark.nightly
@pytest.mark.runs
@pytest.mark.parametrize("path", sorted(judged.REFERENCES.glob("*/claims.json")), ids=lambda path: path.parent.name)
def test_a_page_can_be_made_of_each_reference(path: Path, tmp_path: Path) -> None:
    copy, claims = tmp_path / "copy", [claim["id"] for claim in json.loads(path.read_text())["claims"]]
    all_run.keep_reference(path.parent, copy, known_lost=claims)  # a later one may have others
    page = write_claims(copy).read_text()
    for claim in claims:
        assert f'id="{claim}"' in page


@pytest.mark.runs
def test_a_reference_that_would_hide_a_regression_is_refused(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_run, "REFERENCES", tmp_path / "reference")
    document = json.loads((result / "claims.json").read_text()) | {"only": []}
    (result / "claims.json").write_text(json.dumps(document))
    all_run.keep_reference(result, tmp_path / "reference" / "first-2026-11-01")
    document["run"] += "-later"
    document["claims"][1] |= {"verdict": "fail"}
    (result / "claims.json").write_text(json.dumps(document))
    with raises(BadInput, "claims.reference-loses", where="nkp24-startup-law"):
        all_run.keep_reference(result, tmp_path / "reference" / "later-2026-11-02")
    assert all_run.keep_reference(result, tmp_path / "reference" / "later-2026-11-02", ["nkp24-startup-law"])


def spread(*values: float) -> dict[str, Any]:
    return asdict(Spread.of(values))


def test_a_claim_about_a_table_has_its_cells_their_intervals_and_n(file: Path, tmp_path: Path) -> None:
    values = [0.93, 0.94, 0.95, 0.96, 0.97]
    cells = {"goodput_mib_s": {"nkp24": spread(*values), "previous": spread(0.5, 0.5)}}
    row = {
        "name": "1",
        "label": "1",
        "title": "",
        "bounds": {"goodput_mib_s": 1.0},
        "cells": cells,
        "states": {"nkp24": "ok", "previous": "ok"},
        "known": [{"by": "them", "column": "nkp24", "value": 0.9, "figure": "goodput_mib_s"}],
    }
    runs = [("nkp24", number, value) for number, value in enumerate(values, 1)]
    runs += [("previous", number, 0.5) for number in (1, 2)]
    outcomes = outcomes_of(
        cell_result("1", column, number, Status.PASS, {"goodput_mib_s": value}, 1.0, "", "x")
        for column, number, value in runs
    )
    table = {"schema": 2, "engine": "mininet", "columns": ["nkp24", "previous"], "rows": [row], "outcomes": outcomes}
    run = tmp_path / "runs/start/startup/x"
    write_verdict(run, "pass")
    (run / "table.json").write_text(json.dumps(table))
    claims = load(file)

    def found(**judge: Any) -> Judged:
        claim = claims.claims["carries"].model_copy(update={"judge": {"rows": ["1"], "columns": ["nkp24"], **judge}})
        return judged.judge("carries", claim, made(), tmp_path)

    holds = found(judge="bound", min=0.9, max=1)
    assert (holds.verdict, holds.n, holds.figures) == ("pass", 5, {"1 nkp24": 0.95})
    assert holds.intervals == {"1 nkp24": (0.93, 0.97, 0.9)}
    assert (holds.level, holds.n_told) == (0.9, "5: 90%")
    assert holds.measured == "0.9500 [0.9300, 0.9700]"
    assert found(judge="bound", min=0.94).verdict == "inconclusive"
    assert found(judge="bound", min=0.98).verdict == "fail"
    known = found(judge="known", tolerance=0.1)  # what was measured, not how far it is off
    assert (known.verdict, known.figures, known.intervals) == (
        "pass",
        {"1 nkp24": 0.95},
        {"1 nkp24": (0.93, 0.97, 0.9)},
    )
    few = found(judge="within", columns=["previous"], max=0.6)
    assert (few.verdict, few.n, few.intervals) == ("insufficient-data", 2, {})
    assert "Fewer than 5 runs decide nothing" in few.reason

    for other, word in [
        (cell_result("1", "nkp24", 2, Status.FAIL, {}, 1.0, "no payload", "y"), Status.ERROR),
        (cell_result("1", "nkp24", 2, Status.UNTRUSTED, {}, 1.0, "late", "y"), Status.UNTRUSTED),
        (missing(Place("1", "nkp24", 2)), "error"),
        (cell_result("1", "previous", 2, Status.FAIL, {}, 1.0, "another column", "y"), Status.PASS),
    ]:
        (run / "table.json").write_text(json.dumps({**table, "outcomes": [*outcomes, *outcomes_of([other])]}))
        assert found(judge="bound", min=0.9).verdict == word, other
        fails = found(judge="bound", min=0.98)  # and never "fails, as known"
        assert fails.verdict == ("fail" if word == "pass" else word), other

    cells["goodput_mib_s"]["nkp24"] = spread()
    for outcome in outcomes:
        outcome |= {"verdict": "unsupported", "why": "no such kernel"}
    (run / "table.json").write_text(json.dumps(table))
    none = found(judge="bound", min=0.9)
    assert (none.verdict, none.reason) == ("unsupported", "Row 1 nkp24 #1: no such kernel")


def test_only_some_claims_need_only_their_rows(file: Path) -> None:
    two = SMALL.replace('rows: ["1"], minutes: 1,', 'rows: ["1", "6", "7"], minutes: 3, sim_minutes: 0.6,')
    assert two != SMALL
    file.write_text(two)
    assert load(file).runs["table"].rows == ["1", "6", "7"]
    some = load(file, only=["carries"]).runs["table"]
    assert some.rows == ["1"]
    assert (some.minutes, some.disk_mb) == pytest.approx((1, 1 / 3))
    assert some.quick.rows == ["1"]
    assert Request("sim", quick=False).command(some).endswith("speed-table --rows 1 --columns nkp24 --engine sim")


def test_a_claim_about_all_rows_needs_them_all(file: Path) -> None:
    file.write_text(SMALL.replace(', rows: ["1"]}', "}"))
    assert load(file, only=["carries"]).runs["table"] == load(file).runs["table"]


def test_a_check_of_the_table_itself_says_its_rows() -> None:
    claims = load()
    named = next(
        (name, claim)
        for name, claim in claims.claims.items()
        if claim.check and claims.runs[claim.run].kind == "table" and load(only=[name]).runs[claim.run].rows
    )
    some = load(only=[named[0]]).runs[named[1].run]
    table = table_file.load(some.run).table
    assert some.rows == [row.name for row in table.rows if row.name in some.rows]
    assert len(some.rows) < len(table.rows)
    assert {row for check in table.checks if check.name == named[1].check for row in check.rows or ()} <= set(some.rows)
