"""Telemetry of many others: a spool that fills at a steady rate, pushed into a database of its own on the testbed's
InfluxDB, and watched from the reader's side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from testbed import paths
from testbed.errors import RunFailed
from testbed.lab.point_source import MEASUREMENT
from testbed.services import influx
from testbed.services.influx.client import QueryFailed

DATABASE = "ncp_testbed_bench"
DRAIN_S = 30.0
LOOK_S = 1.0


@dataclass
class Load:
    """The numbers of points, by their fate."""

    written: int = 0
    pushed: int = 0
    rejected: int = 0
    stored: int = 0
    lag_s: list[float] = field(default_factory=list)
    """Ages of the newest point in the database, every second."""
    cpu_s: dict[str, float] = field(default_factory=dict)
    """CPU seconds of each process from the first point to the last, kernel included."""
    begun_ns: int = 0
    ended_ns: int = 0

    @property
    def seconds(self) -> float:
        """The time from the first point to the last."""
        return (self.ended_ns - self.begun_ns) / 1e9


@contextmanager
def database(endpoint: influx.Endpoint) -> Iterator[influx.Endpoint]:
    """An empty database on the same server, which goes at the end."""
    with influx.Client(endpoint, "admin") as admin:
        admin.execute(f'DROP DATABASE "{DATABASE}"')
        admin.execute(f'CREATE DATABASE "{DATABASE}"')
        try:
            yield replace(endpoint, database=DATABASE)
        finally:
            admin.execute(f'DROP DATABASE "{DATABASE}"')


def run(endpoint: influx.Endpoint, push: Path, rate_pps: int, for_s: float, stopped: threading.Event) -> Load:
    """Load the database for so many seconds, or until ``stopped``; raises :class:`RunFailed` if it breaks."""
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as name, database(endpoint) as own:
        folder = Path(name)
        spool, plan, credentials = folder / "points.lp", folder / "plan.json", folder / "credentials.json"
        own.logins["admin"].write(credentials)
        telemetry = {"interval_ms": 100, "url": own.url, "database": own.database}
        plan.write_text(json.dumps({"schema": 2, "run": "bench", "scenario": "telemetry", "telemetry": telemetry}))
        pusher = subprocess.Popen(
            [push, "--plan", plan, "--spool", spool, "--credentials", credentials, "--drain", f"{DRAIN_S:g}s"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        source = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "testbed.lab.point_source",
                "--spool",
                spool,
                "--rate",
                str(rate_pps),
                "--for",
                str(for_s),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(paths.CHECKOUT)},
        )
        load = Load()
        try:
            _watch(own, source, pusher, load, stopped)
            written, _ = source.communicate(timeout=5)
            pusher.send_signal(signal.SIGTERM)
            reported, errors = pusher.communicate(timeout=DRAIN_S + 10)
        finally:
            for process in (source, pusher):
                if process.poll() is None:
                    process.kill()
                    process.wait()
        if source.returncode or not reported:
            raise RunFailed(
                "bench.load-failed",
                "the load on the database broke down: {error}",
                error=errors.strip() or source.returncode,
            )
        counts = json.loads(reported)
        load.written, load.pushed, load.rejected = int(written), counts["pushed"], counts["rejected"]
        with influx.Client(own, "admin") as reader:
            found = reader.query(f'SELECT count("sent") AS "points" FROM "{MEASUREMENT}"')
            load.stored = int(found[0].columns["points"][0]) if found else 0
    return load


def _watch(
    endpoint: influx.Endpoint,
    source: subprocess.Popen[str],
    pusher: subprocess.Popen[str],
    load: Load,
    stopped: threading.Event,
) -> None:
    """Measures cost and a reader's lag until the source has ended."""
    processes = {"source": psutil.Process(source.pid), "ncp-push": psutil.Process(pusher.pid)}
    server = influx.status().pid
    if server is not None:
        processes["influxd"] = psutil.Process(server)
    before = {name: _cpu_s(process) for name, process in processes.items()}
    latest = dict(before)
    load.begun_ns = time.time_ns()
    with influx.Client(endpoint, "admin") as reader:
        while source.poll() is None and not stopped.is_set():
            stopped.wait(LOOK_S)
            if source.poll() is not None:
                break
            latest |= {name: _cpu_s(process) for name, process in processes.items()}
            load.ended_ns = time.time_ns()
            try:
                found = reader.query(f'SELECT last("sent") FROM "{MEASUREMENT}" WHERE time > now() - 60s')
            except QueryFailed:
                continue  # the next answer tells how long that took
            if found:
                load.lag_s.append((time.time_ns() - found[0].columns["time"][0]) / 1e9)
    load.cpu_s = {name: latest[name] - before[name] for name in processes}
    if stopped.is_set() and source.poll() is None:
        source.terminate()


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
