"""The benchmark of links: ours beside others', in one run."""

from __future__ import annotations

from collections.abc import Callable

from testbed.engines.mininet.engine import ENGINE
from testbed.errors import TestbedError
from testbed.lab import loss, rate, rtt, scale, setup_time, tcp
from testbed.lab.bench import Bench
from testbed.lab.benchmark import Benchmark, Measurement
from testbed.lab.ends import Candidate, LinkRequest
from testbed.lab.instrument import Instrument
from testbed.lab.ours import Ours
from testbed.lab.peers import Mahimahi, Rattan
from testbed.lab.result import Section, Target
from topologies.commands import CommandFailed
from topologies.middle import has_netem

PARTS: dict[str, Callable[[Bench], Section]] = {
    "rtt": rtt.measure,
    "rate": rate.measure,
    "loss": loss.measure,
    "tcp": tcp.measure,
    "scale": scale.measure,
    "setup": setup_time.measure,
}
FULL_S, QUICK_S = 700.0, 85.0


def measure(requested: Measurement) -> None:
    """Measures each requested part, until the time is up."""
    bench = _bench(requested)
    for part in requested.parts or PARTS:
        requested.load.sample()
        requested.add(_measured(part, bench))


def _measured(part: str, bench: Bench) -> Section:
    """A part's section; one that breaks down is a target missed, and the others go on."""
    try:
        return PARTS[part](bench)
    except (TestbedError, CommandFailed) as error:
        broken = Section(part, f"{part}: broke down", ["part"], [[part]])
        broken.targets.append(Target(part, "figures", str(error), False))
        return broken


def _bench(requested: Measurement) -> Bench:
    namespace, binary = requested.namespace, requested.programs.binaries["ncp-link"]
    peers: list[Candidate] = []
    for peer in (Mahimahi, Rattan):
        why = peer.missing() or _fault(peer())
        if why:
            requested.missing.append(why)
        else:
            peers.append(peer())
    if has_netem():
        peers.append(Ours(namespace, binary, "netem"))
    else:
        requested.missing.append("netem: this kernel has no sch_netem")
    ends_s = requested.begun_s + (QUICK_S if requested.quick else FULL_S)
    ours = Ours(namespace, binary, "relay")
    return Bench(namespace, binary, Instrument(binary), ours, peers, requested.quick, requested.say, ends_s)


def _fault(peer: Candidate) -> str:
    """The reason why an installed peer can't make a link, or nothing."""
    try:
        with peer.link(LinkRequest(delay_ms=1)):
            return ""
    except (TestbedError, CommandFailed) as error:
        return " ".join(str(error).split())


BENCHMARK = Benchmark("bench-links", "Links by `ncp-link relay` and others", ENGINE, measure, holds_machine=True)
