"""Loss: whether as many packets are lost as chance would have it."""

from __future__ import annotations

import statistics

from testbed.lab.bench import Bench
from testbed.lab.ends import LinkRequest
from testbed.lab.figures import binomial_interval
from testbed.lab.result import Section, Target

LOSSES = (0.001, 0.01, 0.1)
PACKETS = 20_000
PPS = 16_000.0
CONFIDENCE = 0.99


def measure(bench: Bench) -> Section:
    """Small packets through one link after the other, none of them in each other's way."""
    section = Section(
        "loss", f"Loss of {PACKETS:,} packets", ["loss", "link", "lost", f"{CONFIDENCE:.0%} interval", "N"]
    )
    for loss in LOSSES:
        fewest, most = binomial_interval(PACKETS, loss, CONFIDENCE)
        lost: dict[str, list[int]] = {c.name: [] for c in bench.candidates}
        for repeat in bench.repeats(f"loss {loss:.1%}", 1 if bench.quick else 3, 8 if bench.quick else 30):
            for candidate in bench.candidates:
                with candidate.link(LinkRequest(loss=loss, seed=1 + repeat)) as between:
                    found = bench.instrument.stream(between, ip_bytes=100, pps=PPS, packets=PACKETS, wait_ms=300)
                lost[candidate.name].append(found["sent"] - found["received"])
        section.raw[f"{loss:.1%}"] = lost
        for name, counts in lost.items():
            section.rows.append(
                [f"{loss:.1%}", name, ", ".join(map(str, counts)), f"{fewest}–{most}", str(len(counts))]
            )
        median = statistics.median(lost[bench.ours.name])
        section.targets.append(
            Target(
                f"loss {loss:.1%}", f"{fewest} to {most} of {PACKETS:,} lost", f"{median:g}", fewest <= median <= most
            )
        )
    section.notes.append(
        "Binomial interval, exact. Our losses follow from seeds 1, 2, 3 and so are the same in every run; judged by "
        "the median of N repeats."
    )
    return section
