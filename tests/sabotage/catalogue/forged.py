"""A finished result that somebody has changed; in a bundle its list of checksums is written again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.study.hosts import fitness
from testbed.study.hosts.fitness import Measurement
from tests.cluster.host_links import host_links
from tests.sabotage.catalogue.machine import as_it_is, starved
from tests.sabotage.entry import AFTERWARDS, Change, Entry


def document(name: str, change: Callable[[Any], object]) -> Change:
    """A JSON file of the folder."""

    def on(folder: Path) -> None:
        file = folder / name
        found = json.loads(file.read_text())
        change(found)
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")

    return on


def text(name: str, old: str, new: str) -> Change:
    """The first place of a file where a pattern is found; loud where it is not."""

    def on(folder: Path) -> None:
        (file,) = sorted(folder.glob(name))[:1]
        changed, times = re.subn(old, new, file.read_text(), count=1)
        assert times == 1, f"{name} has no {old!r}"
        file.write_text(changed)

    return on


def _check(name: str, **values: Any) -> Callable[[Any], None]:
    return lambda found: next(c for c in found["checks"] if c["name"] == name).update(values)


def _trusted(folder: Path) -> None:
    document("verdict.json", lambda v: v.update(trust={"trusted": True, "reasons": []}, verdict="pass"))(folder)


def _drop_a_check(folder: Path) -> None:
    for name in ("plan.json", "verdict.json"):
        document(name, lambda of: of["checks"].pop())(folder)


def _forged(
    name: str, imitates: str, change: Change, *, of_links: bool = False, of: Callable[..., None] | None = None
) -> Entry:
    real = of or (as_it_is if of_links else None)
    return Entry(name, "forged folder", imitates, forged=change, real=real, unreached=AFTERWARDS)


_CONTROLS = (
    Entry(
        "control-finished",
        "control",
        "nothing, of a finished folder with its page",
        forged=lambda _: None,
        unreached=AFTERWARDS,
        expected="pass",
    ),
    Entry(
        "control-finished-real",
        "control",
        "nothing, of a finished folder of a run on real packets",
        forged=lambda _: None,
        real=as_it_is,
        unreached=AFTERWARDS,
        expected="pass",
    ),
)
_FOLDER = (
    _forged("forged-trust", "an untrusted run is called trusted", _trusted, of=starved),
    _forged(
        "forged-status",
        "a check's outcome is written over",
        document("verdict.json", _check("windows follow the law", measured=0.001)),
    ),
    _forged(
        "forged-figure",
        "10% more goodput in the verdict",
        document("verdict.json", lambda v: v["figures"].update(goodput_mib_s=1.25)),
    ),
    _forged(
        "forged-limit-of-a-check",
        "a tolerance ten times as wide, beside the scenario as it was",
        document("plan.json", _check("windows follow the law", tolerance=0.3)),
    ),
    _forged(
        "forged-limit-of-trust",
        "a machine may be late for a second, beside the scenario as it was",
        document("plan.json", lambda p: p["limits"].update(lateness_p99_ms=1000.0)),
    ),
    _forged("forged-check-dropped", "a check is taken out of plan and verdict", _drop_a_check),
    _forged("forged-windows", "a row of windows.csv", text("windows.csv", r"\n1\.\d+,1,[\d.]+", "\n1.0,1,4000")),
    _forged(
        "forged-links",
        "links.csv says that the rate was met to the bit",
        text("links.csv", r"(ab,)([\d.]+),[\d.]+", r"\1\2,\2"),
        of_links=True,
    ),
    _forged(
        "forged-events",
        "events.csv tells of a change that never was",
        lambda folder: _append(folder / "events.csv", "5.000000,5.000000,set,link slow: loss 1\n"),
    ),
    _forged(
        "forged-derived",
        "the law beside the windows is moved",
        text("derived.lp", r"expected_share=0\.\d+", "expected_share=0.9"),
    ),
    _forged(
        "forged-history",
        "a better figure for those who compare nights",
        text("history.lp", r"measured=[\d.]+", "measured=0.0001"),
    ),
    _forged("forged-plot", "a curve is drawn by hand", text("plots/*.svg", r"M (\d+)", r"M 1\1")),
    _forged("forged-report", "another sentence in the report", text("report.html", "PASS|pass", "perfect")),
    _forged(
        "forged-commit",
        "the run is said to be of another commit",
        document("provenance.json", lambda p: p.update(commit="0" * 40)),
    ),
    _forged(
        "forged-result", "an end's bytes", document("agents/s1-receiver.json", lambda r: r.update(bytes=r["bytes"] - 1))
    ),
    _forged(
        "forged-telemetry", "a sample is made nicer", text("telemetry.lp", r"window_share=0\.\d+", "window_share=0.55")
    ),
    _forged(
        "forged-telemetry-short", "the end of the telemetry is cut off", lambda folder: _halve(folder / "telemetry.lp")
    ),
)


def _bench_of_a_host(folder: Path) -> None:
    """Its links were a millisecond and a half off, and are said to have been good."""
    fitness.add_measurement(folder, "m1", host_links(rtt_ms=51.5))
    good = Measurement.of("m1", host_links()).model_dump()
    document(fitness.HOSTS_FILE, lambda found: found["hosts"][0].update(figures=good["figures"], off=good["off"]))(
        folder
    )


def _append(file: Path, line: str) -> None:
    file.write_text(file.read_text() + line)


def _halve(file: Path) -> None:
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: len(lines) // 2]))


_IN_BUNDLES = (
    "trust",
    "figure",
    "limit-of-a-check",
    "windows",
    "links",
    "events",
    "derived",
    "history",
    "plot",
    "report",
    "commit",
)
_BY_NAME: Mapping[str, Entry] = {entry.name: entry for entry in _FOLDER}
ENTRIES = (
    *_CONTROLS,
    *_FOLDER,
    Entry(
        "forged-host",
        "forged folder",
        "a host of a cluster whose links were off is called fit, in a table's folder",
        forged=_bench_of_a_host,
        of_table=True,
        unreached=AFTERWARDS,
    ),
    *(
        replace(_BY_NAME[f"forged-{name}"], name=f"bundled-{name}", of="forged bundle", in_bundle=True)
        for name in _IN_BUNDLES
    ),
)
