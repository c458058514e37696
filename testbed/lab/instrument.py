"""The instruments of all benchmarks, the same for every candidate: ``ncp-link``, iperf3, and the machine's load."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import psutil

from testbed.errors import RunFailed
from testbed.lab.ends import Between, Candidate, LinkRequest
from testbed.runtime import iperf3
from testbed.runtime.processes import Supervised
from topologies.commands import in_namespace, run

SPACING_MS = 4.0
WINDOW_S = 1.0
IP_BYTES = 1500
OVERLOAD = 1.5
SKB_BYTES = 2304  # what the kernel charges a socket for a packet of that size
BUFFERS = "4096 131072 67108864"
WARM_UP_S = 1
BUSY_SHARE = 0.15
SAMPLE_S = 0.4


def ncp_link(binary: Path, what: str, *words: str, **options: object) -> dict[str, Any]:
    """The answer of ``ncp-link echo``, ``stream`` or ``load``: ``ip_bytes=100`` is its option ``--ip-bytes 100``, and
    ``for_`` is ``--for``."""
    for name, value in options.items():
        words += (f"--{name.rstrip('_').replace('_', '-')}", str(value))
    command = [str(binary), what, *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise RunFailed("bench.ncp-link-failed", f"ncp-link {what}: {done.stderr.strip()[-300:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rtts_ms(binary: Path, between: Between, expected_ms: float, count: int) -> list[float]:
    """Round-trip times of ICMP echoes from ``a`` to ``b``, in the order of sending."""
    waits = {"spacing": f"{SPACING_MS}ms", "wait": f"{2 * expected_ms + 300}ms"}
    found = ncp_link(binary, "echo", from_=between.a, to=between.b.address, count=count, **waits)
    return [float(ms) for ms in found["rtts_ms"] or []]


def rate_errors(binary: Path, candidate: Candidate, rate_bps: float, windows: int) -> list[float]:
    """Errors of a link's rate in each of the windows, as parts of the rate; fewer where too few packets arrived."""
    counted_bits = (IP_BYTES + candidate.overhead_bytes) * 8
    pps = rate_bps / counted_bits
    settle_s = max(0.2, 10 / pps)
    with candidate.link(LinkRequest(rate_bps=rate_bps)) as between:
        found = ncp_link(
            binary,
            "stream",
            from_=between.a,
            to=between.b,
            ip_bytes=IP_BYTES,
            pps=0.0 if candidate.blocks else OVERLOAD * pps,
            for_=f"{settle_s + windows * (WINDOW_S + 1.5 / pps) + 0.1}s",
            window=f"{WINDOW_S}s",
            # Enough ahead that a sender that is held up for a moment does not leave the link idle.
            send_buffer=int(max(4, 0.1 * pps) * SKB_BYTES) if candidate.blocks else 0,
            wait="200ms",
        )
    return [w["packets"] * counted_bits / w["seconds"] / rate_bps - 1 for w in found["windows"][:windows]]


def tcp_goodput_bps(between: Between, seconds: int) -> float:
    """One iperf3 stream, cubic, from ``a`` to ``b``, after :data:`WARM_UP_S` that are left out."""
    for end in (between.a, between.b):
        settings = [f"net.ipv4.tcp_{way}mem={BUFFERS}" for way in "rw"] + ["net.ipv4.tcp_no_metrics_save=1"]
        run(in_namespace(end.namespace, ["sysctl", "-qw", *settings]))
    options = ("--time", str(seconds), "--omit", str(WARM_UP_S), "--congestion", "cubic", "--json")
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as folder:
        log = Path(folder) / "server.log"
        server = Supervised("iperf3's server", iperf3.server(), log, namespace=between.b.namespace)
        try:
            server.await_listening(between.b.namespace, iperf3.PORT)
            client = iperf3.client(between.b.address, iperf3.PORT, *options)
            found = json.loads(run(in_namespace(between.a.namespace, client), timeout_s=seconds + 20))
        finally:
            server.end()
    if "error" in found:
        raise RunFailed("iperf3.failed", f"iperf3: {found['error']}")
    return float(found["end"]["sum_received"]["bits_per_second"])


class HostLoad:
    """Load of the machine by other processes, which a benchmark of microseconds has to report: samples that are taken
    while the benchmark itself does nothing."""

    def __init__(self) -> None:
        self.busy: list[float] = []
        """Shares of all cores' time that others (or the hypervisor) took, one per sample."""

    def sample(self) -> None:
        """Watch for a moment."""
        self.busy.append(psutil.cpu_percent(SAMPLE_S) / 100)

    def as_json(self) -> dict[str, Any]:
        """The entry in ``bench.json``: ``was_busy`` where figures may be worse than the links are."""
        return {"busy": self.busy, "was_busy": max(self.busy, default=0.0) > BUSY_SHARE}

    def __str__(self) -> str:
        """The load for the result's head."""
        if not self.busy:
            return "host load not sampled"
        shares = ", ".join(f"{share:.0%}" for share in self.busy)
        word = "BUSY: figures are worse than on a quiet host" if self.as_json()["was_busy"] else "quiet"
        return f"host load by others before each part: {shares} of all cores ({word})"
