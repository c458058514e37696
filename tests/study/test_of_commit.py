"""A commit's end points that come from another machine are built where they are missing."""

from pathlib import Path
from typing import Any

import pytest

from testbed.errors import CannotRun
from testbed.judge.history import git
from testbed.machine import build
from testbed.runtime.progress import QuietProgress
from testbed.study import programs
from testbed.study.cell import ScenarioCell
from testbed.study.programs import OfCommit
from tests.raises import raises


def arrived(binary: Path, commit: str) -> None:
    programs.build_missing(OfCommit({"ncp-sim": binary}, {}, b"", commit))


def test_only_what_is_missing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    monkeypatch.setattr(programs, "COMMITS", tmp_path / "commits")
    monkeypatch.setattr(build, "build_programs", lambda *names, **places: built.append((names, places)))
    there = tmp_path / "ncp-sim"
    there.touch()
    commit = git("rev-parse", "HEAD").stdout.decode().strip()
    arrived(there, commit)
    assert not built
    arrived(tmp_path / "gone", commit)
    sources = tmp_path / "commits" / commit[:16]
    assert built == [(("ncp-sim",), {"source": sources, "into": sources / ".build" / "bin"})]
    assert (sources / "run.sh").is_file()


def test_a_commit_that_is_not_here_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "COMMITS", tmp_path / "commits")
    with raises(CannotRun, "commit.not-here", commit="012345678901"):
        arrived(tmp_path / "gone", "0123456789" * 4)


def test_a_cell_has_them_built_before_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "COMMITS", tmp_path / "commits")
    lacking = OfCommit({"ncp-sim": tmp_path / "gone"}, {}, b"", "0123456789" * 4)
    nothing: Any = None
    with raises(CannotRun, "commit.not-here"):
        ScenarioCell({"only": "one"}, nothing, nothing, lacking).run(tmp_path, QuietProgress())
