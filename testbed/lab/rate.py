"""Rate: its error over windows of a second."""

from __future__ import annotations

from typing import Any

from testbed.lab.bench import Bench
from testbed.lab.ends import Candidate, LinkRequest
from testbed.lab.figures import Spread
from testbed.lab.instrument import Instrument
from testbed.lab.ours import Ours
from testbed.lab.result import Section, Target

RATES_BPS = (0.1e6, 1e6, 10e6, 100e6, 200e6)
QUICK_RATES_BPS = (1e6, 100e6)
LARGEST_ERROR = 0.005
WINDOW_S = 1.0
IP_BYTES = 1500
OVERLOAD = 1.5
SKB_BYTES = 2304  # what the kernel charges a socket for a packet of that size


def measure(bench: Bench) -> Section:
    """A stream that is never short of packets, through one link after the other."""
    section = Section("rate", "Error of the rate", ["rate", "link", "error of a 1 s window", "worst", "N"])
    middle = Ours(bench.fabric_name, bench.binary, "relay", rate_in_the_middle=True)
    candidates: list[tuple[str, Candidate]] = [
        (f"{bench.ours.name}, rate at the host", bench.ours),
        (f"{bench.ours.name}, rate in the middle", middle),
        *((peer.name, peer) for peer in bench.peers),
    ]
    for rate_bps in QUICK_RATES_BPS if bench.quick else RATES_BPS:
        errors: dict[str, list[float]] = {name: [] for name, _ in candidates}
        for _ in bench.repeats(f"rate {rate_bps / 1e6:g} Mbit/s", 1 if bench.quick else 2, 35):
            for name, candidate in candidates:
                errors[name] += errors_of(bench.instrument, candidate, rate_bps, 1 if bench.quick else 2)
        section.raw[f"{rate_bps / 1e6:g} Mbit/s"] = errors
        for name, values in errors.items():
            if not values:
                section.notes.append(f"{name} at {rate_bps / 1e6:g} Mbit/s: too few packets arrived for a window")
                continue
            spread, worst = Spread.of(values), max(values, key=abs)
            section.rows.append(
                [f"{rate_bps / 1e6:g} Mbit/s", name, f"{spread.median:+.3%}", f"{worst:+.3%}", str(spread.n)]
            )
            if name.startswith(bench.ours.name):
                section.targets.append(
                    Target(
                        f"{rate_bps / 1e6:g} Mbit/s, {name.split(', ')[1]}",
                        f"within {LARGEST_ERROR:.1%}",
                        f"{spread.median:+.3%}, worst {worst:+.3%}",
                        abs(spread.median) <= LARGEST_ERROR,
                    )
                )
    section.notes.append(
        "Each link counts bytes in its own way (Ethernet frames without FCS here, IP packets with 4 B of a TUN "
        "device for mahimahi, IP packets for rattan), and is judged by that. Median of N windows."
    )
    return section


def errors_of(instrument: Instrument, candidate: Candidate, rate_bps: float, windows: int) -> list[float]:
    """Errors of a link's rate in each of so many windows, as parts of the rate; fewer where too few packets arrived."""
    counted_bits = (IP_BYTES + candidate.overhead_bytes) * 8
    pps = rate_bps / counted_bits
    settle_s = max(0.2, 10 / pps)
    with candidate.link(LinkRequest(rate_bps=rate_bps)) as between:
        found: dict[str, Any] = instrument.stream(
            between,
            ip_bytes=IP_BYTES,
            pps=0 if candidate.blocks else OVERLOAD * pps,
            seconds=settle_s + windows * (WINDOW_S + 1.5 / pps) + 0.1,
            window_s=WINDOW_S,
            # Enough ahead that a sender that is held up for a moment does not leave the link idle.
            send_buffer_bytes=int(max(4, 0.1 * pps) * SKB_BYTES) if candidate.blocks else 0,
            wait_ms=200,
        )
    return [w["packets"] * counted_bits / w["seconds"] / rate_bps - 1 for w in found["windows"][:windows]]
