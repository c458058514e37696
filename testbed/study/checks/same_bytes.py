"""Comparison of the data files of runs of one plan, by SHA-256."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.judge.status import Status, verdict_of

DATA = (".csv", ".json", ".jsonl", ".lp", ".pcap", ".sqlog")
"""Suffixes of data: measurements, samples, captures, traces and verdicts."""
NO_DATA = ("logs", "plots", "provenance.json")
"""Logs, drawings, and facts of the machine and the time of day."""
COSTS = {"sim.json": ("cpu_s", "peak_bytes")}
"""Keys of the cost of a simulation, which are left out of the comparison."""
TELEMETRY = "telemetry.lp"


@dataclass(frozen=True)
class Repetition:
    """Runs of a scenario, several with one seed and one with another, as in ``hashes.json``. It ``holds`` if all runs
    have the same files, no program in them ran without end, and the other seed gave other telemetry."""

    name: str
    holds: bool
    digest: str
    """Digest of all files of the first run, the same on another machine, in another folder and for another user."""
    differing: list[str]
    """Files that are not the same in all runs."""
    span: list[int]
    """Numbers (from 1) of runs with a program that ran without end, which are not called repeatable."""
    runs: list[dict[str, str]]
    """SHA-256 by the file's path in the run's folder."""
    other_seed: dict[str, str]

    def lines(self) -> list[str]:
        """Lines for the terminal: telemetry, captures, output of iperf3, and all files that differ."""
        lines = []
        for name in sorted({name for run in self.runs for name in run}):
            found = Counter(run.get(name, "") for run in self.runs)
            if name in self.differing:
                versions = (f"{digest[:12] or 'missing'} ×{n}" for digest, n in found.most_common())
                lines.append(f"differs  {name}: {', '.join(versions)}")
            elif name == TELEMETRY or name.endswith(".pcap") or "iperf3" in name:
                lines.append(f"same     {name}: {next(iter(found))}")
        files = len(set().union(*self.runs))
        lines.append(f"{'differs' if self.differing else 'same':<8} all {files} files: {self.digest}")
        if self.span:
            lines.append(f"span     in runs {', '.join(map(str, self.span))}: not called repeatable")
        other = "other telemetry" if _seed_matters(self.runs, self.other_seed) else "the SAME telemetry"
        head = f"{self.name}: {len(self.runs)} runs with one seed; another seed: {other}"
        return [head, *(f"  {line}" for line in lines)]


def judge(name: str, runs: Sequence[dict[str, str]], span: Sequence[int], other_seed: dict[str, str]) -> Repetition:
    """Compares the SHA-256 of each run's data files."""
    first = runs[0]
    differing = sorted(name for name in set().union(*runs) if any(run.get(name) != first.get(name) for run in runs))
    digest = hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in sorted(first.items())).encode())
    holds = TELEMETRY in first and not differing and not span and _seed_matters(runs, other_seed)
    return Repetition(name, holds, digest.hexdigest(), differing, list(span), list(runs), other_seed)


def verdict_over(holds: Iterable[bool]) -> Status:
    """Verdict of all scenarios, of which each holds or not."""
    return verdict_of([Status.PASS if one else Status.FAIL for one in holds])


def _seed_matters(runs: Sequence[dict[str, str]], other_seed: dict[str, str]) -> bool:
    return other_seed.get(TELEMETRY) != runs[0].get(TELEMETRY)


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the data files in a run's result folder, in the order of their paths."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.suffix in DATA}
    data = sorted((name, path) for name, path in paths.items() if path.is_file() and name.split("/")[0] not in NO_DATA)
    return {name: hashlib.sha256(_compared(path)).hexdigest() for name, path in data}


def _compared(path: Path) -> bytes:
    if path.name not in COSTS:
        return path.read_bytes()
    document = json.loads(path.read_bytes())
    return json.dumps({key: document[key] for key in document if key not in COSTS[path.name]}).encode()
