"""The benchmark of links: ours beside others', in one run."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.bench import loss, rate, rtt, scale, setup_time, table, tcp
from testbed.bench.bench import Bench
from testbed.bench.ends import Candidate
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
    run_id: str,
    namespace: str,
    binary: Path,
    parts: Sequence[str],
    *,
    quick: bool,
    say: Callable[[str], None],
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
    folder = paths.results() / NAME / run_id
    folder.mkdir(parents=True)
    document = {
        "schema": 1, "run": run_id, "quick": quick, "duration_s": round(time.monotonic() - begun, 1),
        "machine": machine(), "host_load": {"busy": load.busy, "was_busy": load.was_busy},
        "missing": bench.missing, "passed": all_met(sections), "sections": [s.as_json() for s in sections],
    }  # fmt: skip
    (folder / "bench.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    head = headline(document, str(load))
    (folder / "bench.md").write_text(table.as_markdown(head, sections))
    latest = folder.parent / "latest"
    latest.unlink(missing_ok=True)
    latest.symlink_to(run_id)
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
        why = peer.missing()
        if why:
            missing.append(why)
        else:
            peers.append(peer())
    if has_netem():
        peers.append(Ours(namespace, binary, "netem"))
    else:
        missing.append("netem: this kernel has no sch_netem")
    return Bench(
        namespace,
        binary,
        Instrument(binary),
        Ours(namespace, binary, "relay"),
        peers,
        quick,
        say,
        ends_s,
        missing,
    )


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "kernel": platform.release(), "cores": os.cpu_count(), "load_average": os.getloadavg(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }  # fmt: skip


def headline(document: dict[str, Any], load: str) -> str:
    """Where and how it was measured, and who is missing."""
    where = document["machine"]
    lines = [
        f"Links by `ncp-link relay` and others, {document['run']}: Linux {where['kernel']}, {where['cores']} cores; "
        f"{load}; {document['duration_s']:.0f} s{', --quick' if document['quick'] else ''}."
    ]
    if document["missing"]:
        lines.append("Not compared: " + "; ".join(document["missing"]) + ".")
    return " ".join(lines)
