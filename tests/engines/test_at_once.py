"""Several runs begun at once on one checkout: none sees what another has half done."""

import fcntl
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.engines import virtual_run
from testbed.errors import CannotRun
from testbed.machine import build
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from tests.raises import raises
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
    with raises(CannotRun, "run.made-elsewhere"):
        run.execute()
    assert (run.folder / "telemetry.lp").read_text() == "the other's"
    os.close(held)
    run.without_database(None)
    assert "kind=transfer_end" in (run.folder / "telemetry.lp").read_text()


def test_repetitions_that_store_at_once_count_their_own_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = prepare(load("startup", ["ncp.transfer=1MiB"]), Progress(), seed=None, quick=False).plan
    stored: list[str] = []

    class Slow:
        def __init__(self, *_: Any) -> None:
            pass

        def __enter__(self) -> "Slow":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def delete_run(self, _: str) -> None:
            stored.clear()

        def write(self, lines: Iterable[str], *_: str) -> None:
            for line in lines:
                stored.append(line)
                time.sleep(0.01)

    telemetry = tmp_path / "telemetry.lp"
    telemetry.write_text("".join(f"m v=1 {at}\n" for at in range(20)))
    for name, stand_in in {
        "Client": Slow,
        "running": lambda: SimpleNamespace(url="here"),
        "FromInflux": lambda *_: SimpleNamespace(count_points=lambda: len(stored)),
    }.items():
        monkeypatch.setattr(virtual_run, name, stand_in)
    with ThreadPoolExecutor(2) as both:
        counts = list(both.map(lambda _: virtual_run.Database(plan, telemetry).store(), range(2)))
    assert counts == [20, 20]
