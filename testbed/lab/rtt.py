"""Round-trip time: its error."""

from __future__ import annotations

import statistics

from testbed.lab.bench import Bench
from testbed.lab.ends import LinkRequest
from testbed.lab.figures import Spread, quantile
from testbed.lab.result import Section, Target

RTTS_MS = (2, 50, 500)
MEAN_ERROR_MS, P99_ERROR_MS, RATIO = 0.1, 0.4, 0.5
SPACING_MS = 4.0


def measure(bench: Bench) -> Section:
    """ICMP echoes through one link after the other, the candidates taking turns."""
    section = Section("rtt", "Error of the round-trip time", ["RTT", "link", "mean error", "p99 error", "N"])
    count, most = (100, 2) if bench.quick else (250, 5)
    for rtt_ms in RTTS_MS:
        means: dict[str, list[float]] = {c.name: [] for c in bench.candidates}
        p99s: dict[str, list[float]] = {c.name: [] for c in bench.candidates}
        for _ in bench.repeats(f"RTT {rtt_ms} ms", most, 12 if bench.quick else 45):
            for candidate in bench.candidates:
                with candidate.link(LinkRequest(delay_ms=rtt_ms / 2)) as between:
                    rtts = bench.instrument.rtts_ms(
                        between, count=count, spacing_ms=SPACING_MS, wait_ms=2 * rtt_ms + 300
                    )
                errors = [abs(rtt - rtt_ms) for rtt in rtts]
                if len(errors) < 0.9 * count:
                    section.notes.append(f"{candidate.name} at {rtt_ms} ms: {len(errors)} of {count} came back")
                if errors:
                    means[candidate.name].append(statistics.mean(errors))
                    p99s[candidate.name].append(quantile(errors, 0.99))
        section.raw[f"{rtt_ms} ms"] = {"mean_error_ms": means, "p99_error_ms": p99s}
        _judge(section, rtt_ms, bench.ours.name, means, p99s, count)
    section.notes.append(
        "Errors are absolute, per echo, from the kernel's stamp of the request as it left to that of the reply; "
        "the far end's kernel answers. Median of N repeats (smallest–largest)."
    )
    return section


def _judge(
    section: Section, rtt_ms: int, ours: str, means: dict[str, list[float]], p99s: dict[str, list[float]], count: int
) -> None:
    mean = {name: Spread.of(values) for name, values in means.items() if values}
    p99 = {name: Spread.of(values) for name, values in p99s.items() if values}
    for name, spread in mean.items():
        section.rows.append([f"{rtt_ms} ms", name, f"{spread:.3f} ms", f"{p99[name]:.3f} ms", f"{spread.n}×{count}"])
    own = mean[ours].median
    section.targets += [
        Target(f"RTT {rtt_ms} ms, mean error", f"≤ {MEAN_ERROR_MS} ms", f"{own:.3f} ms", own <= MEAN_ERROR_MS),
        Target(
            f"RTT {rtt_ms} ms, p99 error",
            f"≤ {P99_ERROR_MS} ms",
            f"{p99[ours].median:.3f} ms",
            p99[ours].median <= P99_ERROR_MS,
        ),
    ]
    for name, spread in mean.items():
        if name != ours:
            ratio = own / spread.median
            section.targets.append(
                Target(
                    f"RTT {rtt_ms} ms, mean error against {name}'s", f"≤ {RATIO} of it", f"{ratio:.2f}", ratio <= RATIO
                )
            )
