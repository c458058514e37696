"""What there is, what it looks like, and a new one: `list`, `show` and `new` as a user types them."""

import json
import re
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

from testbed import engines, paths
from testbed.cli.app import command_line
from testbed.cli.list_scenarios import ago, in_words
from testbed.cli.terminal import fitted
from testbed.errors import BadInput
from testbed.judge.checks.result import Verdict
from testbed.plan.drawing import drawing
from testbed.plan.engines import DEFAULT
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, resolve
from testbed.runtime.progress import QuietProgress
from testbed.scenario import files
from testbed.scenario.load import load
from testbed.study.kinds import claims_file
from tests.golden.seconds import of_sweep, of_table
from tests.golden.seconds import seconds as seconds_by_plans
from tests.plan.test_resolve import POLICIES as TWO_POLICIES
from tests.raises import Said, raises
from tests.ready import simulated

POLICIES = {**TWO_POLICIES, "delivery-rate": TWO_POLICIES["nkp24"], "minrtt": TWO_POLICIES["nkp24"]}
"""All that shipped files ask for."""


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


def typed(*arguments: str) -> str:
    done = CliRunner().invoke(command_line(arguments[0]), list(arguments), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def plan_of(name: str) -> Plan:
    return resolve(load(name), POLICIES, Choices(), "20261123-000000-abcd")


def finished(results: Path, name: str, verdict: str) -> None:
    folder = results / name / "20261123-000000-abcd"
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_text(json.dumps({"verdict": verdict, "run": folder.name}))
    (folder.parent / "latest").symlink_to(folder.name)


def test_the_list_has_each_file_with_what_is_known_of_it_in_80_columns(results: Path) -> None:
    finished(results, "startup", "untrusted")
    lines = typed("list").splitlines()
    shipped = [path.stem for path in (*files.scenarios(), *files.links(), *files.tables(), *files.sweeps())]
    peers = [str(path.relative_to(paths.CHECKOUT)) for path in files.peers()]
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == [*shipped, *peers]
    assert max(map(len, lines)) <= 80
    first = next(number for number, line in enumerate(lines) if line.startswith("startup "))
    startup = " ".join(" ".join(lines[first : first + 3]).split())
    assert "throughput of their connections [NKP-0024] 43 s UNTRUSTED just now" in startup


def test_the_claims_are_listed(results: Path) -> None:
    known = claims_file.load().claims
    lines = typed("list", "claims").splitlines()
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == list(known)
    assert max(map(len, lines)) <= 80
    entries = json.loads(typed("list", "claims", "--json"))["claims"]
    assert {entry["id"]: entry["text"] for entry in entries} == {name: claim.text for name, claim in known.items()}


def test_the_list_is_there_for_programs(results: Path) -> None:
    finished(results, "speed-table", "fail")
    entries = {entry["name"]: entry for entry in json.loads(typed("list", "--json"))["entries"]}
    assert entries["startup"]["seconds"] == files.transfer_seconds()["startup"]
    assert entries["startup"]["last"] is None
    assert entries["speed-table"]["kind"] == "table"
    assert entries["speed-table"]["last"]["verdict"] == "fail"
    assert Path(entries["links-codel"]["file"]).is_file()


def test_a_result_that_says_nothing_is_left_out(results: Path) -> None:
    finished(results, "startup", "pass")
    (results / "startup" / "latest" / "verdict.json").write_text("[]")
    assert json.loads(typed("list", "--json"))["entries"][0]["last"] is None
    assert typed("list")


@pytest.mark.parametrize(("seconds", "words"), [(43.2, "43 s"), (1075, "18 min"), (11376, "3.2 h")])
def test_durations_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("2026-11-23T11:59:30+00:00", "just now"),
        ("2026-11-23T11:00:00+00:00", "1 h ago"),
        ("2026-11-20T11:00:00+00:00", "3 d ago"),
        ("2026-11-23T13:00:00+00:00", "just now"),
    ],
)
def test_how_long_ago(at: str, told: str) -> None:
    assert ago(at, datetime(2026, 11, 23, 12, tzinfo=timezone.utc)) == told


def test_the_seconds_of_the_list_are_those_of_the_plans() -> None:
    known, anew = files.transfer_seconds(), "make it anew: python -m tests.golden.seconds"
    by_plans = seconds_by_plans(POLICIES)
    assert {name: known.get(name) for name in by_plans} == by_plans, anew
    assert known.keys() == by_plans.keys() | {path.stem for path in (*files.tables(), *files.sweeps())}, anew
    assert known["bdp-buffer"] == of_table(files.TABLES / "bdp-buffer.yaml", POLICIES), anew


@pytest.mark.nightly
def test_the_seconds_of_tables_and_sweeps_are_those_of_all_plans() -> None:
    known, policies = files.transfer_seconds(), engines.named(DEFAULT).prepare_plans(QuietProgress()).policies
    made = {path.stem: of_table(path, policies) for path in files.tables()}
    made |= {path.stem: of_sweep(path, policies) for path in files.sweeps()}
    assert {name: known.get(name) for name in made} == made


def test_links_between_two_hosts_are_drawn_side_by_side() -> None:
    assert drawing(plan_of("startup")) == [
        "h1",
        "└─┬─ fast  1024pps  50 ms  queue 102 ─┬─ h2",
        "  └─ slow  128pps   50 ms  queue 13  ─┘",
    ]


def test_routers_are_followed_to_the_hosts_behind_them() -> None:
    lines = drawing(plan_of("relays"))
    assert lines[0] == "h1"
    assert [line.split()[-1] for line in lines[1:]] == ["r1", "h2", "r2", "h2"]
    assert lines[2].startswith("│    └")


@pytest.mark.parametrize("path", [*files.scenarios(), *files.links()], ids=lambda path: path.stem)
def test_every_link_of_a_shipped_scenario_is_drawn_once_within_80_columns(path: Path) -> None:
    plan = resolve(load(str(path)), POLICIES, Choices(), "20261123-000000-abcd")
    lines = drawing(plan)
    words = " ".join(lines).split()
    names = re.findall(r"─ (\S+) +(?:\S+pps|\S+ \wbit/s|rate by a trace) ", "\n".join(lines))
    assert sorted(names) == sorted(link["name"] for link in plan["links"])
    assert {host["name"] for host in plan["hosts"]} <= set(words)
    assert max(map(len, lines)) <= 78


def test_a_new_scenario_passes_as_it_is_and_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    assert "--engine sim" in typed("new", str(file))
    before = file.read_text()
    verdict = simulated(load(str(file)), QuietProgress(), seed=None, quick=False).without_database(None)
    assert isinstance(verdict, Verdict)
    assert {check.status for check in verdict.checks} == {"pass"}
    with raises(BadInput, "new.file-exists"):
        typed("new", str(file))
    assert file.read_text() == before
    quick = simulated(load(str(file), quick=True), QuietProgress(), seed=None, quick=True).without_database(None)
    assert quick.verdict == "pass"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Mine", Said("new.bad-name")),
        ("a" * 33, Said("new.bad-name")),
        ("mine.py", Said("new.not-yaml")),
        ("/nowhere/at/all/mine.yaml", Said("new.no-folder")),
        ("list", Said("new.name-taken")),
        ("speed-table", Said("new.name-taken")),
        ("startup", Said("new.file-exists")),
    ],
)
def test_a_name_that_can_t_be_is_refused(name: str, why: Said) -> None:
    with raises(BadInput, why):
        typed("new", name)


def test_a_name_without_a_folder_goes_to_the_shipped_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "SCENARIOS", tmp_path)
    typed("new", "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


def test_lines_are_folded_between_words_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "  check      windows follow: from 1 s\n  link 1     fast: 1024 packets/s\nshort"
    monkeypatch.setenv("COLUMNS", "27")
    assert fitted(text) == text
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert fitted(text).splitlines() == [
        "  check      windows",
        "             follow: from",
        "             1 s",
        "  link 1     fast: 1024",
        "             packets/s",
        "short",
    ]


@pytest.mark.parametrize("language", ["go", "js"])
def test_a_new_code_is_the_example_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    example = paths.CHECKOUT / "examples" / "codes"
    shutil.copytree(example, tmp_path / "examples" / "codes")
    monkeypatch.setattr("testbed.paths.CHECKOUT", tmp_path)
    assert "codes/fast" in typed("new", "fast", "--code", language)
    written = {file.name: file.read_text() for file in (tmp_path / "codes" / "fast").iterdir()}
    assert written.keys() == {file.name for file in (example / language).iterdir()}
    for name, text in written.items():
        assert text.replace("fast", "mine") == (example / language / name).read_text()
        assert "mine" not in text
    for taken in ("fast", "Mine"):
        with raises(BadInput, "new.bad-code"):
            typed("new", taken, "--code", language)
