"""What is written of the code that made a run, with git and without."""

import os
import subprocess
from pathlib import Path

import pytest

from testbed import engines, paths
from testbed.engines import provenance
from testbed.errors import CannotRun
from testbed.runtime.progress import Progress
from testbed.study.programs import programs
from tests.raises import raises


def test_a_checkout_has_its_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    of_git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    (tmp_path / "file").write_text("1")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*of_git, *command], check=True)
    clean = provenance.of_machine_and_code()
    assert len(clean["commit"]) == 40
    assert clean["uncommitted_changes"] is False
    (tmp_path / "file").write_text("2")
    assert provenance.of_machine_and_code()["uncommitted_changes"] is True


def test_files_without_a_repository_say_nothing_of_commits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paths, "CHECKOUT", tmp_path)
    facts = provenance.of_machine_and_code()
    assert (facts["commit"], facts["uncommitted_changes"]) == ("", None)


def test_without_git_a_run_goes_on_and_a_commit_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    facts = provenance.of_machine_and_code()
    assert (facts["commit"], facts["uncommitted_changes"]) == ("", None)
    with raises(CannotRun, "commit.no-git"):
        programs("HEAD", engines.named("sim"), Progress())
