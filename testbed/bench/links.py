"""The benchmark of links: ours beside others', in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from testbed.bench import folder, loss, rate, rtt, scale, setup_time, table, tcp
from testbed.bench.bench import Bench
from testbed.bench.ends import Asked, Candidate
from testbed.bench.instrument import Instrument
from testbed.bench.ours import Ours
from testbed.bench.peers import Mahimahi, Rattan
from testbed.bench.quiet import HostLoad
from testbed.bench.result import Section, Target, all_met
from testbed.errors import TestbedError
from topologies.commands import CommandFailed
from topologies.middle import has_netem

NAME = "bench-links"
PARTS: dict[str, Callable[[Bench], Section]] = {
    "rtt": rtt.measure,
    "rate": rate.measure,
    "loss": loss.measure,
    "tcp": tcp.measure,
    "scale": scale.measure,
    "setup": setup_time.measure,
}
FULL_S, QUICK_S = 700.0, 85.0


def run(
    run_id: str, namespace: str, binary: Path, parts: Sequence[str], *, quick: bool, say: Callable[[str], None]
) -> bool:
    """Measure, print and write the result folder; whether no target was missed.

    The machine must be held (:func:`testbed.runner.live.only_run`) for the run, whose fabric is ``namespace``.
    """
    begun = time.monotonic()
    bench = _bench(namespace, binary, quick, say, begun + (QUICK_S if quick else FULL_S))
    load = HostLoad()
    sections = []
    for part in parts:
        load.sample()
        section = _measured(part, bench)
        sections.append(section)
        print(table.as_text(section), end="\n\n", flush=True)
    figures = {
        "quick": quick,
        "duration_s": round(time.monotonic() - begun, 1),
        "machine": folder.machine(),
        "host_load": load.as_json(),
        "missing": bench.missing,
    }
    head = headline(run_id, figures, str(load))
    folder.write(NAME, run_id, head, figures, sections)
    print(head)
    return all_met(sections)


def _measured(part: str, bench: Bench) -> Section:
    """A part's section; one that breaks down is a target missed, and the others go on."""
    try:
        return PARTS[part](bench)
    except (TestbedError, CommandFailed) as error:
        broken = Section(part, f"{part}: broke down", ["part"], [[part]])
        broken.targets.append(Target(part, "figures", str(error), False))
        return broken


def _bench(namespace: str, binary: Path, quick: bool, say: Callable[[str], None], ends_s: float) -> Bench:
    peers: list[Candidate] = []
    missing = []
    for peer in (Mahimahi, Rattan):
        why = peer.missing() or _fault(peer())
        if why:
            missing.append(why)
        else:
            peers.append(peer())
    if has_netem():
        peers.append(Ours(namespace, binary, "netem"))
    else:
        missing.append("netem: this kernel has no sch_netem")
    return Bench(
        namespace, binary, Instrument(binary), Ours(namespace, binary, "relay"), peers, quick, say, ends_s, missing
    )


def _fault(peer: Candidate) -> str:
    """What keeps a peer that is installed from making a link, or nothing."""
    try:
        with peer.link(Asked(delay_ms=1)):
            return ""
    except (TestbedError, CommandFailed) as error:
        return " ".join(str(error).split())


def headline(run_id: str, document: dict[str, Any], load: str) -> str:
    """Where and how it was measured, and who is missing."""
    lines = [
        f"Links by `ncp-link relay` and others, {run_id}: {folder.in_words(document['machine'])}; "
        f"{load}; {document['duration_s']:.0f} s{', --quick' if document['quick'] else ''}."
    ]
    if document["missing"]:
        lines.append("Not compared: " + "; ".join(document["missing"]) + ".")
    return " ".join(lines)
