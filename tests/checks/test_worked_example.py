"""The page's new check, put in place from the page: one file and one line, in a copy of the testbed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import paths
from testbed.machine import build
from tests.worked_example import code, section

SCENARIO = (paths.CHECKOUT / "scenarios" / "startup.yaml").read_text()

Testbed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def testbed(tmp_path: Path) -> Testbed:
    build.build_programs()
    copy = tmp_path / "checkout"
    copy.mkdir()
    for entry in paths.CHECKOUT.iterdir():
        if entry.name != "testbed":
            (copy / entry.name).symlink_to(entry)
    shutil.copytree(paths.CHECKOUT / "testbed", copy / "testbed", ignore=shutil.ignore_patterns("__pycache__"))
    example = section("architecture.md", "Add a check")
    (file,) = code(example, "python")
    (line,) = re.findall(r"the line `(.*?)`", example)
    (copy / "testbed" / "judge" / "checks" / "few_resends.py").write_text(file)
    registry = copy / "testbed" / "judge" / "checks" / "registry.py"
    registry.write_text(registry.read_text().replace("CLASSES = (\n", f"CLASSES = (\n    {line}\n"))
    own = {"RESULTS": str(tmp_path / "results"), "STATE": str(tmp_path / "state"), "INFLUX_PORT": "18086"}
    environment = {**os.environ, "PYTHONPATH": str(copy)} | {
        f"NCP_TESTBED_{name}": value for name, value in own.items()
    }

    def call(*arguments: str, most: str, links: str) -> subprocess.CompletedProcess[str]:
        asked = f"checks:\n  - {{name: few resends, judge: few_resends, max: {most}}}"
        head = SCENARIO.split("checks:\n")[0].replace("rate: 1024pps,", f"rate: 1024pps, {links}")
        (tmp_path / "mine.yaml").write_text(head.replace("name: startup", "name: mine") + asked)
        command = [sys.executable, "-m", "testbed", arguments[0], str(tmp_path / "mine.yaml"), *arguments[1:]]
        return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)

    return call


@pytest.mark.runs
@pytest.mark.parametrize(("links", "code", "status"), [("", 0, "pass"), ("loss: 5%,", 1, "fail")])
def test_it_judges_a_run(testbed: Testbed, tmp_path: Path, links: str, code: int, status: str) -> None:
    done = testbed("run", "--engine", "sim", "--set", "ncp.transfer=2MiB", most="0.01", links=links)
    assert done.returncode == code, done.stderr
    verdict = json.loads((tmp_path / "results" / "mine" / "latest" / "verdict.json").read_text())
    [check] = verdict["checks"]
    assert (check["judge"], check["status"]) == ("few_resends", status)
    assert (check["measured"] > 0.01) == (status == "fail")


def test_a_wrong_value_of_it_is_refused_in_words(testbed: Testbed) -> None:
    done = testbed("validate", most="1%", links="")
    assert done.returncode == 2
    assert "checks.few resends.max: '1%' is not right" in done.stderr
