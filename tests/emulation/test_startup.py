"""The main job on real parts: namespaces, containers, InfluxDB."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = pytest.mark.emulation

Call = Callable[..., subprocess.CompletedProcess[str]]


def verdict_of(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    return document


@pytest.fixture
def passed(run_sh: Call, tmp_path: Path) -> Path:
    """The result folder of a quick run of ``startup`` in containers."""
    done = run_sh("startup", "--quick", *ON_ANY_MACHINE)
    last = done.stdout.splitlines()[-1]
    folder = result_folder(tmp_path)
    assert (done.returncode, last) == (0, f"PASS startup {folder.name}"), done.stdout + done.stderr
    return folder


def test_startup_passes_and_leaves_a_folder_that_can_be_checked(passed: Path, run_sh: Call) -> None:
    for name in (
        "plan.json", "scenario.yaml", "verdict.json", "telemetry.lp", "derived.lp", "windows.csv", "links.csv",
        "report.html", "provenance.json", "agents/h1.json", "agents/h2.json", "logs", "plots",
    ):  # fmt: skip
        assert (passed / name).exists(), name
    assert not (passed / "spools").exists()

    sender, receiver = (json.loads((passed / f"agents/{host}.json").read_text()) for host in ("h1", "h2"))
    assert sender["sha256"] == receiver["sha256"]
    assert sender["bytes"] == receiver["bytes"] == 16 << 20

    with (passed / "links.csv").open() as file:
        links = list(csv.DictReader(file))
    assert {(row["link"], row["direction"]) for row in links} == {
        ("fast", "ab"), ("fast", "ba"), ("slow", "ab"), ("slow", "ba"),
    }  # fmt: skip

    # The same judgements over the file alone agree with those over the database.
    again = run_sh("verify", str(passed))
    assert again.returncode == 0, again.stdout
    assert again.stdout.splitlines()[-1] == f"CONFIRMED PASS startup {passed.name}"

    # The database holds as many points as the file, which is said in the verdict.
    stored = next(c for c in verdict_of(passed)["checks"] if c["judge"] == "points_stored")
    points = (passed / "telemetry.lp").read_text().count("\n")
    assert stored["figures"] == {"file_points": points, "database_points": points}
    assert points > 500

    # No password of the database is in anything that a user would hand on.
    secrets = json.loads(Path("/var/lib/ncp-testbed/influxdb/credentials.json").read_text())
    passwords = [login["password"] for login in secrets.values()] if "admin" in secrets else []
    assert passwords, "the credentials file is not as this test reads it"
    for path in passed.rglob("*"):
        if path.is_file():
            text = path.read_text(errors="replace")
            assert not any(password in text for password in passwords), path


def test_a_changed_number_is_found_by_verify(passed: Path, run_sh: Call) -> None:
    telemetry = passed / "telemetry.lp"
    telemetry.write_text(telemetry.read_text().replace("role=sender,", "role=sender2,"))
    again = run_sh("verify", str(passed))
    assert again.returncode == 1
    assert "NOT CONFIRMED" in again.stdout


def test_the_previous_policy_fails_and_says_why(run_sh: Call, tmp_path: Path) -> None:
    done = run_sh("startup", "--quick", "--set", "policy=previous", "--runtime", "process", *ON_ANY_MACHINE)
    folder = result_folder(tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, f"FAIL startup {folder.name}"), done.stderr
    verdict = verdict_of(folder)
    assert verdict["policy"] == "previous"
    status = {check["name"]: check for check in verdict["checks"]}
    assert status["windows follow the law"]["status"] == "fail"
    ratio = status["final window ratio"]
    assert ratio["status"] == "fail"
    assert ratio["measured"] == pytest.approx(1.0, abs=0.01)
    assert "256" in ratio["reason"]
    assert status["payload"]["status"] == "pass"
    assert status["database"]["status"] == "pass"
