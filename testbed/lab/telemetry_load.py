"""Telemetry of many others: a spool that fills at a steady rate, pushed into a database of its own on the testbed's
InfluxDB, and watched from the reader's side."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from testbed.errors import RunFailed
from testbed.services import influx
from testbed.services.influx.client import QueryFailed

DATABASE = "ncp_testbed_bench"
DRAIN_S = 30.0
LOOK_S = 1.0
MEASUREMENT = "bench_connection"
SERIES = 200
TICK_S = 0.1


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


def lines(number: int, count: int, begun_ns: int, rate_pps: int) -> str:
    """``count`` points from the one of that number on, at their own times, with the fields of an agent's
    connection."""
    return "".join(
        f"{MEASUREMENT},connection={k % SERIES},policy=nkp24,role=sender,session=s1 "
        f"delivered_pps=1021.7,delivered_share=0.887,window_packets={3641 + k % 97}.25,window_share=0.889,"
        f"in_flight_packets=203i,rto_ms=512.5,sent={k}i,resent=17i,acked={k}i,lost=3i,rtt_ms=171.375 "
        f"{begun_ns + k * 1_000_000_000 // rate_pps}\n"
        for k in range(number, number + count)
    )


def write(spool: Path, rate_pps: int, for_s: float) -> None:
    """Append ``rate_pps`` points a second: what a whole laboratory's agents would write."""
    begun_ns, begun_s = time.time_ns(), time.monotonic()
    number, whole = 0, round(rate_pps * for_s)
    with spool.open("ab", buffering=0) as file:
        while number < whole:
            due = min(whole, round((time.monotonic() - begun_s) * rate_pps))
            file.write(lines(number, due - number, begun_ns, rate_pps).encode())
            number = due
            time.sleep(TICK_S)


def run(endpoint: influx.Endpoint, push: Path, rate_pps: int, for_s: float, stopped: threading.Event) -> Load:
    """Load the database for a time, or until ``stopped``; raises :class:`RunFailed` if it breaks."""
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as name, database(endpoint) as own:
        folder = Path(name)
        spool, plan, credentials = folder / "points.lp", folder / "plan.json", folder / "credentials.json"
        own.logins["admin"].write(credentials)
        telemetry = {"interval_ms": 100, "url": own.url, "database": own.database}
        plan.write_text(json.dumps({"schema": 2, "run": "bench", "scenario": "telemetry", "telemetry": telemetry}))
        command: list[str | Path] = [push, "--plan", plan, "--spool", spool, "--credentials", credentials]
        command += ["--drain", f"{DRAIN_S:g}s"]
        # A process of its own: its CPU time is not the run's.
        source = multiprocessing.get_context("spawn").Process(target=write, args=(spool, rate_pps, for_s))
        load, pipe = Load(), subprocess.PIPE
        with subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as pusher:
            try:
                source.start()
                while source.is_alive() and not spool.exists():
                    time.sleep(0.01)
                _watch(own, source, pusher, load, stopped)
                pusher.terminate()
                reported, errors = pusher.communicate(timeout=DRAIN_S + 10)
            finally:
                source.kill()
                pusher.kill()
        if source.exitcode or not reported:
            raise RunFailed(
                "bench.load-failed", f"the load on the database broke down: {errors.strip() or source.exitcode}"
            )
        counts = json.loads(reported)
        load.written, load.pushed, load.rejected = spool.read_bytes().count(b"\n"), counts["pushed"], counts["rejected"]
        with influx.Client(own, "admin") as reader:
            found = reader.query(f'SELECT count("sent") AS "points" FROM "{MEASUREMENT}"')
            load.stored = int(found[0].columns["points"][0]) if found else 0
    return load


def _watch(
    endpoint: influx.Endpoint,
    source: multiprocessing.process.BaseProcess,
    pusher: subprocess.Popen[str],
    load: Load,
    stopped: threading.Event,
) -> None:
    """Measures cost and a reader's lag until the source has ended."""
    pids = {"source": source.pid, "ncp-push": pusher.pid, "influxd": influx.status().pid}
    processes = {name: psutil.Process(pid) for name, pid in pids.items() if pid is not None}
    before = {name: _cpu_s(process) for name, process in processes.items()}
    load.begun_ns = time.time_ns()
    with influx.Client(endpoint, "admin") as reader:
        while not stopped.wait(LOOK_S) and source.is_alive():
            load.cpu_s = {name: _cpu_s(process) - before[name] for name, process in processes.items()}
            load.ended_ns = time.time_ns()
            try:
                found = reader.query(f'SELECT last("sent") FROM "{MEASUREMENT}" WHERE time > now() - 60s')
            except QueryFailed:
                continue  # the next answer tells how long that took
            if found:
                load.lag_s.append((time.time_ns() - found[0].columns["time"][0]) / 1e9)
    if stopped.is_set():
        source.terminate()
    source.join()


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
