"""Versions that are run and compared, through the command line and on agents built from other sources."""

import json
import shutil
from pathlib import Path

import pytest

from testbed import engines, paths
from testbed.cli.app import main
from testbed.engines.engine import Programs
from testbed.engines.run import Run
from testbed.errors import BadInput
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.cell import ScenarioCell
from testbed.study.checks import better
from testbed.study.checks.better import Group, conclusion, differences
from testbed.study.kinds.compare import named_places, recorded, run, variant
from testbed.study.kinds.table import TableRequest
from testbed.study.programs import of_sources, programs
from tests.raises import raises
from tests.tables.small_table import PROGRAMS, write_run

NOISY = ("links.fast.jitter=5ms", "links.slow.jitter=5ms", "ncp.transfer=1.5MiB", "ncp.send_window=1MiB")
"""Jitter by the seed: no two runs are alike, as on real packets."""

SIMULATOR = engines.named("sim")


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    return tmp_path


def compare(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["run.sh", "compare", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.nightly  # 90 runs
def test_a_wrong_constant_is_called_worse_and_the_same_code_is_not(tmp_path: Path) -> None:
    """Over ten pairs of three runs each; no two groups share a seed."""
    sources = tmp_path / "sources"
    for part in ("internal", "ncp-agent", "collectors"):
        shutil.copytree(paths.CHECKOUT / part, sources / part, ignore=shutil.ignore_patterns("*_test.go"))
    for file in ("go.mod", "go.sum"):
        shutil.copy(paths.CHECKOUT / file, sources / file)
    rule = sources / "ncp-agent" / "policy" / "nkp24.go"
    text = rule.read_text()
    assert text.count("p.windows[c]++") == 1
    rule.write_text(text.replace("p.windows[c]++", "p.windows[c] += 0.5"))

    pairs, runs = 10, 3
    loaded = load("startup", NOISY)

    def make(name: str, made: Programs, seeds: int) -> Group:
        request = TableRequest(seeds, engine="sim")
        _, groups = run({name: (loaded, made)}, request, tmp_path / "runs" / name, Progress(), (), 0.95)
        return groups[name]

    twice = make("good", programs(None, SIMULATOR, Progress()), 2 * pairs * runs)
    # Its seeds are those of the first half, and are compared with the second.
    regressed = make("wrong", of_sources(sources, SIMULATOR), pairs * runs)

    for pair in range(pairs):
        of = slice(pair * runs, (pair + 1) * runs)
        again = Group(name="again", runs=twice.runs[: pairs * runs][of])
        base = Group(name="base", runs=twice.runs[pairs * runs :][of])
        same = differences(base, [again], 0.95)
        assert conclusion(same) == "no difference shown", same
        worse = differences(base, [Group(name="wrong", runs=regressed.runs[of])], 0.95)
        assert conclusion(worse) == "worse", worse
        assert "law_error" in [d.figure for d in worse if d.direction == "worse"]


def test_policies_side_by_side(own_place, monkeypatch, capsys) -> None:
    code = compare(
        monkeypatch, "--scenario", "startup", "--quick", "--repeat", "3", "old:policy=previous", "new:policy=nkp24"
    )
    out = capsys.readouterr().out
    assert code == 0, out
    assert out.splitlines()[-1].startswith("BETTER new against old: goodput_mib_s +")
    folder = own_place / "results" / "compare" / "latest"
    document = json.loads((folder / "compare.json").read_text())
    assert [group["name"] for group in document["groups"]] == ["old", "new"]
    words = {d["figure"]: d["direction"] for d in document["differences"]}
    assert words["settled_s"] == words["goodput_mib_s"] == "better"
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 5
    assert "Goodput of old and new: means of up to 3 runs of each, and their range." in page
    # The same runs again, from their folders.
    runs = folder.resolve() / "cells"
    assert compare(monkeypatch, str(runs / "new"), str(runs / "old")) == 1
    again = capsys.readouterr().out.splitlines()[-1]
    assert again.startswith("WORSE old against new: ")
    assert "goodput_mib_s" in again


def test_a_commit_s_agent_is_built_from_the_commit(own_place, monkeypatch, capsys) -> None:
    if not (paths.CHECKOUT / ".git").exists():
        pytest.skip("this checkout has no history")
    head = ("--scenario", "startup", "--set", "ncp.transfer=1MiB", "--seeds", "3")
    assert compare(monkeypatch, *head, "--commit", "HEAD", "--commit", ".") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "NO DIFFERENCE SHOWN . against HEAD: goodput_mib_s 0 (exact)"
    assert compare(monkeypatch, *head, "--commit", "no-such", "--commit", ".") == 2
    assert "'no-such': this checkout has no such commit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "at least two groups"),
        (["--scenario", "startup", "base:"], "at least two groups"),
        (["--scenario", "startup", "a:policy=nkp24", "a:policy=previous"], "two groups are named 'a'"),
        (["--scenario", "startup", "a:", "b:policy"], "'policy' should be KEY=VALUE"),
        (["--scenario", "startup", "a:", "b:policy=reno"], "no policy 'reno'"),
        (["--scenario", "startup", "a:", "b:nonsense=1"], "nonsense"),
        (["--group", "a=/no/such", "--group", "b=/no/such"], "/no/such: there is no result folder"),
        (["--commit", "a", "--commit", "b"], "--commit needs --scenario"),
    ],
)
def test_bad_input_is_told_before_anything_is_made(own_place, monkeypatch, capsys, arguments, message) -> None:
    assert compare(monkeypatch, *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (own_place / "results").exists()


def test_what_the_arguments_mean() -> None:
    assert variant("startup:policy=nkp24", "")[1].scenario == "startup"
    name, found = variant("new:policy=nkp24,ncp.initial_windows=[1,2048],commit=main", "startup")
    assert (name, found.scenario, found.commit) == ("new", "startup", "main")
    assert found.assignments == ("policy=nkp24", "ncp.initial_windows=[1,2048]")
    assert named_places("old=results/a,results/b") == ("old", ["results/a", "results/b"])
    with raises(BadInput, "compare.bad-group"):
        named_places("results/a")
    with raises(BadInput, "compare.no-result"):
        recorded("x", ["no/*/where"])


def test_on_real_packets_a_late_run_is_made_again_and_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["untrusted", "pass"]

    def carry_out(run: Run, *_: object) -> None:
        write_run(run.folder.parent, run.folder.name, words.pop(0))
        (run.folder / "plan.json").write_text("{}")

    counted: list[Path] = []

    def read_run(folder: Path, _case: str = "", home: Path | None = None) -> better.Run:
        counted.append(folder)
        return better.Run(
            folder=str(folder),
            case="startup",
            seed=1,
            trusted=True,
            standing=Status.PASS,
            figures={},
            never=[],
            without_figures="",
        )

    monkeypatch.setattr("testbed.study.cell.carry_out", carry_out)
    monkeypatch.setattr(ScenarioCell, "unsupported", "")
    monkeypatch.setattr("testbed.study.kinds.compare.read_run", read_run)
    request = TableRequest(1, runtime="process", engine="mininet")
    folder, _ = run({"new": (load("startup"), PROGRAMS)}, request, tmp_path, Progress(), (), 0.95)
    assert not words
    assert len(list((folder / "cells" / "new" / "1").iterdir())) == 2
    (counts,) = counted
    assert read_verdict(counts).verdict == "pass"
    # Whoever compares the folder later has that one, too.
    recorded("again", [str(folder / "cells" / "new")])
    assert counted == [counts, counts]
