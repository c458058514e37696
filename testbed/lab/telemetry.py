"""The benchmark of telemetry: what 20,000 points/s of others do to a running transfer, and how fast they arrive."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from testbed.engines.mininet.engine import ENGINE, choose_emulator
from testbed.engines.mininet.lifecycle import EmulatedRun
from testbed.errors import RunFailed
from testbed.judge.checks.result import Verdict
from testbed.lab import telemetry_load
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.table import Section, Spread
from testbed.lab.telemetry_load import Load
from testbed.planning.resolve import Choices, resolve
from testbed.scenario.load import load as load_scenario
from testbed.series import FromFile, Reader, influxql, named
from testbed.series.reader import Samples
from testbed.services import influx

SCENARIO = Path(__file__).with_suffix(".yaml")
RATE_PPS = 20_000
SETTLE_S = 12.0
"""Time for the windows to converge."""
PAYLOAD_BPS = (1024 + 128) * 1024 * 8
LARGEST_EFFECT = 0.01
OVER_NS = 2_000_000_000
"""The load is over when it was last seen that long ago."""


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


def load_beside(run: str, push: Path, phases: Phases, stopped: threading.Event) -> Load | None:
    """Load the database when the run's transfer has gone on for a while; None if ``stopped`` comes first."""
    endpoint = influx.ensure()
    is_start = f"{influxql.tag_is('run', run)} AND {influxql.tag_is('kind', 'transfer_start')}"
    with influx.Client(endpoint, "reader") as reader:  # as a dashboard sees it
        while not (found := reader.query(f'SELECT first("at_s") FROM "event" WHERE {is_start}')):
            if stopped.wait(0.2):
                return None
    due_s = found[0].columns["time"][0] / 1e9 + SETTLE_S + phases.quiet_s - time.time()
    if stopped.wait(max(0.0, due_s)):
        return None
    return telemetry_load.run(endpoint, push, RATE_PPS, phases.loaded_s, stopped)


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
