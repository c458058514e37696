"""What each check measured is compared, beside whether it held."""

import json
import shutil
from pathlib import Path

import pytest

from testbed.cli.app import main
from testbed.study.checks.better import figure_of, is_of_check
from testbed.study.kinds.compare import read_run
from tests.bundle.made import verify_folder

SETTLES, RATIO = "windows in the ratio of the links", "final window ratio"


def compare(*arguments: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["run.sh", "compare", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two groups of three runs in virtual time, which are the same."""
    place = tmp_path_factory.mktemp("honest")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(place))
        patch.setenv("NCP_TESTBED_STATE", str(place / "state"))
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
        assert compare("--scenario", "startup", "--quick", "--seeds", "3", "base:", "same:") == 0
    return (place / "compare" / "latest" / "cells").resolve()


def sabotaged(honest: Path, place: Path, check: str, value: float | str, status: str = "pass") -> Path:
    """The second group, where a check has measured something else."""
    shutil.copytree(honest / "same", place / "new", symlinks=True)
    for file in (place / "new").glob("*/*-*/verdict.json"):
        document = json.loads(file.read_text())
        (found,) = (entry for entry in document["checks"] if entry["name"] == check)
        assert found["status"] == "pass"
        found |= {"measured": value, "status": status}
        file.write_text(json.dumps(document))
    return place / "new"


@pytest.mark.parametrize(
    ("check", "value", "code", "word"),
    [
        (SETTLES, 11.9, 1, "worse"),  # requested: at most 12 s
        (SETTLES, 0.3, 0, "better"),
        (RATIO, 8.99, 0, "differs"),  # requested: 7 to 9
    ],
)
def test_a_check_that_measures_otherwise_and_still_holds_is_seen(
    honest, tmp_path, monkeypatch, capsys, check, value, code, word
) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    groups = str(honest / "base"), str(sabotaged(honest, tmp_path, check, value))
    of_check = next(name for name in figures_of(honest) if name.endswith(check))
    assert compare(*groups, "--figures", of_check) == code
    capsys.readouterr()
    assert compare(*groups) == 0, "the goodput is the same"
    out = capsys.readouterr().out
    document = json.loads((tmp_path / "results" / "compare" / "latest" / "compare.json").read_text())
    words = {d["figure"]: d["direction"] for d in document["differences"] if d["direction"] != "no difference shown"}
    assert {name.partition(": ")[2]: said for name, said in words.items()} == {check: word}
    (line,) = (line for line in out.splitlines() if check in line and "│" not in line and "against" not in line)
    assert line.rstrip().endswith(word)
    assert "holds in" not in out, "that it holds is the same in both"
    assert check in (tmp_path / "results" / "compare" / "latest" / "report.html").read_text()


def figures_of(honest: Path) -> dict[str, float]:
    return read_run(next((honest / "base").glob("*/*-*"))).figures


def test_checks_that_measure_the_same_are_not_told_of(honest, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    assert compare(str(honest / "base"), str(honest / "same")) == 0
    assert SETTLES not in capsys.readouterr().out


def test_what_a_check_never_reached_counts_as_long_as_was_looked(honest, tmp_path) -> None:
    run = next(sabotaged(honest, tmp_path, SETTLES, "never", "fail").glob("*/*-*"))
    name = f"settles: {SETTLES}"
    found = read_run(run)
    assert name in found.never
    assert found.figures[name] > figures_of(honest)[name]


def test_facts_and_checks_that_were_not_decided_are_no_figures(honest) -> None:
    of_checks = {name for name in figures_of(honest) if is_of_check(name)}
    beyond = "level: window beyond the old cap"
    assert of_checks == {f"settles: {SETTLES}", f"ratio: {RATIO}", "ratio: delivered ratio", beyond}
    assert figure_of(f"settles: {SETTLES}").better == "lower"
    assert figure_of("bulk: goodput_mib_s").better is None


def test_it_is_confirmed_by_whatever_path_it_is_named(honest) -> None:
    assert verify_folder(honest.parent.parent / "latest").differences == []
