"""The study that docs/architecture.md shows, run from its text."""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.cli import app
from testbed.engines.engine import Options
from testbed.errors import BadInput
from tests.raises import raises
from tests.worked_example import code, section

SETTINGS = ("links.fast.jitter=5ms", "links.slow.jitter=5ms", "ncp.transfer=1MiB")
"""Jitter by the seed, so that no two runs are alike."""


@pytest.fixture
def seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    file, line = code(section("architecture.md", "Add a study"), "python")
    (tmp_path / "seeds.py").write_text(file)
    monkeypatch.syspath_prepend(str(tmp_path))  # where runs side by side find it, too
    found = importlib.import_module("seeds")
    monkeypatch.setitem(sys.modules, "testbed.cli.seeds", found)
    for verb, module in eval(f"{{{line}}}").items():
        monkeypatch.setitem(app.VERBS, verb, module)
    return found


def test_it_makes_its_runs_goes_on_and_is_refused_for_another_question(
    seeds: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ("sim", Options(quick=True))
    word, folder = seeds.run("startup", SETTINGS, [3, 4], *how)
    found = json.loads((folder / "goodput.json").read_text())
    assert list(found) == ["3", "4"]
    assert found["3"] != found["4"]
    assert word == ("pass" if abs(found["4"] / found["3"] - 1) < 0.01 else "fail")
    assert (folder.parent / "latest").resolve() == folder
    runs = {path.relative_to(folder).parts[:2] for path in folder.glob("cells/*/sim-*/verdict.json")}
    assert runs == {("cells", "3"), ("cells", "4")}

    capsys.readouterr()
    assert seeds.run("startup", SETTINGS, [3, 4], *how, resume="latest") == (word, folder)
    assert "2 of 2 runs are finished already, and kept" in capsys.readouterr().err
    with raises(BadInput, "resume.other-options", key="seeds", before="[3, 4]", value="[3, 5]"):
        seeds.run("startup", SETTINGS, [3, 5], *how, resume="latest")


def test_its_verb(seeds: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.carry_out(["seeds", "startup", "--quick", *(f"--set={setting}" for setting in SETTINGS)]) in (0, 1)
    assert re.fullmatch(r"(PASS|FAIL) seeds \S+", capsys.readouterr().out.splitlines()[-1])
    with raises(BadInput, "scenario.not-found", kind="scenario", name="start-up"):
        app.carry_out(["seeds", "start-up"])


@pytest.mark.parametrize(
    ("found", "word"), [({3: 1.0, 4: 1.005}, "pass"), ({3: 1.0, 4: 1.02}, "fail"), ({3: 1.0}, "fail")]
)
def test_what_is_off_or_missing_fails(seeds: Any, found: dict[int, float], word: str) -> None:
    assert seeds.judged([3, 4], found) == word
