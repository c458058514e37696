"""Half an hour at a moderate load: what is on for as long as that holds no more of the machine in the end."""

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psutil
import pytest

from testbed import paths
from testbed.runtime import lock
from testbed.services.influx import server as influx
from testbed.services.influx.client import Client
from tests.emulation.conftest import ON_ANY_MACHINE, Started, result_folder
from tests.emulation.faults import pids, run_of
from tests.load.growth import Held, after_emptying

pytestmark = pytest.mark.packets

MINUTES = float(os.environ.get("NCP_TESTBED_SOAK_MINUTES", "30"))
SAMPLES = 180
PACKETS_PER_S = 1152
"""What both links of ``startup`` carry."""
DATABASE_MAY_KEEP_MIB = 16.0
"""More after it has put its cache on the disk than after the time before: some 60 MB of points are between them. Its
resident memory does not tell, nor its heap: the cache takes a hundred of it until it is emptied, every 12 minutes."""


def database_mib(client: Client) -> tuple[float, float]:
    """What InfluxDB says that its heap has, garbage included, and what is in its caches by its own count."""
    (runtime,) = client.query("SHOW STATS FOR 'runtime'")
    caches = client.query("SHOW STATS FOR 'tsm1_cache'")
    cached = sum(float(cache.columns["memBytes"][0]) for cache in caches)
    return float(runtime.columns["HeapAlloc"][0]) / (1 << 20), cached / (1 << 20)


def name_of(pid: int) -> str:
    """A process by its program and what it is told to be."""
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.NoSuchProcess:
        return ""
    return " ".join(Path(word).name for word in words[:2])


def size(folder: Path) -> int:
    """Bytes of its files, those that go in the meantime left out."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += 0 if path.is_symlink() else path.lstat().st_size
        except FileNotFoundError:
            continue
    return total


@pytest.mark.nightly
@pytest.mark.timeout(60 * (3 * MINUTES + 30))
def test_nothing_grows_but_what_is_written(
    influx_state: Path, environment: dict[str, str], start: Callable[..., Started], tmp_path: Path
) -> None:
    if lock.holder() is not None:
        lock.wait_for_others(lambda _: None)
    endpoint = influx.ensure()
    environment.update({name: value for name, value in os.environ.items() if name.startswith("NCP_TESTBED_")})
    environment["NCP_TESTBED_RESULTS"] = str(tmp_path / "results")
    packets = round(60 * MINUTES * PACKETS_PER_S)
    transfer = ("--set", f"transfer={packets}KiB", "--set", f"transfer_time={2 * MINUTES:.0f}min")
    run = start("startup", "--runtime", "process", *transfer, *ON_ANY_MACHINE)
    run.await_transfer()
    held: dict[str, Held] = defaultdict(Held)
    processes: list[int] = []
    written: list[int] = []
    scratch: list[int] = []
    database: list[tuple[float, float]] = []
    begun = time.monotonic()
    while len(written) < SAMPLES and time.monotonic() - begun < 0.95 * 60 * MINUTES:
        there = {*pids(run_of(tmp_path)), run.process.pid, influx.status().pid or 0} - {0}
        for pid in there:
            if name := name_of(pid):
                held[f"{name} ({pid})"].sample(pid)
        processes.append(len(there))
        written.append(size(result_folder(tmp_path)))
        scratch.append(size(paths.live_runs() / run_of(tmp_path)))
        with Client(endpoint, "admin") as client:
            database.append(database_mib(client))
        time.sleep(max(0.0, begun + len(written) * 0.9 * 60 * MINUTES / SAMPLES - time.monotonic()))
    whole = {name: found for name, found in held.items() if len(found.samples["threads"]) > 0.9 * len(written)}
    for name, found in whole.items():
        print(name, {kind: found.thirds(kind) for kind in found.samples})
    print(
        f"{len(written)} samples in {time.monotonic() - begun:.0f} s; results from {written[0]} to {written[-1]} bytes"
    )
    print(f"{min(processes)} to {max(processes)} processes; beside the results {max(scratch)} bytes")
    kept = after_emptying(*zip(*database, strict=True))
    print(f"InfluxDB's heap when its cache was emptied, MiB: {kept}; heap and cache in the end: {database[-1]}")
    code, out, err = run.end(60 * (2 * MINUTES + 10))
    verdict = json.loads((result_folder(tmp_path) / "verdict.json").read_text())
    checks = {check["judge"]: check["status"] for check in verdict["checks"]}
    print(verdict["verdict"], verdict["summary"], checks)

    assert code in (0, 1, 3), out + err  # of a busy machine it is told as well what it held
    assert (checks["payload_intact"], checks["points_stored"]) == ("pass", "pass")
    said = " ".join(whole)
    for part in (
        "python",
        "ncp-link relay",
        "ncp-agent sender",
        "ncp-agent receiver",
        "ncp-collect",
        "ncp-push",
        "influxd",
    ):
        assert part in said, f"{part} was not watched"
    for name, found in whole.items():
        assert found.grown(**({"memory_mib": math.inf} if name.startswith("influxd") else {})) == [], name
    assert len(kept) > 1 or MINUTES < 30
    assert not kept or kept[-1] <= kept[0] + DATABASE_MAY_KEEP_MIB
    third = len(written) // 3
    assert median(processes[2 * third :]) <= median(processes[third : 2 * third]) + 2
    # Telemetry has one rate, and what a live run keeps beside it has no more of the disk later than at first.
    second, last = (written[2 * third] - written[third]), (written[-1] - written[-third - 1])
    assert last <= 1.25 * second, f"{second} bytes in the second third, {last} in the last"
    assert scratch[-1] <= scratch[third] + (1 << 20)
