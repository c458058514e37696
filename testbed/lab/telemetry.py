"""The benchmark of telemetry: what 20,000 points/s of others do to a running transfer, and how fast they arrive."""

import json
import multiprocessing
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from testbed.engines.mininet.engine import ENGINE, choose_emulator
from testbed.engines.mininet.run import EmulatedRun
from testbed.errors import RunFailed
from testbed.judge.checks.result import Verdict
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.table import Section, Spread
from testbed.planning.resolve import Choices, resolve
from testbed.scenario.load import load as load_scenario
from testbed.series import FromFile, Reader, influxql, named
from testbed.series.reader import Samples
from testbed.services.influx import server as influx
from testbed.services.influx.client import Client, QueryFailed
from testbed.services.influx.endpoint import Endpoint

SCENARIO = Path(__file__).with_suffix(".yaml")
RATE_PPS = 20_000
SETTLE_S = 12.0
"""Time for the windows to converge."""
PAYLOAD_BPS = (1024 + 128) * 1024 * 8
LARGEST_EFFECT = 0.01
OVER_NS = 2_000_000_000
"""The load is over when it was last seen that long ago."""
DATABASE = "ncp_testbed_bench"
DRAIN_S = 30.0
LOOK_S = 1.0
MEASUREMENT = "bench_connection"
SERIES = 200
TICK_S = 0.1


@dataclass(frozen=True)
class Phases:
    """Seconds without load, with it, and again without."""

    quiet_s: float
    loaded_s: float

    @property
    def transfer_mib(self) -> int:
        """MiB of a transfer that lasts a little longer than the measurement."""
        seconds = SETTLE_S + 2 * self.quiet_s + self.loaded_s + 5
        return round(PAYLOAD_BPS / 8 * seconds / 2**20)


FULL, QUICK = Phases(quiet_s=30, loaded_s=60), Phases(quiet_s=8, loaded_s=15)


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
def database(endpoint: Endpoint) -> Iterator[Endpoint]:
    """An empty database on the same server, which goes at the end."""
    with Client(endpoint, "admin") as admin:
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


def load_database(endpoint: Endpoint, push: Path, rate_pps: int, for_s: float, stopped: threading.Event) -> Load:
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
        with Client(own, "admin") as reader:
            found = reader.query(f'SELECT count("sent") AS "points" FROM "{MEASUREMENT}"')
            load.stored = int(found[0].columns["points"][0]) if found else 0
    return load


def _watch(
    endpoint: Endpoint,
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
    with Client(endpoint, "admin") as reader:
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


def load_beside(run: str, push: Path, phases: Phases, stopped: threading.Event) -> Load | None:
    """Load the database when the run's transfer has gone on for a while; None if ``stopped`` comes first."""
    endpoint = influx.ensure()
    is_start = f"{influxql.tag_is('run', run)} AND {influxql.tag_is('kind', 'transfer_start')}"
    with Client(endpoint, "reader") as reader:  # as a dashboard sees it
        while not (found := reader.query(f'SELECT first("at_s") FROM "event" WHERE {is_start}')):
            if stopped.wait(0.2):
                return None
    due_s = found[0].columns["time"][0] / 1e9 + SETTLE_S + phases.quiet_s - time.time()
    if stopped.wait(max(0.0, due_s)):
        return None
    return load_database(endpoint, push, RATE_PPS, phases.loaded_s, stopped)


def measure(requested: Measurement) -> None:
    """Measures in one run, with all that belongs to a run; its folder is the benchmark's."""
    phases = QUICK if requested.quick else FULL
    requested.load.sample()
    loaded = load_scenario(str(SCENARIO), [f"ncp.transfer={phases.transfer_mib}MiB"])
    choices = Choices(runtime="process", middle=choose_emulator("auto"), quick=requested.quick)
    plan = resolve(loaded, requested.programs.policies, choices, requested.run_id)
    measured = EmulatedRun(plan, loaded, requested.programs.binaries, requested.progress)
    stopped = threading.Event()
    with ThreadPoolExecutor(1, "load") as beside:
        loading = beside.submit(load_beside, plan["run"], requested.programs.binaries["ncp-push"], phases, stopped)
        try:
            verdict = measured.execute()
        finally:
            stopped.set()
    if (load := loading.result()) is None:
        raise RunFailed("bench.load-too-late", "the transfer was over before the load began")
    requested.add(section(FromFile(measured.folder / "telemetry.lp"), load, phases, verdict))


def goodput_bps(received: Samples, from_ns: int, to_ns: int) -> float:
    """Bits per second that arrived between two times, by the first and last sample in between."""
    inside = (received.t_ns >= from_ns) & (received.t_ns <= to_ns)
    if inside.sum() < 2:
        raise RunFailed(
            "bench.no-samples", f"the transfer has no two samples in {(to_ns - from_ns) / 1000000000.0:.1f} s of it"
        )
    t_ns, values = received.t_ns[inside], received.values[inside]
    return float(8e9 * (values[-1] - values[0]) / (t_ns[-1] - t_ns[0]))


def section(reader: Reader, load: Load, phases: Phases, verdict: Verdict) -> Section:
    """The table, and the targets."""
    (received,) = reader.read(named("received_bytes")).values()
    quiet_ns = round(phases.quiet_s * 1e9)
    spans = {
        "before": (load.begun_ns - quiet_ns, load.begun_ns),
        f"{RATE_PPS:,} points/s": (load.begun_ns, load.ended_ns),
        "after": (load.ended_ns + OVER_NS, load.ended_ns + OVER_NS + quiet_ns),
    }
    found = {name: goodput_bps(received, *span) for name, span in spans.items()}
    before_bps, loaded_bps, after_bps = found.values()
    quiet_bps = (before_bps + after_bps) / 2
    effect = 1 - loaded_bps / quiet_bps
    made = Section(
        "telemetry", "Goodput of a transfer beside telemetry of others", ["phase", "s", "kbit/s", "of the quiet ones"]
    )
    for name, (from_ns, to_ns) in spans.items():
        made.row(name, f"{(to_ns - from_ns) / 1e9:.0f}", f"{found[name] / 1e3:.1f}", f"{found[name] / quiet_bps:.4f}")
    least = f"not more than {LARGEST_EFFECT:.0%} less"
    made.target("goodput beside the load", least, f"{-effect:+.2%}", effect <= LARGEST_EFFECT)
    points = round(RATE_PPS * phases.loaded_s)
    told = f"{load.written:,} written, {load.pushed:,} taken, {load.rejected:,} refused, {load.stored:,} stored"
    made.target("points", f"all of {points:,} stored", told, load.stored == load.written == load.pushed == points)
    if load.lag_s:
        lag = Spread.of(load.lag_s)
        made.notes.append(
            f"Newest stored point, asked every second: {lag.median:.2f} s old (median), at most {lag.high:.2f} s."
        )
    cost = ", ".join(f"{name} {cpu_s / load.seconds:.0%}" for name, cpu_s in load.cpu_s.items())
    made.notes.append(f"CPU during the load, of one core: {cost}. A point has 11 fields and about 270 bytes.")
    trust = "trusted" if verdict.trust.trusted else f"not to be trusted ({'; '.join(verdict.trust.reasons)})"
    made.notes.append(f"The run itself: {verdict.verdict}, {trust}.")
    counts = {name: getattr(load, name) for name in ("written", "pushed", "rejected", "stored", "lag_s", "cpu_s")}
    made.raw = {"goodput_bps": found, "effect": effect, **counts, "loaded_s": load.seconds}
    return made


BENCHMARK = Benchmark("bench-telemetry", "Telemetry beside a transfer", ENGINE, measure)
