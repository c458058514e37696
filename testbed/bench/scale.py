"""How many links the middle bears at once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.bench.bench import Bench
from testbed.bench.ends import Asked
from testbed.bench.figures import Spread
from testbed.bench.ours import Hosts, hosts, plan_of
from testbed.bench.result import Section, Target
from topologies.link import Link
from topologies.middle import RelayMiddle

LINKS = 64
PPS = 1024.0
DELAY_MS = 20.0
LATENESS_P99_MS = 1.0
OFFERED_WITHIN = 0.005
STEP = 32
MOST = 255


@dataclass(frozen=True)
class Trial:
    """One load on so many links."""

    links: int
    lateness_p99_ms: float
    """Of the worst direction."""
    lateness_median_p99_ms: float
    """Of the median direction."""
    offered_pps: tuple[float, float]
    """Of the links and directions: the least and the most."""
    unasked_drops: int
    extra_delay_p99_ms: float
    behind_p99_ms: float

    @property
    def offered(self) -> bool:
        """Whether the load was what it was to be."""
        return all(abs(pps / PPS - 1) <= OFFERED_WITHIN for pps in self.offered_pps)

    @property
    def held(self) -> bool:
        """Whether the middle bore it."""
        return self.offered and self.lateness_p99_ms <= LATENESS_P99_MS and self.unasked_drops == 0


def measure(bench: Bench) -> Section:
    """A load on 64 links, then on more until they are late or lose something."""
    section = Section(
        "scale",
        f"{PPS:g} full-size packets/s on each of many links, in both directions, all at once",
        ["links", "packets/s, all", "p99 lateness, worst direction", "median direction", "drops not asked for"],
    )
    seconds = 2.0 if bench.quick else 3.0
    with hosts(bench.fabric_name) as two:
        links: list[Link] = []
        _grow(two, links, LINKS)
        trials = [
            trial(bench, two, links, seconds)
            for _ in bench.repeats(f"{LINKS} links", 2 if bench.quick else 3, 12 if bench.quick else 25)
        ]
        _add(section, trials)
        late = Spread.of([t.lateness_p99_ms for t in trials])
        drops = sum(t.unasked_drops for t in trials)
        section.targets += [
            Target(
                f"{LINKS} links, offered load",
                f"{PPS:g}/s per link and direction, within {OFFERED_WITHIN:.1%}",
                _offered(trials),
                all(t.offered for t in trials),
            ),
            Target(
                f"{LINKS} links, p99 lateness",
                f"≤ {LATENESS_P99_MS:g} ms",
                f"{late:.3f} ms",
                late.median <= LATENESS_P99_MS,
            ),
            Target(f"{LINKS} links, drops not asked for", "0", str(drops), drops == 0),
        ]
        most = LINKS if any(t.held for t in trials) else 0
        while most and not bench.quick and len(links) < MOST and bench.left_s > 20:
            _grow(two, links, min(MOST, len(links) + STEP))
            tried = [trial(bench, two, links, seconds) for _ in bench.repeats(f"{len(links)} links", 2, 20)]
            _add(section, tried)
            trials += tried
            if not any(t.held for t in tried):
                break
            most = len(links)
        section.notes.append(f"The largest number of links for which all of this held was {most} (steps of {STEP}).")
    section.raw["trials"] = [asdict(t) for t in trials]
    section.notes.append(
        f"Frames of {links[0]['frame_bytes']} B, {DELAY_MS:g} ms each way, counted by the hosts' interfaces. "
        "Lateness is by how much frames left after they were due, the kernel's delivery to the host included. "
        "Generator and relay share the machine's cores."
    )
    return section


def _grow(two: Hosts, links: list[Link], count: int) -> None:
    new = [plan_of(index, Asked(delay_ms=DELAY_MS)) for index in range(len(links) + 1, count + 1)]
    two.connect(new, shaped=False)
    links += new


def trial(bench: Bench, two: Hosts, links: Sequence[Link], seconds: float) -> Trial:
    """Load all links through a relay of their own."""
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as folder:
        middle = RelayMiddle(two.fabric, bench.binary, directory=Path(folder))
        try:
            middle.start(links)
            loaded = bench.instrument.load(Path(folder) / "plan.json", two.paths, pps=PPS, seconds=seconds)
        finally:
            middle.stop()
        relay = json.loads((Path(folder) / "result.json").read_text())
    p99s = [way["lateness_us"]["p99"] / 1000 for way in relay["links"]]
    offered = [way["sent"] / loaded["seconds"] for way in loaded["directions"]]
    return Trial(
        links=len(links),
        lateness_p99_ms=max(p99s),
        lateness_median_p99_ms=Spread.of(p99s).median,
        offered_pps=(min(offered), max(offered)),
        unasked_drops=sum(way["sent"] - way["received"] for way in loaded["directions"]),
        extra_delay_p99_ms=loaded["extra_delay_p99_ms"],
        behind_p99_ms=loaded["generator_behind_p99_ms"],
    )


def _add(section: Section, trials: Sequence[Trial]) -> None:
    late = Spread.of([t.lateness_p99_ms for t in trials])
    middle = Spread.of([t.lateness_median_p99_ms for t in trials])
    section.rows.append(
        [
            str(trials[0].links),
            f"{2 * trials[0].links * PPS:,.0f} offered" if all(t.offered for t in trials) else _offered(trials),
            f"{late:.3f} ms",
            f"{middle.median:.3f} ms",
            str(sum(t.unasked_drops for t in trials)),
        ]
    )


def _offered(trials: Sequence[Trial]) -> str:
    return f"{min(t.offered_pps[0] for t in trials):.1f} to {max(t.offered_pps[1] for t in trials):.1f} packets/s"
