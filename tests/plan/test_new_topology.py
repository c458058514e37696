"""The page's new topology, put in place from the page: one file and one line, in a copy of the testbed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from testbed import paths
from testbed.machine import build
from tests.worked_example import code, section

SCENARIO = """
name: mine
title: Two connections share a link
topology: neck
links:
  - {name: shared, rate: 512pps, delay: 5ms}
  - {name: in-1, rate: 1024pps, delay: 5ms}
  - {name: out-1, rate: 1024pps, delay: 5ms}
  - {name: in-2, rate: 1024pps, delay: 5ms}
  - {name: out-2, rate: 1024pps, delay: 5ms}
ncp: {policy: nkp24, transfer: 256KiB, send_window: 64KiB}
checks:
  - {name: payload, judge: payload_intact}
"""

Testbed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Testbed:
    build.build_programs()
    folder = tmp_path_factory.mktemp("neck")
    copy = folder / "checkout"
    copy.mkdir()
    for entry in paths.CHECKOUT.iterdir():
        if entry.name in ("testbed", "topologies"):
            shutil.copytree(entry, copy / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (copy / entry.name).symlink_to(entry)
    example = section("architecture.md", "Add a topology")
    (file,) = code(example, "python")
    (name,) = re.findall(r"its name, `(.*?)`", example)
    (copy / "topologies" / "shapes" / "neck.py").write_text(file)
    known = copy / "topologies" / "shapes" / "__init__.py"
    assert known.read_text().count("NAMES = (") == 1
    known.write_text(known.read_text().replace("NAMES = (", f"NAMES = ({name}, "))
    (folder / "mine.yaml").write_text(SCENARIO)
    own = {"RESULTS": str(folder), "STATE": str(folder / "state"), "INFLUX_PORT": "18086"}
    environment = {**os.environ, "PYTHONPATH": str(copy)} | {
        f"NCP_TESTBED_{name}": value for name, value in own.items()
    }

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "testbed", *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return call


def test_a_run_goes_over_it(testbed: Testbed) -> None:
    done = testbed("run", "mine.yaml", "--engine", "sim")
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_picture_has_the_routers_between(testbed: Testbed) -> None:
    done = testbed("graph", "mine.yaml", "--format", "mermaid")
    names = dict(re.findall(r'^  (n\d)\S+?"(\w+)<br/>', done.stdout, re.MULTILINE))
    ends = re.findall(r"^  (n\d) ---.*\| (n\d)$", done.stdout, re.MULTILINE)
    way = [("h1", "r1"), ("r2", "h2")]
    assert [(names[a], names[b]) for a, b in ends] == [("r1", "r2"), *way, *way]


def test_too_few_links_are_refused_in_words(testbed: Testbed) -> None:
    done = testbed("validate", "mine.yaml", "--set", "links=[{name: shared, rate: 512pps}]")
    assert done.returncode == 2
    assert "links: has 1; a neck has at least 3: the shared one, and two for each connection" in done.stderr
