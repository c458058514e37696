"""Runs in the guest: the rate at a host's egress, changed over and over. Prints what was asked and what crossed."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from testbed import paths
from testbed.engines.emulation.timeline import HostRates
from testbed.lab.ends import Between, End, hosts
from testbed.lab.instrument import ncp_link
from topologies.link import Link, rate_pps, resolve_link
from topologies.middle import NetemMiddle
from topologies.units import QueueLength, Rate

STEP_S, STEPS = 0.1, 10
SECONDS = 5.0


def ramps(rates: HostRates, link: Link) -> float:
    """Ramp after ramp from 15 packets/s below the link's rate to 12 above; the mean rate asked for, packets/s."""
    begun = time.monotonic()
    asked: list[tuple[float, float]] = []
    for step in range(round((SECONDS + 1) / STEP_S)):
        pps = rate_pps(link) - 15 + 3 * (step % STEPS)
        rates.set(link, link["a"], round(pps * link["frame_bytes"] * 8))
        asked.append((time.monotonic(), pps))
        time.sleep(max(0.0, begun + (step + 1) * STEP_S - time.monotonic()))
    packets = sum((later - at_s) * pps for (at_s, pps), (later, _) in pairwise(asked))
    return packets / (asked[-1][0] - asked[0][0])


def measure() -> dict[str, Any]:
    """A stream of packets without end while the ramps go on."""
    link = resolve_link(1, "link1", "h1", "h2", Rate(pps=128), delay_ms=1, queue=QueueLength(packets=50))
    with hosts("ncp-test-rates") as two:
        two.connect([link], shaped=True)
        middle = NetemMiddle(two.fabric)
        middle.start([link])
        rates = HostRates(dict(zip(("h1", "h2"), two.paths, strict=True)), [link])
        between = Between(End(two.paths[0], link["a"]["address"]), End(two.paths[1], link["b"]["address"]))
        with ThreadPoolExecutor() as beside:
            asked = beside.submit(ramps, rates, link)
            found = ncp_link(
                paths.BINARIES / "ncp-link",
                "stream",
                from_=between.a,
                to=between.b,
                ip_bytes=link["frame_bytes"] - 14,
                for_=f"{SECONDS}s",
                window=f"{SECONDS - 1}s",
                send_buffer=40_000,
            )
        rates.close()
        middle.stop()
    return {"asked_pps": asked.result(), "found": found}


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
