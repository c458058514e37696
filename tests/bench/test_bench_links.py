"""The benchmark as a user starts it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from testbed import paths

RUN_SH = str(paths.CHECKOUT / "run.sh")


def bench(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "NCP_TESTBED_RESULTS": str(tmp_path / "results"),
        "NCP_TESTBED_RUN": str(tmp_path / "run"),
        "NCP_TESTBED_NO_SETUP": "1",
        "CARGO_HOME": str(tmp_path),  # peers are not what is tested here
    }
    return subprocess.run(
        [RUN_SH, "bench", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(("arguments", "named"), [(["links", "--only", "rtt,jam"], "jam"), (["cars"], "cars")])
def test_what_there_is_not_to_measure_is_said(tmp_path: Path, arguments: list[str], named: str) -> None:
    done = bench(tmp_path, *arguments)
    assert done.returncode == 2
    assert named in done.stderr


@pytest.mark.packets
def test_losses_are_measured_and_written(tmp_path: Path) -> None:
    done = bench(tmp_path, "links", "--quick", "--only", "loss")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS bench-links" in done.stdout.splitlines()[-1]
    folder = tmp_path / "results" / "bench-links" / "latest"
    document = json.loads((folder / "bench.json").read_text())
    (section,) = document["sections"]
    assert section["name"] == "loss"
    assert set(section["raw"]) == {"0.1%", "1.0%", "10.0%"}
    assert all(len(lost["ncp-testbed"]) == 1 for lost in section["raw"].values())
    assert "| 10.0% | ncp-testbed |" in (folder / "bench.md").read_text()
