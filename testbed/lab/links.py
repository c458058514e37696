"""The benchmark of links: ours beside others', in one run."""

import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from scipy import stats

from testbed.engines.mininet.engine import ENGINE
from testbed.errors import RunFailed, TestbedError
from testbed.lab import scale
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.ends import Bench, Candidate, LinkRequest, Ours, namespace, plan_of
from testbed.lab.instrument import WARM_UP_S, ncp_link, rate_errors, rtts_ms, tcp_goodput_bps
from testbed.lab.peers import Mahimahi, Rattan
from testbed.lab.table import Section, Spread, quantile
from topologies.commands import CommandFailed
from topologies.fabric import Fabric, namespace_of
from topologies.middle import RelayMiddle, has_netem
from topologies.within import within

OURS, MAHIMAHI = "ncp-testbed", Mahimahi.name
FULL_S, QUICK_S = 700.0, 85.0

RTTS_MS = (2, 50, 500)
MEAN_ERROR_MS, P99_ERROR_MS, RATIO_OF_RTTS = 0.1, 0.4, 0.5

RATES_BPS, QUICK_RATES_BPS = (0.1e6, 1e6, 10e6, 100e6, 200e6), (1e6, 100e6)
LARGEST_ERROR = 0.005

LOSSES = (0.001, 0.01, 0.1)
PACKETS, PPS = 20_000, 16_000.0
CONFIDENCE = 0.99

TCP_DELAY_MS = 10
RATIO_OF_GOODPUTS = 1.5

LINKS_SET_UP, SET_UP_MBIT = (2, 20, 100), 10


def rtt(bench: Bench) -> Section:
    """Errors of ICMP echoes' round-trip times."""
    section = Section("rtt", "Error of the round-trip time", ["RTT", "link", "mean error", "p99 error", "N"])
    count, most, budget_s = (100, 2, 12) if bench.quick else (250, 5, 45)
    for rtt_ms in RTTS_MS:
        means: dict[str, list[float]] = {name: [] for name in bench.candidates}
        p99s: dict[str, list[float]] = {name: [] for name in bench.candidates}
        for _, name, candidate in bench.turns(f"RTT {rtt_ms} ms", bench.candidates, most, budget_s):
            with candidate.link(LinkRequest(delay_ms=rtt_ms / 2)) as between:
                errors = [abs(found - rtt_ms) for found in rtts_ms(bench.binary, between, rtt_ms, count)]
            if len(errors) < 0.9 * count:
                section.notes.append(f"{name} at {rtt_ms} ms: {len(errors)} of {count} came back")
            if errors:
                means[name].append(statistics.mean(errors))
                p99s[name].append(quantile(errors, 0.99))
        section.raw[f"{rtt_ms} ms"] = {"mean_error_ms": means, "p99_error_ms": p99s}
        mean, p99 = ({name: Spread.of(v) for name, v in found.items() if v} for found in (means, p99s))
        for name, spread in mean.items():
            section.row(f"{rtt_ms} ms", name, f"{spread:.3f} ms", f"{p99[name]:.3f} ms", f"{spread.n}×{count}")
        own_ms = mean.pop(OURS).median
        section.at_most(f"RTT {rtt_ms} ms, mean error", own_ms, MEAN_ERROR_MS, ".3f", " ms")
        section.at_most(f"RTT {rtt_ms} ms, p99 error", p99[OURS].median, P99_ERROR_MS, ".3f", " ms")
        for name, spread in mean.items():
            what = f"RTT {rtt_ms} ms, mean error against {name}'s"
            section.at_most(what, own_ms / spread.median, RATIO_OF_RTTS, unit=" of it")
    section.notes.append(
        "Errors are absolute, per echo, from the kernel's stamp of the request as it left to that of the reply; "
        "the far end's kernel answers. Median of N repeats (smallest–largest)."
    )
    return section


def rate(bench: Bench) -> Section:
    """Errors of the rate, by a stream that is never short of packets."""
    section = Section("rate", "Error of the rate", ["rate", "link", "error of a 1 s window", "worst", "N"])
    peers = {name: peer for name, peer in bench.candidates.items() if name != OURS}
    at_host, in_middle = "rate at the host", "rate in the middle"
    candidates = {
        f"{OURS}, {at_host}": bench.candidates[OURS],
        f"{OURS}, {in_middle}": Ours(bench.fabric_name, bench.binary, "relay", rate_in_the_middle=True),
        **peers,
    }
    windows, most = (1, 1) if bench.quick else (2, 2)
    for rate_bps in QUICK_RATES_BPS if bench.quick else RATES_BPS:
        rate = f"{rate_bps / 1e6:g} Mbit/s"
        errors: dict[str, list[float]] = {name: [] for name in candidates}
        for _, name, candidate in bench.turns(f"rate {rate}", candidates, most, 35):
            errors[name] += rate_errors(bench.binary, candidate, rate_bps, windows)
        section.raw[rate] = errors
        for name, values in errors.items():
            if not values:
                section.notes.append(f"{name} at {rate}: too few packets arrived for a window")
                continue
            spread, worst = Spread.of(values), max(values, key=abs)
            section.row(rate, name, f"{spread.median:+.3%}", f"{worst:+.3%}", str(spread.n))
            if name not in peers:
                measured, met = f"{spread.median:+.3%}, worst {worst:+.3%}", abs(spread.median) <= LARGEST_ERROR
                section.target(f"{rate}, {name.split(', ')[1]}", f"within {LARGEST_ERROR:.1%}", measured, met)
    section.notes.append(
        "Each link counts bytes in its own way (Ethernet frames without FCS here, IP packets with 4 B of a TUN "
        "device for mahimahi, IP packets for rattan), and is judged by that. Median of N windows."
    )
    return section


def loss(bench: Bench) -> Section:
    """Whether as many packets are lost as chance would have it: small ones, none of them in each other's way."""
    columns = ["loss", "link", "lost", f"{CONFIDENCE:.0%} interval", "N"]
    section = Section("loss", f"Loss of {PACKETS:,} packets", columns)
    repeats, budget_s = (1, 8) if bench.quick else (3, 30)
    for share in LOSSES:
        fewest, most = map(int, stats.binom.interval(CONFIDENCE, PACKETS, share))
        lost: dict[str, list[int]] = {name: [] for name in bench.candidates}
        for repeat, name, candidate in bench.turns(f"loss {share:.1%}", bench.candidates, repeats, budget_s):
            with candidate.link(LinkRequest(loss=share, seed=1 + repeat)) as between:
                ends = {"from_": between.a, "to": between.b}
                found = ncp_link(bench.binary, "stream", **ends, ip_bytes=100, pps=PPS, packets=PACKETS, wait="300ms")
            lost[name].append(found["sent"] - found["received"])
        section.raw[f"{share:.1%}"] = lost
        for name, counts in lost.items():
            section.row(f"{share:.1%}", name, ", ".join(map(str, counts)), f"{fewest}–{most}", str(len(counts)))
        median, expected = statistics.median(lost[OURS]), f"{fewest} to {most} of {PACKETS:,} lost"
        section.target(f"loss {share:.1%}", expected, f"{median:g}", fewest <= median <= most)
    section.notes.append(
        "Binomial interval, exact. Our losses follow from seeds 1, 2, 3 and so are the same in every run; judged by "
        "the median of N repeats."
    )
    return section


def tcp(bench: Bench) -> Section:
    """Goodput of one iperf3 stream, cubic: what the middle itself can carry."""
    title = f"TCP goodput through {TCP_DELAY_MS} ms each way without a rate limit"
    section = Section("tcp", title, ["link", "goodput", "N"])
    expected = f"≥ {RATIO_OF_GOODPUTS} of {MAHIMAHI}'s"
    if not shutil.which("iperf3"):
        section.target("TCP goodput", expected, "iperf3 is not installed", None)
        return section
    links = {name: partial(c.link, LinkRequest(delay_ms=TCP_DELAY_MS)) for name, c in bench.candidates.items()}
    whole = LinkRequest(delay_ms=TCP_DELAY_MS, whole_segments=True)
    links[f"{OURS}, TCP's segments whole"] = partial(bench.candidates[OURS].link, whole)
    goodput: dict[str, list[float]] = {name: [] for name in links}
    seconds, most = (3, 1) if bench.quick else (5, 3)
    for _, name, link in bench.turns("TCP goodput", links, most, 75):
        with link() as between:
            try:
                goodput[name].append(tcp_goodput_bps(between, seconds))
            except (RunFailed, CommandFailed) as error:
                section.notes.append(f"{name}: {error}")
    section.raw["goodput_bps"] = goodput
    spreads_mbps = {name: Spread.of([bps / 1e6 for bps in values]) for name, values in goodput.items() if values}
    for name, spread in spreads_mbps.items():
        section.row(name, f"{spread:.0f} Mbit/s", str(spread.n))
    if {OURS, MAHIMAHI} <= spreads_mbps.keys():
        ratio = spreads_mbps[OURS].median / spreads_mbps[MAHIMAHI].median
        section.target("TCP goodput", expected, f"{ratio:.2f}", ratio >= RATIO_OF_GOODPUTS)
    else:
        section.target("TCP goodput", expected, "no figure of both", None)
    section.notes.append(
        f"iperf3, one stream, cubic, {seconds} s after {WARM_UP_S} s that are left out, MTU 1500, socket buffers up "
        "to 64 MiB at both ends; both iperf3 processes share the cores with the link. Segmentation offload is off "
        "on our links, as in every run, but for the last row, which no scenario asks for and no target is about."
    )
    return section


def ours_set_up_s(fabric_name: str, binary: Path, count: int) -> float:
    """Seconds until that many of our links forward, their middle included."""
    from topologies.planned import planned_network  # no other part needs Mininet

    begun = time.monotonic()
    fabric = Fabric(fabric_name)
    middle = RelayMiddle(fabric, binary)
    links = [plan_of(i, LinkRequest(delay_ms=10.0, rate_bps=SET_UP_MBIT * 1e6)) for i in range(1, count + 1)]
    with ExitStack() as made:
        made.callback(fabric.delete)
        fabric.create()
        made.callback(middle.stop)
        middle.prepare(links)
        net = planned_network({"h1": {}, "h2": {}}, links, fabric)
        made.callback(net.stop)
        middle.start(links)
        return time.monotonic() - begun


def tclink_set_up_s(count: int) -> float:
    """Seconds until that many TCLinks are there. They have a bandwidth only: a kernel without netem has no more."""
    from mininet.link import TCLink
    from mininet.net import Mininet

    begun = time.monotonic()
    net = Mininet(controller=None, build=False)
    try:
        ends = [net.addHost(name, ip=None) for name in ("h1", "h2")]
        for _ in range(count):
            net.addLink(*ends, cls=TCLink, bw=SET_UP_MBIT)
        net.build()
        return time.monotonic() - begun
    finally:
        net.stop()


def alone(make: Callable[[], float]) -> float:
    """Make links in a namespace of their own: TCLink makes its interfaces where it runs, before it moves them."""
    from mininet.log import setLogLevel

    setLogLevel("critical")
    with namespace() as outer:
        return within(namespace_of(outer), make)


def setup_time(bench: Bench) -> Section:
    """Set-up time of links between two hosts against that of Mininet's own TCLink."""
    section = Section("setup", "Time to set links up", ["links", "by", "seconds", "N"])
    kinds: dict[str, Callable[[int], float]]
    kinds = {"ours": partial(ours_set_up_s, bench.fabric_name, bench.binary), "tclink": tclink_set_up_s}
    names = {"ours": OURS, "tclink": "Mininet TCLink"}
    most, budget_s = (1, 10) if bench.quick else (3, 40)
    for count in LINKS_SET_UP[:2] if bench.quick else LINKS_SET_UP:
        took_s: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _, kind, make in bench.turns(f"set-up of {count} links", kinds, most, budget_s):
            took_s[kind].append(alone(partial(make, count)))
        section.raw[f"{count} links"] = took_s
        spreads = {kind: Spread.of(values) for kind, values in took_s.items()}
        for kind, spread in spreads.items():
            section.row(str(count), names[kind], f"{spread:.2f}", str(spread.n))
        own, other = (spread.median for spread in spreads.values())
        section.target(f"set-up of {count} links", "no longer than TCLink's", f"{own / other:.2f} of it", own <= other)
    section.notes.append(
        "Two hosts included, and for ours the relay until it forwards. TCLink has a bandwidth only (HTB): where the "
        "kernel has no netem it prints an error for a delay and goes on without."
    )
    return section


PARTS: Mapping[str, Callable[[Bench], Section]] = {
    "rtt": rtt,
    "rate": rate,
    "loss": loss,
    "tcp": tcp,
    "scale": scale.measure,
    "setup": setup_time,
}


def measure(requested: Measurement) -> None:
    """Measures each requested part, until the time is up; one that breaks down is a target missed, and the others go
    on."""
    namespace, binary = requested.namespace, requested.programs.binaries["ncp-link"]
    candidates: dict[str, Candidate] = {OURS: Ours(namespace, binary, "relay")}
    for peer in (Mahimahi(), Rattan()):
        if why := peer.missing() or _fault(peer):
            requested.missing.append(why)
        else:
            candidates[peer.name] = peer
    if has_netem():
        candidates[f"{OURS}, netem"] = Ours(namespace, binary, "netem")
    else:
        requested.missing.append("netem: this kernel has no sch_netem")
    ends_s = requested.begun_s + (QUICK_S if requested.quick else FULL_S)
    bench = Bench(namespace, binary, candidates, requested.quick, requested.say, ends_s)
    for part in requested.parts or PARTS:
        requested.load.sample()
        try:
            section = PARTS[part](bench)
        except (TestbedError, CommandFailed) as error:
            section = Section(part, f"{part}: broke down", ["part"], [[part]])
            section.target(part, "figures", str(error), False)
        requested.add(section)


def _fault(peer: Candidate) -> str:
    """The reason why an installed peer can't make a link, or nothing."""
    try:
        with peer.link(LinkRequest(delay_ms=1)):
            return ""
    except (TestbedError, CommandFailed) as error:
        return " ".join(str(error).split())


BENCHMARK = Benchmark("bench-links", "Links by `ncp-link relay` and others", ENGINE, measure, holds_machine=True)
