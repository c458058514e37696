"""The number of links that the link emulator carries at once."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed.errors import RunFailed
from testbed.lab.bench import Bench
from testbed.lab.ends import LinkRequest
from testbed.lab.figures import Spread
from testbed.lab.ours import Hosts, hosts, plan_of
from testbed.lab.result import Section, Target
from testbed.runtime.processes import Supervised
from topologies.link import Link
from topologies.relay_middle import RelayMiddle, links_only_plan

LINKS = 64
PPS = 1024.0
DELAY_MS = 20.0
LATENESS_P99_MS = 1.0
OFFERED_WITHIN = 0.005
LOAD_S = 3.0
STEP = 32
MOST = 255
SHARE_OF_BARE = 0.5
READY_S = 10.0


@dataclass(frozen=True)
class Passed:
    """One load on so many links, and what became of its packets."""

    links: int
    offered_pps: tuple[float, float]
    """Range over links and directions: the least and the most."""
    unasked_drops: int

    @property
    def offered(self) -> bool:
        """Whether the load was what it was to be."""
        return all(abs(pps / PPS - 1) <= OFFERED_WITHIN for pps in self.offered_pps)

    @property
    def held(self) -> bool:
        """Whether all was offered and all arrived."""
        return self.offered and self.unasked_drops == 0


@dataclass(frozen=True)
class Trial(Passed):
    """One load through the relay."""

    lateness_p99_ms: float
    """Lateness of the worst direction."""
    lateness_median_p99_ms: float
    """Lateness of the median direction."""
    extra_delay_p99_ms: float
    behind_p99_ms: float

    @property
    def held(self) -> bool:
        """Whether the relay was in time, too."""
        return super().held and self.lateness_p99_ms <= LATENESS_P99_MS


def measure(bench: Bench) -> Section:
    """A load on 64 links, then on more until they are late or lose something, and a bare echo does, too."""
    section = Section(
        "scale",
        f"{PPS:g} full-size packets/s on each of many links, in both directions, all at once",
        ["links", "by", "packets/s, all", "p99 lateness, worst direction", "median direction", "drops not asked for"],
    )
    seconds = 2.0 if bench.quick else LOAD_S
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
        bared: list[Passed] = []
        if not bench.quick:
            most, limit = _until_they_break(bench, section, two, links, trials, bared)
            section.notes.append(
                f"The largest number of links for which all of this held was {most}; {limit} with a bare echo, which "
                f"takes frames from the same sockets and gives them on at once, however late (steps of {STEP})."
            )
            share = most / limit if limit else None
            section.targets.append(
                Target(
                    "links beside a bare echo",
                    f"≥ {SHARE_OF_BARE:g} of its",
                    f"{most} of {limit}",
                    None if share is None else share >= SHARE_OF_BARE,
                )
            )
    section.raw |= {"trials": [asdict(t) for t in trials], "bare": [asdict(b) for b in bared]}
    section.notes.append(
        f"Frames of {links[0]['frame_bytes']} B, {DELAY_MS:g} ms each way, counted by the hosts' interfaces. "
        "Lateness is by how much frames left after they were due, the kernel's delivery to the host included. "
        "Generator and relay share the machine's cores."
    )
    return section


def _until_they_break(
    bench: Bench, section: Section, two: Hosts, links: list[Link], trials: list[Trial], bared: list[Passed]
) -> tuple[int, int]:
    """The most links that the relay and a bare echo bear, of steps from what ``trials`` have; 0: not even these."""
    most = LINKS if any(t.held for t in trials) else 0
    limit = 0
    relays, echoes = most > 0, True
    while (relays or echoes) and bench.left_s > 20:
        if relays and len(links) > LINKS:
            tried = [trial(bench, two, links, LOAD_S) for _ in bench.repeats(f"{len(links)} links", 2, 20)]
            _add(section, tried)
            trials += tried
            if relays := any(t.held for t in tried):
                most = len(links)
        if echoes:
            passed = [bare(bench, two, links, LOAD_S) for _ in bench.repeats(f"{len(links)} links, bare echo", 2, 20)]
            _add(section, passed)
            bared += passed
            if echoes := any(p.held for p in passed):
                limit = len(links)
        if len(links) == MOST:
            break
        _grow(two, links, min(MOST, len(links) + STEP))
    return most, limit


def _grow(two: Hosts, links: list[Link], count: int) -> None:
    new = [plan_of(index, LinkRequest(delay_ms=DELAY_MS)) for index in range(len(links) + 1, count + 1)]
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
    return Trial(
        links=len(links),
        offered_pps=_offered_pps(loaded),
        unasked_drops=_lost(loaded),
        lateness_p99_ms=max(p99s),
        lateness_median_p99_ms=Spread.of(p99s).median,
        extra_delay_p99_ms=loaded["extra_delay_p99_ms"],
        behind_p99_ms=loaded["generator_behind_p99_ms"],
    )


def bare(bench: Bench, two: Hosts, links: Sequence[Link], seconds: float) -> Passed:
    """The same load through packet sockets that only pass frames on: what a relay by them could bear at most."""
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as folder:
        plan, log = links_only_plan(Path(folder), links), Path(folder) / "bare.log"
        command = [str(bench.binary), "bare", "--plan", str(plan)]
        echo = Supervised.start("the bare echo", command, log, namespace=two.fabric.path)
        try:
            _await_ready(echo)
            loaded = bench.instrument.load(plan, two.paths, pps=PPS, seconds=seconds)
        finally:
            echo.end_group()
    return Passed(links=len(links), offered_pps=_offered_pps(loaded), unasked_drops=_lost(loaded))


def _await_ready(echo: Supervised) -> None:
    deadline = time.monotonic() + READY_S
    while not echo.log.read_text():
        if failure := echo.failure():
            raise RunFailed.of(failure)
        if time.monotonic() > deadline:
            raise RunFailed("bench.echo-not-ready", "the bare echo is not ready after {ready_s:g} s", ready_s=READY_S)
        time.sleep(0.01)


def _offered_pps(loaded: Mapping[str, Any]) -> tuple[float, float]:
    offered = [way["sent"] / loaded["seconds"] for way in loaded["directions"]]
    return min(offered), max(offered)


def _lost(loaded: Mapping[str, Any]) -> int:
    return sum(way["sent"] - way["received"] for way in loaded["directions"])


def _add(section: Section, trials: Sequence[Passed]) -> None:
    relayed = [t for t in trials if isinstance(t, Trial)]
    section.rows.append(
        [
            str(trials[0].links),
            "relay" if relayed else "bare echo",
            f"{2 * trials[0].links * PPS:,.0f} offered" if all(t.offered for t in trials) else _offered(trials),
            f"{Spread.of([t.lateness_p99_ms for t in relayed]):.3f} ms" if relayed else "",
            f"{Spread.of([t.lateness_median_p99_ms for t in relayed]).median:.3f} ms" if relayed else "",
            str(sum(t.unasked_drops for t in trials)),
        ]
    )


def _offered(trials: Sequence[Passed]) -> str:
    return f"{min(t.offered_pps[0] for t in trials):.1f} to {max(t.offered_pps[1] for t in trials):.1f} packets/s"
