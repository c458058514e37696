"""Several runs begun at once on one checkout: none sees what another has half done."""

import fcntl
import os
from pathlib import Path

import pytest

from testbed import build
from testbed.errors import CannotRun
from testbed.runner.progress import Progress
from testbed.scenario.load import load
from tests.ready import simulated as prepare


def test_go_renames_what_it_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another file system it would copy, and a run could start half a program."""
    go = tmp_path / "go"
    go.write_text(f'#!/bin/sh\nprintf %s "$GOTMPDIR" >{tmp_path}/said\n')
    go.chmod(0o755)
    monkeypatch.setattr(build, "go_tool", lambda: str(go))
    monkeypatch.setenv("GOTMPDIR", "/dev/shm")
    build.build_programs("ncp-sim", into=tmp_path / "built" / "bin")
    scratch = Path((tmp_path / "said").read_text())
    assert scratch.is_dir()
    assert scratch.is_relative_to(tmp_path / "built")


def test_the_same_run_twice_at_once_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path))
    run = prepare(load("startup", ["ncp.transfer=1MiB"]), Progress(), seed=None, quick=False)
    run.folder.mkdir(parents=True)
    (run.folder / "telemetry.lp").write_text("the other's")
    held = os.open(run.folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(CannotRun, match="another process is making this very run"):
        run.execute()
    assert (run.folder / "telemetry.lp").read_text() == "the other's"
    os.close(held)
    run.without_database(None)
    assert "kind=transfer_end" in (run.folder / "telemetry.lp").read_text()
