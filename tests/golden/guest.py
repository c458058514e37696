"""Figures of runs in a guest kernel: verdicts, what checks measured, windows, links and results.

A guest's bytes follow from the names and lengths of the files in it, so its telemetry is other bytes with every commit.
Where no packet is lost and no link changes, its figures hold to a ten-thousandth; so these runs are of that kind.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from testbed.documents import read_json
from testbed.judge.status import Status
from testbed.machine import guest_kernel as kernel
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from tests.golden import text
from tests.ready import in_a_guest

RECORDED = Path(__file__).with_name("files") / "guest.json"
RUNS: Mapping[str, tuple[str, ...]] = {
    "extreme --quick": ("extreme",),
    "extreme-reversed --quick": ("extreme-reversed",),
    "startup-far --quick": ("startup-far",),
}
"""As arguments of ``./run.sh``: the scenario of each, and what is changed in it. No packet of theirs is lost, and no
check is near its limit: a loss, or a sample more, moves figures by more than the tolerance."""
TOLERANCE = 0.001
Figures = dict[str, float | str]


def figures(folder: Path) -> Figures:
    """Of a result folder, by their names: numbers, and in words the verdicts."""
    return dict(_figures(folder))


def _figures(folder: Path) -> Iterator[tuple[str, float | str]]:
    verdict = read_json(folder / "verdict.json")
    yield "verdict", str(Status(verdict["verdict"]))  # an older result has other words
    for check in verdict["checks"]:
        yield f"{check['name']}: status", str(Status(check["status"]))
        told = {"measured": check["measured"], **check["figures"]}
        # Which connection is the worst of two that are alike is chance.
        yield from _numbers(f"{check['name']}: ", {k: v for k, v in told.items() if not k.startswith("worst_")})
    yield from _numbers("links ", {f"{row['link']} {row['direction']}": row for row in _rows(folder / "links.csv")})
    samples: dict[str, list[float]] = defaultdict(list)
    for row in _rows(folder / "windows.csv"):
        for column in ("window", "share", "in_flight", "rtt_ms", "rto_ms", "acked"):
            if column in row:
                samples[f"windows {row['session']} {row['connection']:g} {column}"].append(row[column])
    for name, values in samples.items():
        yield f"{name} mean", sum(values) / len(values)
        yield f"{name} last", values[-1]
    for file in sorted((folder / "agents").glob("*.json")):  # of reference results none are kept
        yield from _numbers(f"{file.name} ", read_json(file))


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """With numbers as such, and without what is empty."""
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            yield {key: _number(value) for key, value in row.items() if value}


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """All in a document, by their paths; times of the day are none."""
    if isinstance(value, dict):
        for key, part in value.items():
            if not key.endswith("_unix_ns"):
                yield from _numbers(f"{name}.{key}" if not name.endswith(" ") else f"{name}{key}", part)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _numbers(f"{name}.{place}", part)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, value


def differences(recorded: Figures, found: Figures) -> list[str]:
    """A line for each figure that is not there, or other than recorded by more than :data:`TOLERANCE` of it."""
    return [
        f"{name}: recorded {recorded.get(name)}, now {found.get(name)}"
        for name in sorted({*recorded, *found})
        if not _alike(recorded.get(name), found.get(name))
    ]


def _alike(recorded: float | str | None, found: float | str | None) -> bool:
    if isinstance(recorded, (int, float)) and isinstance(found, (int, float)):
        return abs(found - recorded) <= TOLERANCE * abs(recorded)
    return recorded == found


def again(name: str, results: Path) -> Figures:
    """Of one of :data:`RUNS`, made now; its result folder goes to ``results``. The guest kernel must be built."""
    scenario, *changed = RUNS[name]
    loaded = load(scenario, changed, quick=True)
    run = in_a_guest(loaded, QuietProgress(), seed=None, quick=True, results=results)
    run.without_database(None)
    return figures(run.folder)


def recorded() -> dict[str, Figures]:
    """By run."""
    found: dict[str, Figures] = read_json(RECORDED) if RECORDED.is_file() else {}
    return found


def write() -> None:
    """Record those runs that came out otherwise; needs the guest kernel, and takes minutes."""
    if kernel.built() is None:
        print(f"not written: {RECORDED.name}: the guest kernel is not built")
        return
    before = recorded()
    with TemporaryDirectory(prefix="ncp-golden-") as place:
        now = {name: again(name, Path(place, str(number))) for number, name in enumerate(RUNS)}
    kept = {
        name: before[name] if name in before and not differences(before[name], now[name]) else now[name] for name in now
    }
    if kept != before:
        RECORDED.write_text(text.pretty(kept) + "\n", encoding="utf-8")
        print(f"written: {RECORDED.name}")
