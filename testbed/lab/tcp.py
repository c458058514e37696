"""TCP goodput through one link without a rate limit: what the middle itself can carry."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from testbed.errors import RunFailed
from testbed.lab.bench import Bench
from testbed.lab.ends import Between, LinkRequest
from testbed.lab.figures import Spread
from testbed.lab.result import Section, Target
from testbed.runtime import iperf3
from testbed.runtime.listening import await_listening
from testbed.runtime.processes import Supervised
from topologies.commands import CommandFailed, in_namespace, run

DELAY_MS = 10
RATIO = 1.5
BUFFERS = "4096 131072 67108864"
WARM_UP_S = 1
AGAINST = "mahimahi"
WHOLE = "ncp-testbed, TCP's segments whole"


def measure(bench: Bench) -> Section:
    """One iperf3 stream, cubic, through one link after the other."""
    section = Section(
        "tcp", f"TCP goodput through {DELAY_MS} ms each way without a rate limit", ["link", "goodput", "N"]
    )
    links = [(c.name, c, LinkRequest(delay_ms=DELAY_MS)) for c in bench.candidates]
    links.append((WHOLE, bench.ours, LinkRequest(delay_ms=DELAY_MS, whole_segments=True)))
    goodput: dict[str, list[float]] = {name: [] for name, _, _ in links}
    if not shutil.which("iperf3"):
        section.targets.append(Target("TCP goodput", f"≥ {RATIO} of {AGAINST}'s", "iperf3 is not installed", None))
        return section
    seconds, most = (3, 1) if bench.quick else (5, 3)
    for _ in bench.repeats("TCP goodput", most, 75):
        for name, candidate, requested in links:
            with candidate.link(requested) as between:
                try:
                    goodput[name].append(goodput_bps(between, seconds))
                except (RunFailed, CommandFailed) as error:
                    section.notes.append(f"{name}: {error}")
    section.raw["goodput_bps"] = goodput
    medians = {}
    for name, values in goodput.items():
        if values:
            spread_mbps = Spread.of([value / 1e6 for value in values])
            medians[name] = spread_mbps.median
            section.rows.append([name, f"{spread_mbps:.0f} Mbit/s", str(spread_mbps.n)])
    if AGAINST in medians and bench.ours.name in medians:
        ratio = medians[bench.ours.name] / medians[AGAINST]
        measured, met = f"{ratio:.2f}", ratio >= RATIO
    else:
        measured, met = "no figure of both", None
    section.targets.append(Target("TCP goodput", f"≥ {RATIO} of {AGAINST}'s", measured, met))
    section.notes.append(
        f"iperf3, one stream, cubic, {seconds} s after {WARM_UP_S} s that are left out, MTU 1500, socket buffers up "
        "to 64 MiB at both ends; both iperf3 processes share the cores with the link. Segmentation offload is off "
        "on our links, as in every run, but for the last row, which no scenario asks for and no target is about."
    )
    return section


def goodput_bps(between: Between, seconds: int) -> float:
    """One iperf3 stream, cubic, from ``a`` to ``b``, after :data:`WARM_UP_S` that are left out."""
    for end in (between.a, between.b):
        settings = [f"net.ipv4.tcp_{way}mem={BUFFERS}" for way in "rw"] + ["net.ipv4.tcp_no_metrics_save=1"]
        run(in_namespace(end.namespace, ["sysctl", "-qw", *settings]))
    options = ("--time", str(seconds), "--omit", str(WARM_UP_S), "--congestion", "cubic", "--json")
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as folder:
        log = Path(folder) / "server.log"
        server = Supervised.start("iperf3's server", iperf3.server(), log, namespace=between.b.namespace)
        try:
            await_listening(between.b.namespace, iperf3.PORT, server)
            client = iperf3.client(between.b.address, iperf3.PORT, *options)
            said = run(in_namespace(between.a.namespace, client), timeout_s=seconds + 20)
        finally:
            server.end_group()
    found = json.loads(said)
    if "error" in found:
        raise RunFailed("iperf3.failed", "iperf3: {error}", error=found["error"])
    return float(found["end"]["sum_received"]["bits_per_second"])
