"""The rate at a host's egress while it changes: no more and no less than was asked for, however often."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from testbed import build
from testbed.bench.ends import Between, End
from testbed.bench.instrument import Instrument
from testbed.bench.ours import Hosts, hosts
from testbed.plan.links import LinkPlan, resolve_link
from testbed.runner.host_rates import HostRates
from testbed.units import QueueLength, Rate
from topologies.middle import RelayMiddle

pytestmark = pytest.mark.emulation

STEP_S, STEPS = 0.1, 10
SECONDS = 5.0
ATTEMPTS = 4


@pytest.fixture(scope="module")
def instrument() -> Instrument:
    return Instrument(build.build_programs()["ncp-link"])


@pytest.fixture
def two() -> Iterator[Hosts]:
    with hosts("ncp-test-rates") as found:
        yield found


def ramps(rates: HostRates, link: LinkPlan) -> float:
    """Ramp after ramp from 15 packets/s below the link's rate to 12 above; the mean rate asked for, packets/s."""
    begun = time.monotonic()
    asked: list[tuple[float, float]] = []
    for step in range(round((SECONDS + 1) / STEP_S)):
        pps = link.rate_pps - 15 + 3 * (step % STEPS)
        rates.set(link, link.a, round(pps * link.frame_bytes * 8))
        asked.append((time.monotonic(), pps))
        time.sleep(max(0.0, begun + (step + 1) * STEP_S - time.monotonic()))
    packets = sum((later - at_s) * pps for (at_s, pps), (later, _) in pairwise(asked))
    return packets / (asked[-1][0] - asked[0][0])


def test_ramps_send_what_their_rates_add_up_to(two: Hosts, instrument: Instrument, tmp_path: Path) -> None:
    link = resolve_link(1, "link1", "h1", "h2", Rate(pps=128), delay_ms=1, queue=QueueLength(packets=50))
    two.connect([link], shaped=True)
    middle = RelayMiddle(two.fabric, instrument.binary, directory=tmp_path)
    middle.start([link])
    rates = HostRates(dict(zip(("h1", "h2"), two.paths, strict=True)), [link])
    between = Between(End(two.paths[0], link.a.address), End(two.paths[1], link.b.address))
    shares: list[float] = []
    try:
        while len(shares) < ATTEMPTS and max(shares, default=0.0) < 0.99:
            with ThreadPoolExecutor() as beside:
                asked = beside.submit(ramps, rates, link)
                found = instrument.stream(
                    between, ip_bytes=link.frame_bytes - 14, seconds=SECONDS, window_s=SECONDS - 1,
                    send_buffer_bytes=40_000, wait_ms=1000,
                )  # fmt: skip
            assert found["received"] == found["sent"], "a queue at a host drops nothing"
            window = found["windows"][0]  # a whole number of ramps
            shares.append(window["packets"] / window["seconds"] / asked.result())
    finally:
        rates.close()
        middle.stop()
    # A machine that stops for a moment takes away from a rate, and never adds to it.
    assert max(shares) == pytest.approx(1, rel=0.01), shares
