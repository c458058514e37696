"""Set-up time of links against that of Mininet's own TCLink."""

from __future__ import annotations

import json
import sys

from testbed import paths
from testbed.lab.bench import Bench
from testbed.lab.ends import namespace
from testbed.lab.figures import Spread
from testbed.lab.result import Section, Target
from topologies.commands import dies_with_us, in_namespace, run
from topologies.fabric import namespace_of

COUNTS = (2, 20, 100)
NAMES = {"ours": "ncp-testbed", "tclink": "Mininet TCLink"}


def measure(bench: Bench) -> Section:
    """Two hosts with so many links, built by Mininet, each kind in turn."""
    section = Section("setup", "Time to set links up", ["links", "by", "seconds", "N"])
    for count in COUNTS[:2] if bench.quick else COUNTS:
        took: dict[str, list[float]] = {kind: [] for kind in NAMES}
        for _ in bench.repeats(f"set-up of {count} links", 1 if bench.quick else 3, 10 if bench.quick else 40):
            for kind in NAMES:
                took[kind].append(_seconds(bench, kind, count))
        section.raw[f"{count} links"] = took
        spreads = {kind: Spread.of(values) for kind, values in took.items()}
        for kind, spread in spreads.items():
            section.rows.append([str(count), NAMES[kind], f"{spread:.2f}", str(spread.n)])
        ratio = spreads["ours"].median / spreads["tclink"].median
        section.targets.append(
            Target(f"set-up of {count} links", "no longer than TCLink's", f"{ratio:.2f} of it", ratio <= 1.0)
        )
    section.notes.append(
        "Two hosts included, and for ours the relay until it forwards. TCLink has a bandwidth only (HTB): where the "
        "kernel has no netem it prints an error for a delay and goes on without."
    )
    return section


def _seconds(bench: Bench, kind: str, count: int) -> float:
    with namespace() as outer:  # TCLink makes its interfaces where it runs, before it moves them
        command = [sys.executable, "-m", "testbed.lab.mininet_links", kind, str(count)]
        command += [bench.fabric_name, str(bench.binary)]
        within = in_namespace(namespace_of(outer), ["env", f"PYTHONPATH={paths.CHECKOUT}"])
        said = run([*within, *dies_with_us(command)], timeout_s=120)
    return float(json.loads(said.strip().splitlines()[-1])["seconds"])
