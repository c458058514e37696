"""Whole runs over topologies beyond parallel links."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = pytest.mark.emulation

Call = Callable[..., subprocess.CompletedProcess[str]]


def run_to_a_pass(run_sh: Call, tmp_path: Path, scenario: str, *arguments: str) -> Path:
    """The folder of a run in processes, whose checks all hold."""
    done = run_sh(scenario, "--quick", "--runtime", "process", *arguments, *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    return result_folder(tmp_path, scenario)


def test_relays_forward_on_paths_of_their_own(run_sh: Call, tmp_path: Path) -> None:
    folder = run_to_a_pass(run_sh, tmp_path, "relays")
    with (folder / "links.csv").open() as file:
        measured = {row["link"] for row in csv.DictReader(file)}
    assert measured == {"fast-1", "fast-2", "slow-1", "slow-2"}
    sender = json.loads((folder / "agents" / "h1.json").read_text())
    provenance = json.loads((folder / "provenance.json").read_text())
    sent = {(q["host"], q["dev"]): q["packets"] for q in provenance["qdiscs_after"] if q["kind"] == "tbf"}
    for number, connection in enumerate(sender["connections"], start=1):
        # Its own relay passed on what a connection sent; beside that there is only the calibration.
        forwarded = sent[f"r{number}", f"r{number}-eth{2 * number}"]
        assert connection["acked"] <= forwarded <= 1.3 * connection["sent"]
