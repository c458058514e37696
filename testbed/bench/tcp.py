"""TCP goodput through one link without a rate limit: what the middle itself can carry."""

from __future__ import annotations

import json
import shutil
import subprocess

from testbed.bench.bench import Bench
from testbed.bench.ends import Asked, Between
from testbed.bench.figures import Spread
from testbed.bench.result import Section, Target
from testbed.errors import RunFailed
from topologies.commands import CommandFailed, dies_with_us, in_namespace, run

DELAY_MS = 10
RATIO = 1.5
BUFFERS = "4096 131072 67108864"
WARM_UP_S = 1
AGAINST = "mahimahi"


def measure(bench: Bench) -> Section:
    """One iperf3 stream, cubic, through one link after the other."""
    section = Section(
        "tcp", f"TCP goodput through {DELAY_MS} ms each way without a rate limit", ["link", "goodput", "N"]
    )
    goodput: dict[str, list[float]] = {c.name: [] for c in bench.candidates}
    if not shutil.which("iperf3"):
        section.targets.append(Target("TCP goodput", f"≥ {RATIO} of {AGAINST}'s", "iperf3 is not installed", None))
        return section
    seconds, most = (3, 1) if bench.quick else (5, 3)
    for _ in bench.repeats("TCP goodput", most, 75):
        for candidate in bench.candidates:
            with candidate.link(Asked(delay_ms=DELAY_MS)) as between:
                try:
                    goodput[candidate.name].append(goodput_bps(between, seconds))
                except (RunFailed, CommandFailed) as error:
                    section.notes.append(f"{candidate.name}: {error}")
    section.raw["goodput_bps"] = goodput
    medians = {}
    for name, values in goodput.items():
        if values:
            spread = Spread.of(values)
            medians[name] = spread.median
            text = f"{spread.median / 1e6:.0f} ({spread.low / 1e6:.0f}–{spread.high / 1e6:.0f}) Mbit/s"
            section.rows.append([name, text, str(spread.n)])
    if AGAINST in medians and bench.ours.name in medians:
        ratio = medians[bench.ours.name] / medians[AGAINST]
        measured, met = f"{ratio:.2f}", ratio >= RATIO
    else:
        measured, met = "no figure of both", None
    section.targets.append(Target("TCP goodput", f"≥ {RATIO} of {AGAINST}'s", measured, met))
    section.notes.append(
        f"iperf3, one stream, cubic, {seconds} s after {WARM_UP_S} s that are left out, MTU 1500, socket buffers up "
        "to 64 MiB at both ends; both iperf3 processes share the cores with the link. Segmentation offload is off "
        "on our links, as in every run."
    )
    return section


def goodput_bps(between: Between, seconds: int) -> float:
    """One iperf3 stream, cubic, from ``a`` to ``b``, after :data:`WARM_UP_S` that are left out."""
    for end in (between.a, between.b):
        settings = [f"net.ipv4.tcp_{way}mem={BUFFERS}" for way in "rw"] + ["net.ipv4.tcp_no_metrics_save=1"]
        run(in_namespace(end.namespace, ["sysctl", "-qw", *settings]))
    serve = in_namespace(
        between.b.namespace, dies_with_us(["iperf3", "-s", "-1", "--forceflush", "-B", between.b.address])
    )
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if "listening" in line:
                    break
            said = run(
                in_namespace(
                    between.a.namespace,
                    ["iperf3", "-c", between.b.address, "-t", str(seconds), "-O", str(WARM_UP_S), "-C", "cubic", "-J"],
                ),
                timeout_s=seconds + 20,
            )
        finally:
            server.terminate()
    found = json.loads(said)
    if "error" in found:
        raise RunFailed(f"iperf3: {found['error']}")
    return float(found["end"]["sum_received"]["bits_per_second"])
