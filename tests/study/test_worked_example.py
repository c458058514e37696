"""The judgement over many runs that docs/studies.md shows, run from its text."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.engines import Options
from testbed.errors import BadInput

SETTINGS = ("links.fast.jitter=5ms", "links.slow.jitter=5ms", "ncp.transfer=1MiB")
"""Jitter by the seed, so that no two runs are alike."""


@pytest.fixture
def seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    (text,) = re.findall(r"```python\n(.*?)```", (paths.CHECKOUT / "docs" / "studies.md").read_text(), re.DOTALL)
    (tmp_path / "seeds_of_a_scenario.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))  # where runs side by side find it, too
    return importlib.import_module("seeds_of_a_scenario")


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
    with pytest.raises(BadInput, match=r"begun with another value of seeds \(\[3, 4\], not \[3, 5\]\)"):
        seeds.run("startup", SETTINGS, [3, 5], *how, resume="latest")


@pytest.mark.parametrize(
    ("found", "word"), [({3: 1.0, 4: 1.005}, "pass"), ({3: 1.0, 4: 1.02}, "fail"), ({3: 1.0}, "fail")]
)
def test_what_is_off_or_missing_fails(seeds: Any, found: dict[int, float], word: str) -> None:
    assert seeds.judged([3, 4], found) == word
