"""The simulator on other systems and processors: it builds, and gives the same bytes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from testbed import paths
from testbed.machine import build

pytestmark = pytest.mark.nightly  # compiling all for another processor takes a minute
PLAN = paths.CHECKOUT / "ncp-agent" / "virtual" / "testdata" / "plan.json"
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")


def built_for(system: str, processor: str, into: Path) -> Path:
    program = into / f"ncp-sim-{system}-{processor}"
    environment = {**os.environ, "GOOS": system, "GOARCH": processor, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    command = [build.go_tool(), "build", *build.FLAGS, "-o", str(program), build.PROGRAMS["ncp-sim"]]
    subprocess.run(command, cwd=paths.CHECKOUT, env=environment, check=True)
    return program


def test_builds_for_macos(tmp_path: Path) -> None:
    assert built_for("darwin", "arm64", tmp_path).stat().st_size > 1 << 20


def test_no_sum_is_fused_for_arm64(tmp_path: Path) -> None:
    """That would round once instead of twice. The standard library's exponential is written so, in assembler."""
    program = str(built_for("linux", "arm64", tmp_path))
    command = [build.go_tool(), "tool", "objdump", "-s", r"^(ncp-testbed/|math\.)", program]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    compiled = [line for line in said.splitlines() if ".go:" in line]
    assert any("FMULD" in line for line in compiled)
    assert [line for line in compiled if re.search(r"\bFN?M(ADD|SUB)[DS]\b", line)] == []


@pytest.mark.skipif(QEMU is None, reason="qemu-aarch64 is not installed")
def test_arm64_gives_the_same_bytes(tmp_path: Path) -> None:
    here = build.build_programs("ncp-sim")["ncp-sim"]
    arm = [str(QEMU), str(built_for("linux", "arm64", tmp_path))]
    for policy in build.policy_facts(here):
        plan = json.loads(PLAN.read_text())
        for session in plan["sessions"]:
            session["policy"] = policy
        for link in plan["links"]:
            link.update(loss=0.02, jitter_ms=5)
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(plan))
        found = []
        for name, program in {"here": [str(here)], "arm": arm}.items():
            folder = tmp_path / name / policy
            folder.mkdir(parents=True)
            subprocess.run([*program, "--plan", str(file), "--dir", str(folder)], check=True)
            found.append((folder / "telemetry.lp").read_bytes())
        assert found[0] == found[1], policy
    overlays = []
    for name, program in {"here": [str(here)], "arm": arm}.items():
        subprocess.run([*program, "overlay", "--sessions", "2", "--dir", str(tmp_path / name)], check=True)
        overlays.append(json.loads((tmp_path / name / "overlay.json").read_text()))
        del overlays[-1]["cost"]
    assert overlays[0] == overlays[1]
