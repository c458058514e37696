"""Whether runs of one plan are the same, byte by byte: their files of data, compared by SHA-256."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import TypedDict

from testbed.judge.status import Status, verdict_of

DATA = (".csv", ".json", ".jsonl", ".lp", ".pcap", ".sqlog")
"""What is measured, sampled, captured, traced and judged."""
NO_DATA = ("logs/", "plots/")
"""Folders of what is said of it, and of what is drawn of it."""
OF_THE_MACHINE = ("provenance.json",)
"""Data that tells of the machine and of the time of day."""
OF_THE_COMPUTER = {"sim.json": ("cpu_s", "peak_bytes")}
"""What a simulation cost: keys that are left out of a file before it is compared."""
TELEMETRY = "telemetry.lp"


class RepetitionEntry(TypedDict):
    """A scenario in ``hashes.json``, which is a list of them."""

    name: str
    holds: bool
    digest: str
    """Of all files of the first run."""
    differing: list[str]
    span: list[int]
    runs: list[dict[str, str]]
    """SHA-256 by file."""
    other_seed: dict[str, str]


Digests = Mapping[str, str]
"""SHA-256 in hexadecimal, by the file's path in the run's folder."""


def digests(folder: Path) -> dict[str, str]:
    """Those of a run's result folder, in the order of their paths."""
    files = (path for path in folder.rglob("*") if path.suffix in DATA and path.is_file())
    found = {str(path.relative_to(folder)): path for path in files}
    return {
        name: hashlib.sha256(_data(path)).hexdigest()
        for name, path in sorted(found.items())
        if name not in OF_THE_MACHINE and not name.startswith(NO_DATA)
    }


def _data(path: Path) -> bytes:
    left_out = OF_THE_COMPUTER.get(path.name)
    if left_out is None:
        return path.read_bytes()
    document = json.loads(path.read_bytes())
    return json.dumps({key: document[key] for key in document if key not in left_out}).encode()


@dataclass
class Repetition:
    """One scenario, run several times with one seed and once with another."""

    name: str
    runs: list[Digests] = field(default_factory=list)
    spans: list[int] = field(default_factory=list)
    """Which of the runs, from 1, had a program that span: they are not called repeatable."""
    other_seed: Digests = field(default_factory=dict)

    def contents(self) -> dict[str, Counter[str]]:
        """The different contents of each file, with how many of the runs have them; "" where it is missing."""
        names = sorted({name for run in self.runs for name in run})
        return {name: Counter(run.get(name, "") for run in self.runs) for name in names}

    @property
    def differing(self) -> list[str]:
        """The files that are not the same in all runs."""
        return [name for name, found in self.contents().items() if len(found) > 1]

    @property
    def seed_matters(self) -> bool:
        """Whether another seed gave other telemetry."""
        return self.other_seed.get(TELEMETRY) != self.runs[0].get(TELEMETRY)

    @property
    def holds(self) -> bool:
        """All the same, no program span, and another seed is another run."""
        return TELEMETRY in self.runs[0] and not self.differing and not self.spans and self.seed_matters

    def digest(self) -> str:
        """One for all files of the first run: to be compared with that of another machine, folder or user."""
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(self.runs[0].items()))
        return hashlib.sha256(lines.encode()).hexdigest()

    def lines(self) -> list[str]:
        """What came out, a line each: telemetry, captures and iperf3's own words, and whatever differs."""
        found, count = self.contents(), len(self.runs)
        told = []
        for name, versions in found.items():
            if len(versions) > 1:
                kinds = ", ".join(f"{_short(digest)} ×{n}" for digest, n in versions.most_common())
                told.append(f"differs  {name}: {kinds}")
            elif name == TELEMETRY or name.endswith(".pcap") or "iperf3" in name:
                told.append(f"same     {name}: {next(iter(versions))}")
        told.append(f"{'same' if not self.differing else 'differs':<8} all {len(found)} files: {self.digest()}")
        if self.spans:
            told.append(f"span     in runs {', '.join(map(str, self.spans))}: not called repeatable")
        other = "other telemetry" if self.seed_matters else "the SAME telemetry"
        return [f"{self.name}: {count} runs with one seed; another seed: {other}", *(f"  {line}" for line in told)]

    def as_json(self) -> RepetitionEntry:
        """Its entry in ``hashes.json``."""
        return {
            "name": self.name,
            "holds": self.holds,
            "digest": self.digest(),
            "differing": self.differing,
            "span": self.spans,
            "runs": [dict(run) for run in self.runs],
            "other_seed": dict(self.other_seed),
        }


def verdict_over(holds: Iterable[bool]) -> Status:
    """Of all scenarios, by whether each one :attr:`~Repetition.holds`."""
    return verdict_of([Status.PASS if one else Status.FAIL for one in holds])


def _short(digest: str) -> str:
    return digest[:12] or "missing"
