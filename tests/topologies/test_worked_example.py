"""The page's new impairment, put in place from the page: one file and one line in each language, in a copy."""

import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import paths
from tests.worked_example import code, section

COPIED = ("internal", "ncp-agent", "schemas", "testbed", "topologies")
SCENARIO = """
name: mine
title: Every tenth packet is lost, and later none
links:
  - {name: fast, rate: 1024pps, delay: 50ms, skip_every: 10}
ncp: {policy: nkp24, transfer: 6MiB, send_window: 1MiB}
timeline:
  - {at: 3s, do: set, link: fast, skip_every: 0}
checks:
  - {name: payload, judge: payload_intact}
"""

Testbed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Testbed:
    folder = tmp_path_factory.mktemp("skip-every")
    copy = folder / "checkout"
    copy.mkdir()
    for entry in paths.CHECKOUT.iterdir():
        if entry.name in COPIED:
            shutil.copytree(entry, copy / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.name != ".build":
            (copy / entry.name).symlink_to(entry)
    example = section("architecture.md", "Add an impairment")
    (go,), (python,) = (code(example, language) for language in ("go", "python"))
    (field,), (name,) = (re.findall(rf"{before} `(.*?)`", example) for before in ("the line", "its name,"))
    (copy / "internal" / "linkmodel" / "skipping.go").write_text(go)
    insert(copy / "internal" / "linkmodel" / "impairments.go", "type Impairments struct {\n", f"\t{field}\n")
    impairments = copy / "topologies" / "impairments"
    (impairments / "skip_every.py").write_text(python)
    insert(impairments / "__init__.py", "NAMES = (", f"{name}, ")
    (folder / "mine.yaml").write_text(SCENARIO)
    own = {"STATE": str(folder / "state"), "INFLUX_PORT": "18086"}
    environment = {**os.environ, "PYTHONPATH": str(copy)} | {
        f"NCP_TESTBED_{name}": value for name, value in own.items()
    }

    def call(*arguments: str, results: Path = folder) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        environment["NCP_TESTBED_RESULTS"] = str(results)
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return call


def insert(file: Path, after: str, line: str) -> None:
    text = file.read_text()
    assert text.count(after) == 1
    file.write_text(text.replace(after, after + line))


def losses(telemetry: str, field: str) -> list[tuple[float, float]]:
    """When, in seconds since the transfer's start, and which share was lost on the way to the receiver."""
    start_ns = int(re.findall(r"^event,kind=transfer_start,.* (\d+)$", telemetry, re.MULTILINE)[0])
    points = re.findall(rf"^link,direction=ab,.*[ ,]{field}=([\d.e-]+),.* (\d+)$", telemetry, re.MULTILINE)
    return [((int(at_ns) - start_ns) / 1e9, float(share)) for share, at_ns in points]


def test_it_is_seen_in_a_run_and_can_be_taken_away(testbed: Testbed, tmp_path: Path) -> None:
    done = testbed("-m", "testbed", "run", "mine.yaml", "--engine", "sim", results=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    telemetry = (tmp_path / "mine" / "latest" / "telemetry.lp").read_text()
    told, found = losses(telemetry, "loss"), losses(telemetry, "achieved_loss")
    assert {share for at_s, share in told if 0 < at_s < 3} == {0.1}
    assert {share for at_s, share in told if at_s > 3.1} == {0.0}
    assert statistics.fmean(share for at_s, share in found if 0.5 < at_s < 3) == pytest.approx(0.1, abs=0.005)
    assert {share for at_s, share in found if at_s > 3.5} == {0.0}


def test_what_it_can_not_do_is_refused_in_words(testbed: Testbed) -> None:
    done = testbed("-m", "testbed", "validate", "mine.yaml", "--set", "links.fast.skip_every=-1")
    assert done.returncode == 2
    assert "links.fast.skip_every: -1 is not right" in done.stderr


def test_netem_refuses_it(testbed: Testbed) -> None:
    ask = """from topologies.capabilities import refusals
from topologies.link import resolve_link
from topologies.units import Rate
print(*refusals([resolve_link(1, "fast", "h1", "h2", Rate(bps=1e6), impairments={"skip_every": 10})], "netem"))"""
    done = testbed("-c", ask)
    assert done.stdout == "link 'fast': skip_every: netem can't do that; use --link relay for this scenario\n"
