"""A small run before a study: a host whose bytes are not the submitter's, or who is of another make, gets no runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import engines
from testbed.engines import Options
from testbed.errors import TestbedError
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from testbed.study.cluster import alike
from testbed.study.executor import Way

SCENARIO, SETTINGS = "startup", ("transfer=1MiB",)
SIMULATOR = "sim"
"""Every host makes a run in it, whatever the study is made on."""


@dataclass(frozen=True)
class Fingerprint:
    """What must be the same on all hosts of a study."""

    common: Mapping[str, Any]
    """As :func:`alike.common` has it."""
    hashes: Mapping[str, str]
    """Engine → SHA-256 of the telemetry of the small run; none of engines that are not exact."""
    cannot: Mapping[str, str]
    """Engine → why it makes no runs here."""


def fingerprint(ways: Sequence[Way], results: Path) -> Fingerprint:
    """This machine's, for the ways that a study's runs are made; its own are made in ``results``. What killed runs left
    is removed on the way, and programs are built."""
    hashes, cannot = {}, {}
    for name, runtime in {SIMULATOR: "virtual", **{way.engine: way.runtime for way in ways}}.items():
        try:
            if found := _telemetry(name, runtime, results):
                hashes[name] = found
        except TestbedError as error:
            cannot[name] = error.message
    return Fingerprint(alike.common(), hashes, cannot)


def _telemetry(name: str, runtime: str, results: Path) -> str:
    """The SHA-256 of a small run's telemetry, "" where no two are the same."""
    engine = engines.named(name)
    engine.refuse_user("cluster")
    progress = QuietProgress()
    programs = engine.prepare(progress, runtime)
    engine.clear(progress.say)
    if not engine.exact():
        return ""
    loaded = load(SCENARIO, SETTINGS, quick=True)
    run = engine.run(
        engine.plan(loaded, programs, engine.choices(Options())), loaded, programs, progress, results / "canary" / name
    )
    run.without_database(None)
    return hashlib.sha256((run.folder / "telemetry.lp").read_bytes()).hexdigest()


def differences(ours: Fingerprint, theirs: Fingerprint) -> list[str]:
    """A line for each thing by which a host is not fit for the study; none if it is."""
    found = alike.differences(ours.common, theirs.common)
    found += [
        f"its small run on {engine} is not the same bytes ({theirs.hashes[engine][:12]} there, {digest[:12]} here)"
        if engine in theirs.hashes
        else f"it made no small run on {engine}"
        for engine, digest in ours.hashes.items()
        if engine not in theirs.cannot and theirs.hashes.get(engine) != digest
    ]
    return found + [f"{engine}: {why}" for engine, why in theirs.cannot.items()]
