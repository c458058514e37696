"""The main job on real parts: namespaces, containers, InfluxDB. What else of it there is to see is in tests/netem."""

import csv
import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.live import panels_without_data
from tests.emulation.conftest import ON_ANY_MACHINE, await_transfer, result_folder
from tests.emulation.points import points_of, series_of

pytestmark = pytest.mark.packets

SERIES_PER_RUN = 80
"""A ceiling for two connections over two links: a tag without bounds would go through it."""

Call = Callable[..., subprocess.CompletedProcess[str]]


def verdict_of(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    return document


def a_second_run_is_refused(run_sh: Call, tmp_path: Path) -> None:
    """While the first goes on."""
    second = run_sh("startup", NCP_TESTBED_RESULTS=str(tmp_path / "second"))
    assert second.returncode == 4
    assert "is running; two runs at once would disturb each other's links" in second.stderr
    assert not (tmp_path / "second").exists()


def test_startup_passes_beside_a_second_run_and_leaves_a_folder_that_can_be_checked(
    run_sh: Call, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(run_sh, "startup", "--quick", *ON_ANY_MACHINE)

        def is_on() -> None:
            assert not first.done(), first.result()

        await_transfer(tmp_path / "results", is_on)
        a_second_run_is_refused(run_sh, tmp_path)
        is_on()
        done = first.result()
    last = done.stdout.splitlines()[-1]
    folder = result_folder(tmp_path)
    assert (done.returncode, last) == (0, f"PASS startup {folder.name}"), done.stdout + done.stderr
    is_whole(folder, run_sh)


def is_whole(passed: Path, run_sh: Call) -> None:
    """The folder of a run that has passed can be checked, and keeps its secrets."""
    for name in (
        "plan.json",
        "scenario.yaml",
        "verdict.json",
        "telemetry.lp",
        "derived.lp",
        "windows.csv",
        "links.csv",
        "report.html",
        "provenance.json",
        "agents/s1-sender.json",
        "agents/s1-receiver.json",
        "logs",
        "plots",
    ):
        assert (passed / name).exists(), name
    assert not (passed / "spools").exists()

    sender, receiver = (json.loads((passed / f"agents/s1-{role}.json").read_text()) for role in ("sender", "receiver"))
    assert sender["sha256"] == receiver["sha256"]
    assert sender["bytes"] == receiver["bytes"] == 16 << 20

    with (passed / "links.csv").open() as file:
        links = list(csv.DictReader(file))
    assert {(row["link"], row["direction"]) for row in links} == {
        ("fast", "ab"),
        ("fast", "ba"),
        ("slow", "ab"),
        ("slow", "ba"),
    }

    # The same judgements over the file alone agree with those over the database.
    again = run_sh("verify", str(passed))
    assert again.returncode == 0, again.stdout
    assert again.stdout.splitlines()[-1] == f"CONFIRMED PASS startup {passed.name}"

    # The database holds as many points as the file, which is said in the verdict.
    stored = next(c for c in verdict_of(passed)["checks"] if c["judge"] == "points_stored")
    points = (passed / "telemetry.lp").read_text().count("\n")
    assert stored["figures"] == {"file_points": points, "database_points": points}
    assert points > 500

    assert_collected(passed)

    # What Grafana asks when the report's links are followed is there.
    assert panels_without_data("convergence", passed) == []
    assert panels_without_data("links", passed) == ["Rate of $link C"]  # its middle has no rate, its hosts have

    # No password of the database is in anything that a user would hand on.
    secrets = json.loads(Path("/var/lib/ncp-testbed/influxdb/credentials.json").read_text())
    passwords = [login["password"] for login in secrets.values()] if "admin" in secrets else []
    assert passwords, "the credentials file is not as this test reads it"
    for path in passed.rglob("*"):
        if path.is_file():
            text = path.read_text(errors="replace")
            assert not any(password in text for password in passwords), path

    # A number that is changed afterwards is found.
    telemetry = passed / "telemetry.lp"
    telemetry.write_text(telemetry.read_text().replace("role=sender,", "role=sender2,"))
    again = run_sh("verify", str(passed))
    assert again.returncode == 1
    assert "NOT CONFIRMED" in again.stdout


def assert_collected(folder: Path) -> None:
    """Every collector did its part, and the run's tags are of bounded number."""
    points = points_of(folder)
    series = series_of(points)
    assert len(series) < SERIES_PER_RUN, sorted(series)
    queue = [
        point["fields"]
        for point in points
        if point["measurement"] == "qdisc"
        and point["tags"]["interface"] == "h1-eth1"
        and point["tags"]["handle"] == "10:"
    ]
    # The sender is held back by its own egress: the queue there is filled, and drops nothing.
    assert max(fields["backlog_packets"] for fields in queue) > 50
    assert {fields["drops"] for fields in queue} == {0}
    sent = [
        point["fields"]["sent_bytes"]
        for point in points
        if point["measurement"] == "interface" and point["tags"]["host"] == "h1"
    ]
    assert max(sent) > 10 << 20
    sockets = [
        point for point in points if point["measurement"] == "socket_queue" and point["tags"]["role"] == "sender"
    ]
    assert {point["tags"]["flow"] for point in sockets} == {"s1-1", "s1-2"}
    assert max(point["fields"]["send_queue_bytes"] for point in sockets) > 50_000
    cost = json.loads((folder / "provenance.json").read_text())["collectors"]
    assert set(cost) == {"interfaces", "sockets", "host"}
    for name, told in cost.items():
        assert told["samples"] > 50, name
        assert told.get("errors", 0) == 0, name
        assert 0 < told["cpu_s"] < told["duration_s"], name
