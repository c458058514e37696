"""A folder of ten thousand results: every verb that looks at results answers as it does with one."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from testbed import paths

RUNS = int(os.environ.get("NCP_TESTBED_MANY_RUNS", "10000"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    own = {"RESULTS": "results", "STATE": "state", "RUN": "live"}
    return {
        **os.environ,
        **{f"NCP_TESTBED_{name}": str(tmp_path / folder) for name, folder in own.items()},
        "NCP_TESTBED_INFLUX_PORT": "18086",
        "NCP_TESTBED_NO_SETUP": "1",
    }


def said(environment: dict[str, str], *arguments: str) -> str:
    """What a command says; it must end with 0. Its seconds are printed."""
    begun = time.monotonic()
    done = subprocess.run(
        [str(paths.CHECKOUT / "run.sh"), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{time.monotonic() - begun:6.1f} s  {' '.join(arguments)}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def add_copies(run: Path, number: int) -> None:
    """So many runs more beside a run, with the same files."""
    files = [path.relative_to(run) for path in run.rglob("*") if path.is_file()]
    folders = [path.relative_to(run) for path in run.rglob("*") if path.is_dir()]
    for i in range(number):
        copy = run.parent / f"20250101-{i:06d}-{i:04x}"
        for folder in (Path(), *folders):
            (copy / folder).mkdir()
        for file in files:
            (copy / file).hardlink_to(run / file)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_ten_thousand_results(tmp_path: Path, environment: dict[str, str]) -> None:
    run = ["startup", "--engine", "sim", "--quick"]
    said(environment, *run)
    latest = (tmp_path / "results" / "startup" / "latest").resolve()

    def every_verb() -> list[list[str]]:
        """The last line of each, whose words don't change; a run's own name may."""
        bundle = tmp_path / "bundle.zip"
        bundle.unlink(missing_ok=True)
        said_by = [
            said(environment, *arguments).splitlines()[-1]
            for arguments in (
                ["list"],
                run,
                ["verify", str(latest)],
                ["report", str(latest)],
                ["bundle", str(latest), "--output", str(bundle)],
                ["verify", str(bundle)],
                ["all", "--engine", "sim", "--quick", "--only", "nkp24-startup-law"],
            )
        ]
        return [[word for word in line.split() if not word[:8].isdigit()] for line in said_by]

    before = every_verb()
    begun = time.monotonic()
    add_copies(latest, RUNS)
    print(f"{RUNS} results, made in {time.monotonic() - begun:.0f} s")
    assert every_verb() == before
