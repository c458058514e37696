"""The page's new engine, put in place from the page: one file and one line."""

from pathlib import Path

import pytest

from testbed import engines
from testbed.engines.engine import Engine, Options
from testbed.plan import engines as facts
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from tests.worked_example import code, section


@pytest.fixture
def lossless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    file, line = code(section("architecture.md", "Add an engine"), "python")
    (tmp_path / "lossless").mkdir()
    (tmp_path / "lossless" / "engine.py").write_text(file)
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(tmp_path)])
    own = eval(line, {"EngineFacts": facts.EngineFacts})
    monkeypatch.setitem(facts.ENGINES, own.name, own)
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    return engines.named("lossless")


def test_it_runs_to_a_verdict(lossless: Engine, tmp_path: Path) -> None:
    loaded = load("startup", ["links.fast.loss=5%", "ncp.transfer=4MiB"], quick=True)
    run = lossless.ready_run(loaded, Options(quick=True), QuietProgress())
    assert run.plan["engine"] == "lossless"
    assert [link["loss"] for link in run.plan["links"]] == [0.0, 0.0]
    verdict = run.execute()
    assert run.folder.parent == tmp_path / "results" / "startup"
    assert verdict.trust.trusted
    receiver = (run.folder / "agents" / "s1-receiver.json").read_text()
    assert '"error": ""' in receiver


def test_it_is_one_of_them(lossless: Engine) -> None:
    assert lossless in engines.every()
    assert lossless.deterministic()
    assert facts.engine_of({"engine": "lossless"}).virtual_time
