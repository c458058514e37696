"""The benchmark of virtual time: how fast ``startup`` is simulated, with what memory, and on all cores."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from testbed.documents import read_json
from testbed.engines.engine import Options
from testbed.engines.sim.engine import ENGINE
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.table import Section, Spread
from testbed.planning.resolve import resolve
from testbed.planning.sessions import PolicyFacts
from testbed.scenario.load import load as load_scenario

REPEATS, QUICK_REPEATS = 9, 3
TRANSFERS_MIB = (48, 480)
TIMES_REAL = 300
RATE_PPS = 1_000_000
MOST_GROWTH = 1.25
"""Growth of the memory that ten times the bytes may need: what the collector happens to leave."""
RUNS_PER_CORE = 8
LEAST_SPEED_UP = 0.8
"""Least speed-up, in parts of the number of cores."""
DRAWN, ZEROS = "payload drawn and hashed", "zeros, not hashed"
PAYLOADS = {DRAWN: (), ZEROS: ("--zeros",)}

Case = tuple[str, int]
"""Payload, and the MiB of it."""


@dataclass(frozen=True)
class Simulated:
    """One run's own figures (``sim.json``)."""

    virtual_s: float
    cpu_s: float
    peak_bytes: int
    packets: int

    @property
    def times_real(self) -> float:
        """Virtual seconds per second of CPU."""
        return self.virtual_s / self.cpu_s

    @property
    def rate_pps(self) -> float:
        """Packets handed to links per second of CPU."""
        return self.packets / self.cpu_s


def measure(requested: Measurement) -> None:
    """One run on one core, again and again; then one run per core."""
    simulator = requested.programs.binaries[ENGINE.agent]
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as temporary:
        plans = {mib: _plan(Path(temporary), requested.programs.policies, mib) for mib in TRANSFERS_MIB}
        found: dict[Case, list[Simulated]] = {case: [] for case in product(PAYLOADS, TRANSFERS_MIB)}
        repeats = QUICK_REPEATS if requested.quick else REPEATS
        for number in range(repeats):
            requested.say(f"repeat {number + 1} of {repeats}")
            requested.load.sample()
            for (payload, mib), runs in found.items():
                runs.append(simulate(simulator, plans[mib], PAYLOADS[payload]))
        requested.say("all cores")
        requested.load.sample()
        cores = os.cpu_count() or 1
        speed_ups = [_speed_up(simulator, plans[TRANSFERS_MIB[0]], cores) for _ in range(3)]
    requested.add(speed_section(found))
    requested.add(parallel_section(speed_ups, cores))


def _plan(place: Path, policies: PolicyFacts, mib: int) -> Path:
    loaded = load_scenario("startup", [f"ncp.transfer={mib}MiB", f"limits.transfer_time={mib * 4}s"])
    choices = replace(ENGINE.choices(Options()), occasion="manual")
    file = place / f"plan-{mib}.json"
    file.write_text(json.dumps(resolve(loaded, policies, choices, "sim")))
    return file


def call(simulator: Path, *arguments: str, leaves: str, **environment: str) -> dict[str, Any]:
    """The simulator's document of that name, from a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as results:
        command = [str(simulator), *arguments, "--dir", results]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
        return read_json(Path(results) / leaves)


def simulate(simulator: Path, plan: Path, options: Sequence[str] = ()) -> Simulated:
    """One run on one core: its collector of garbage has to share it."""
    facts = call(simulator, *options, "--plan", str(plan), leaves="sim.json", GOMAXPROCS="1")
    return Simulated(facts["virtual_s"], facts["cpu_s"], facts["peak_bytes"], facts["packets"])


def _speed_up(simulator: Path, plan: Path, cores: int) -> float:
    """The gain in finished runs per second when each core has one."""

    def seconds(workers: int) -> float:
        begun = time.monotonic()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda _: simulate(simulator, plan), range(RUNS_PER_CORE * cores)))
        return time.monotonic() - begun

    return seconds(1) / seconds(cores)


def speed_section(found: dict[Case, list[Simulated]]) -> Section:
    """Speed and memory of one run on one core."""
    made = Section(
        "speed",
        "One run of startup in virtual time on one core",
        ["payload and transfer", "virtual s", "CPU s", "× real time", "million packets/s", "peak MiB", "N"],
    )
    for (payload, mib), runs in found.items():
        figures = [f"{runs[0].virtual_s:.1f}", f"{Spread.of([run.cpu_s for run in runs]):.3f}"]
        figures += [f"{_median(runs, 'times_real'):.0f}", f"{_median(runs, 'rate_pps') / 1e6:.2f}"]
        figures.append(f"{_median(runs, 'peak_bytes') / 2**20:.1f}")
        made.row(f"{payload}, {mib} MiB", *figures, str(len(runs)))
        made.raw[f"{payload}, {mib} MiB"] = [vars(run) for run in runs]
    short, long = TRANSFERS_MIB
    made.at_least("startup", _median(found[DRAWN, short], "times_real"), TIMES_REAL, ".0f", " × real time")
    rate_pps = _median(found[ZEROS, short], "rate_pps")
    made.at_least("packets per second of CPU, without payload", rate_pps / 1e6, RATE_PPS / 1e6, unit=" million")
    growth = _median(found[DRAWN, long], "peak_bytes") / _median(found[DRAWN, short], "peak_bytes")
    made.at_most("memory of ten times the transfer", growth, MOST_GROWTH, unit=" ×")
    made.notes.append(
        "Telemetry is written in every run. A packet counts once per link that it is handed to, acknowledgements "
        "too. Payload is drawn by AES-128 in counter mode and hashed by SHA-256 at both ends, as agents do; without "
        "it the telemetry is the same. Medians; of the CPU time also the smallest and the largest."
    )
    return made


def parallel_section(speed_ups: Sequence[float], cores: int) -> Section:
    """The gain by more cores."""
    spread = Spread.of(speed_ups)
    title = f"{RUNS_PER_CORE * cores} runs of startup, {TRANSFERS_MIB[0]} MiB each"
    made = Section("parallel", title, ["cores", "speed-up", "N"], raw={"speed_ups": list(speed_ups)})
    made.row(str(cores), f"{spread:.2f}", str(spread.n))
    made.at_least("speed-up", spread.median, LEAST_SPEED_UP * cores, unit=f" on {cores} cores")
    return made


def _median(runs: Sequence[Simulated], what: str) -> float:
    return Spread.of([getattr(run, what) for run in runs]).median


BENCHMARK = Benchmark("bench-sim", "Virtual time", ENGINE, measure)
