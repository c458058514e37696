"""InfluxDB is killed and started again in mid-run: nothing is held up, and nothing is lost."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from testbed.series import influxql
from testbed.series.reader import DERIVED_MEASUREMENTS
from testbed.services.influx import server as influx
from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import Endpoint
from tests.emulation.conftest import ON_ANY_MACHINE, Started, result_folder
from tests.emulation.points import points_of

pytestmark = pytest.mark.packets

OUTAGE_S = 3.0
UNDISTURBED = """\
name: outage
title: Two connections, while the database is away
links:
  - {name: fast, rate: 1024pps, delay: 50ms}
  - {name: slow, rate: 128pps, delay: 50ms}
ncp: {policy: nkp24, transfer: 10MiB, send_window: 4MiB, mtu: 1024}
checks:
  - {name: fast is filled, judge: link_filled, link: fast, min: 0.95, from: 1s, to: 8s}
  - {name: slow is filled, judge: link_filled, link: slow, min: 0.95, from: 1s, to: 8s}
  - {name: payload, judge: payload_intact}
  - {name: database, judge: points_stored}
"""
"""Nine seconds of both links, which a transfer that is held up does not fill."""

Point = tuple[str, tuple[tuple[str, str], ...], int, tuple[tuple[str, Any], ...]]


def in_database(endpoint: Endpoint, run: str) -> list[Point]:
    """Every point of the run's telemetry that the database holds."""
    found: list[Point] = []
    with Client(endpoint, "reader") as client:
        for series in client.query(f"SELECT * FROM /.*/ WHERE {influxql.tag_is('run', run)} GROUP BY *"):
            if series.name in DERIVED_MEASUREMENTS:
                continue
            tags = {name: value for name, value in series.tags.items() if value}
            names = [name for name in series.columns if name != "time"]
            for row, time_ns in enumerate(series.columns["time"]):
                fields = {n: v for n in names if (v := series.columns[n][row]) is not None}
                found.append(point(series.name, tags, time_ns, fields))
    return sorted(found)


def in_file(folder: Path) -> list[Point]:
    """Every point of ``telemetry.lp``."""
    return sorted(point(p["measurement"], p["tags"], p["time"], p["fields"]) for p in points_of(folder))


def point(measurement: str, tags: dict[str, str], time_ns: int, fields: dict[str, Any]) -> Point:
    return measurement, tuple(sorted(tags.items())), time_ns, tuple(sorted(fields.items()))


def test_influxdb_killed_in_mid_run(
    influx_state: Path, environment: dict[str, str], start: Callable[..., Started], tmp_path: Path
) -> None:
    endpoint = influx.ensure()
    environment.update({name: value for name, value in os.environ.items() if name.startswith("NCP_TESTBED_")})
    environment["NCP_TESTBED_RESULTS"] = str(tmp_path / "results")
    (tmp_path / "outage.yaml").write_text(UNDISTURBED)
    run = start(str(tmp_path / "outage.yaml"), *ON_ANY_MACHINE)
    run.await_transfer()
    time.sleep(2)
    server = psutil.Process(influx.status().pid)
    server.send_signal(signal.SIGKILL)
    killed_ns = time.time_ns()
    time.sleep(OUTAGE_S)
    assert influx.status().state == "stopped"
    assert influx.ensure() == endpoint
    back_ns = time.time_ns()
    assert run.process.poll() is None, "the transfer was over before the database was back"
    code, out, err = run.end()
    assert code == 0, out + err

    folder = result_folder(tmp_path, "outage")
    file, database = in_file(folder), in_database(endpoint, folder.name)
    assert len(file) == len(database)
    assert file == database
    # What was sampled while it was away is there, from each component that writes.
    away = {measurement for measurement, _, time_ns, _ in database if killed_ns < time_ns < back_ns}
    assert away >= {"ncp_connection", "ncp_session", "link", "interface", "qdisc", "socket_queue", "host"}
    # The transfer was not held up by it: samples went on at their interval.
    interval_ns = json.loads((folder / "plan.json").read_text())["telemetry"]["interval_ms"] * 1_000_000
    sender = [
        time_ns
        for measurement, tags, time_ns, _ in file
        if measurement == "ncp_connection"
        and ("role", "sender") in tags
        and ("connection", "1") in tags
        and killed_ns < time_ns < back_ns
    ]
    # A machine that stops for a moment takes some away; waiting for the database would take all.
    assert len(sender) >= 0.5 * (back_ns - killed_ns) / interval_ns
