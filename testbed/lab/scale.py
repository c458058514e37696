"""The number of links that the link emulator carries at once."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from typing_extensions import Self

from testbed.lab.ends import Bench, Hosts, LinkRequest, hosts, plan_of
from testbed.lab.instrument import ncp_link
from testbed.lab.table import Section, Spread
from testbed.runtime.processes import Supervised
from topologies.link import Link
from topologies.relay_middle import RelayMiddle, links_only_plan

LINKS, STEP, MOST = 64, 32, 255
PPS = 1024.0
DELAY_MS = 20.0
LATENESS_P99_MS = 1.0
OFFERED_WITHIN = 0.005
SHARE_OF_BARE = 0.5
READY_S = 10.0


@dataclass(frozen=True)
class Passed:
    """One load on links, and what became of its packets."""

    links: int
    offered_pps: tuple[float, float]
    """Range over links and directions: the least and the most."""
    unasked_drops: int

    @classmethod
    def of(cls, loaded: Mapping[str, Any], **further: Any) -> Self:
        """Read the answer of ``ncp-link load``; ``further`` are more fields."""
        offered = [way["sent"] / loaded["seconds"] for way in loaded["directions"]]
        lost = sum(way["sent"] - way["received"] for way in loaded["directions"])
        return cls(len(offered) // 2, (min(offered), max(offered)), lost, **further)

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
    going: dict[str, Callable[[Bench, Hosts, Sequence[Link]], Passed]] = {"relay": trial, "bare echo": bare}
    if bench.quick:
        del going["bare echo"]
    tried: dict[str, list[Passed]] = {by: [] for by in going}
    most = dict.fromkeys(going, 0)
    links: list[Link] = []
    with hosts(bench.fabric_name) as two:
        while going and (not links or bench.left_s > 20) and len(links) < MOST:
            count = min(MOST, len(links) + STEP) if links else LINKS
            new = [plan_of(index, LinkRequest(delay_ms=DELAY_MS)) for index in range(len(links) + 1, count + 1)]
            two.connect(new, shaped=False)
            links += new
            for by, load in list(going.items()):
                repeats, budget_s = (2, 12) if bench.quick else (2, 20) if tried[by] else (3, 25)
                found = [load(bench, two, links) for _ in bench.repeats(f"{count} links, {by}", repeats, budget_s)]
                _add(section, by, found)
                tried[by] += found
                if any(passed.held for passed in found):
                    most[by] = count
                else:
                    del going[by]
            if bench.quick:
                break
    first = [passed for passed in tried["relay"] if isinstance(passed, Trial) and passed.links == LINKS]
    late, drops = Spread.of([t.lateness_p99_ms for t in first]), sum(t.unasked_drops for t in first)
    wanted = f"{PPS:g}/s per link and direction, within {OFFERED_WITHIN:.1%}"
    section.target(f"{LINKS} links, offered load", wanted, _offered(first), all(t.offered for t in first))
    in_time = late.median <= LATENESS_P99_MS
    section.target(f"{LINKS} links, p99 lateness", f"≤ {LATENESS_P99_MS:g} ms", f"{late:.3f} ms", in_time)
    section.target(f"{LINKS} links, drops not asked for", "0", str(drops), drops == 0)
    if not bench.quick:
        own, limit = most.values()
        section.notes.append(
            f"The largest number of links for which all of this held was {own}; {limit} with a bare echo, which "
            f"takes frames from the same sockets and gives them on at once, however late (steps of {STEP})."
        )
        met = own / limit >= SHARE_OF_BARE if limit else None
        section.target("links beside a bare echo", f"≥ {SHARE_OF_BARE:g} of its", f"{own} of {limit}", met)
    relayed, bared = tried["relay"], tried.get("bare echo", [])
    section.raw |= {"trials": [asdict(t) for t in relayed], "bare": [asdict(b) for b in bared]}
    section.notes.append(
        f"Frames of {links[0]['frame_bytes']} B, {DELAY_MS:g} ms each way, counted by the hosts' interfaces. "
        "Lateness is by how much frames left after they were due, the kernel's delivery to the host included. "
        "Generator and relay share the machine's cores."
    )
    return section


def trial(bench: Bench, two: Hosts, links: Sequence[Link]) -> Trial:
    """Load all links through a relay of their own."""
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as folder:
        middle = RelayMiddle(two.fabric, bench.binary, directory=Path(folder))
        try:
            middle.start(links)
            loaded = _loaded(bench, two, Path(folder) / "plan.json")
        finally:
            middle.stop()
        relay = json.loads((Path(folder) / "result.json").read_text())
    p99s = [way["lateness_us"]["p99"] / 1000 for way in relay["links"]]
    return Trial.of(
        loaded,
        lateness_p99_ms=max(p99s),
        lateness_median_p99_ms=Spread.of(p99s).median,
        extra_delay_p99_ms=loaded["extra_delay_p99_ms"],
        behind_p99_ms=loaded["generator_behind_p99_ms"],
    )


def bare(bench: Bench, two: Hosts, links: Sequence[Link]) -> Passed:
    """The same load through packet sockets that only pass frames on: what a relay by them could bear at most."""
    with tempfile.TemporaryDirectory(prefix="ncp-bench-") as folder:
        plan, log = links_only_plan(Path(folder), links), Path(folder) / "bare.log"
        command = [str(bench.binary), "bare", "--plan", str(plan)]
        echo = Supervised("the bare echo", command, log, namespace=two.fabric.path)
        try:
            echo.await_ready(lambda: bool(log.read_text()), READY_S)
            return Passed.of(_loaded(bench, two, plan))
        finally:
            echo.end()


def _loaded(bench: Bench, two: Hosts, plan: Path) -> dict[str, Any]:
    namespaces = ("--netns", f"h1={two.paths[0]}", "--netns", f"h2={two.paths[1]}")
    return ncp_link(bench.binary, "load", *namespaces, plan=plan, pps=PPS, for_="2s" if bench.quick else "3s")


def _add(section: Section, by: str, trials: Sequence[Passed]) -> None:
    links, relayed = trials[0].links, [t for t in trials if isinstance(t, Trial)]
    section.row(
        str(links),
        by,
        f"{2 * links * PPS:,.0f} offered" if all(t.offered for t in trials) else _offered(trials),
        f"{Spread.of([t.lateness_p99_ms for t in relayed]):.3f} ms" if relayed else "",
        f"{Spread.of([t.lateness_median_p99_ms for t in relayed]).median:.3f} ms" if relayed else "",
        str(sum(t.unasked_drops for t in trials)),
    )


def _offered(trials: Sequence[Passed]) -> str:
    return f"{min(t.offered_pps[0] for t in trials):.1f} to {max(t.offered_pps[1] for t in trials):.1f} packets/s"
