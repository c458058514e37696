"""The benchmark of telemetry: its arithmetic, and its load on a real InfluxDB."""

import threading
import time
from pathlib import Path

import pytest

from testbed.judge.checks.result import Trust, Verdict
from testbed.lab import telemetry
from testbed.lab.telemetry import DATABASE, SERIES, Load, lines
from testbed.machine import build
from testbed.series import FromFile
from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import Endpoint

VERDICT = Verdict(
    scenario="bench-telemetry",
    run="r",
    verdict="pass",
    summary="",
    checks=[],
    trust=Trust(trusted=True),
    duration_s=40.0,
    policy="nkp24",
)
S = 1_000_000_000
BEGIN = 1_795_000_000 * S


def transfer(folder: Path, loaded_bps: float) -> FromFile:
    """A receiver's bytes over 40 s: 8 Mbit/s, and ``loaded_bps`` from 10 s to 25 s."""
    path, received = folder / "telemetry.lp", 0.0
    with path.open("w") as file:
        for tick in range(400):
            file.write(
                f"ncp_session,run=r,session=s1,role=receiver bytes={round(received)}i {BEGIN + tick * S // 10}\n"
            )
            received += (loaded_bps if 100 <= tick < 250 else 8e6) / 80
    return FromFile(path)


def loaded(**changed: int) -> Load:
    counts = {"written": 300_000, "pushed": 300_000, "rejected": 0, "stored": 300_000, **changed}
    return Load(
        **counts, lag_s=[0.1, 0.3, 0.2], cpu_s={"influxd": 3.75}, begun_ns=BEGIN + 10 * S, ended_ns=BEGIN + 25 * S
    )


@pytest.mark.parametrize(("loaded_bps", "met"), [(8e6, True), (7.95e6, True), (7.9e6, False), (0.0, False)])
def test_a_transfer_that_is_slowed_by_more_than_1_percent_is_seen(tmp_path: Path, loaded_bps: float, met: bool) -> None:
    made = telemetry.section(transfer(tmp_path, loaded_bps), loaded(), telemetry.QUICK, VERDICT)
    effect, points = made.targets
    assert effect.met is met
    assert points.met is True
    assert made.raw["effect"] == pytest.approx(1 - loaded_bps / 8e6, abs=0.002)
    assert "0.20 s old (median), at most 0.30 s" in made.notes[0]
    assert "influxd 25%" in made.notes[1]


@pytest.mark.parametrize("changed", [{"stored": 299_999}, {"pushed": 1}, {"written": 299_999}])
def test_points_that_did_not_arrive_are_a_target_missed(tmp_path: Path, changed: dict[str, int]) -> None:
    made = telemetry.section(transfer(tmp_path, 8e6), loaded(**changed), telemetry.QUICK, VERDICT)
    assert made.targets[1].met is False


def test_the_source_has_the_rate_asked_for() -> None:
    written = lines(0, 20_000, BEGIN, 20_000).splitlines()
    times = [int(line.rsplit(" ", 1)[1]) for line in written]
    assert times == sorted(set(times))
    assert (times[-1] - times[0]) / S == pytest.approx(1, abs=0.001)
    assert len({line.split(" ")[0] for line in written}) == SERIES


@pytest.mark.packets
def test_a_load_on_a_real_influxdb_arrives_whole_and_leaves_nothing(endpoint: Endpoint) -> None:
    push = build.build_programs("ncp-push")["ncp-push"]
    load = telemetry.load_database(endpoint, push, 20_000, 3, threading.Event())
    assert load.written == load.pushed == load.stored == 60_000
    assert load.rejected == 0
    assert load.lag_s
    assert load.cpu_s["influxd"] > 0
    with Client(endpoint, "admin") as admin:
        (databases,) = admin.query("SHOW DATABASES")
    assert DATABASE not in databases.columns["name"]


@pytest.mark.packets
def test_the_load_begins_when_the_transfer_has_gone_on_for_a_while(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    push = build.build_programs("ncp-push")["ncp-push"]
    monkeypatch.setattr(telemetry, "SETTLE_S", 0.5)
    phases = telemetry.Phases(quiet_s=0.5, loaded_s=2)
    stopped = threading.Event()
    stopped.set()
    assert telemetry.load_beside("none", push, phases, stopped) is None
    start_ns = time.time_ns()
    with Client(endpoint, "admin") as admin:
        admin.write([f"event,run=bench-load,kind=transfer_start at_s=0 {start_ns}"])
    try:
        load = telemetry.load_beside("bench-load", push, phases, threading.Event())
    finally:
        with Client(endpoint, "admin") as admin:
            admin.delete_run("bench-load")
    assert load is not None
    assert load.begun_ns >= start_ns + S
    assert load.stored == telemetry.RATE_PPS * 2
