"""A small run before a study: a host whose bytes are not the submitter's, or who is of another make, gets no runs."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from testbed import engines, paths
from testbed.engines import Options
from testbed.errors import TestbedError
from testbed.runner import provenance
from testbed.runner.progress import QuietProgress
from testbed.scenario.load import load

SCENARIO, SETTINGS = "startup", ("transfer=1MiB",)
SIMULATOR = "sim"
"""Every host makes a run in it, whatever the study is made on."""


@dataclass(frozen=True)
class Fingerprint:
    """What must be the same on all hosts of a study."""

    commit: str
    code: str
    """Changes with what plans, judges and reports."""
    python: str
    machine: str
    packages: Mapping[str, str]
    """Of those that the testbed imports, name → version."""
    hashes: Mapping[str, str]
    """Engine → SHA-256 of the telemetry of the small run; none of engines that are not exact."""
    cannot: Mapping[str, str]
    """Engine → why it makes no runs here."""


def fingerprint(names: Sequence[str], results: Path) -> Fingerprint:
    """This machine's, for the engines of a study; its runs are made in ``results``. What killed runs left is removed
    on the way, and programs are built."""
    facts = provenance.of_machine_and_code()
    packages = {canonicalize_name(name): version for name, version in facts["packages"].items()}
    hashes, cannot = {}, {}
    for name in dict.fromkeys((SIMULATOR, *names)):
        try:
            if found := _telemetry(name, results):
                hashes[name] = found
        except TestbedError as error:
            cannot[name] = error.message
    return Fingerprint(
        facts["commit"],
        facts["code"],
        ".".join(map(str, sys.version_info[:3])),
        platform.machine(),
        {name: packages[name] for name in packages.keys() & _imported()},
        hashes,
        cannot,
    )


def _telemetry(name: str, results: Path) -> str:
    """The SHA-256 of a small run's telemetry, "" where no two are the same."""
    engine = engines.named(name)
    engine.refuse_user("cluster")
    progress = QuietProgress()
    programs = engine.prepare(progress, "docker")
    engine.clear(progress.say)
    if not engine.exact():
        return ""
    loaded = load(SCENARIO, SETTINGS, quick=True)
    run = engine.run(
        engine.plan(loaded, programs, engine.choices(Options())), loaded, programs, progress, results / "canary" / name
    )
    run.without_database(None)
    return hashlib.sha256((run.folder / "telemetry.lp").read_bytes()).hexdigest()


def _imported() -> frozenset[str]:
    """Names of the packages that ``requirements.lock`` pins."""
    lines = (paths.CHECKOUT / "requirements.lock").read_text().splitlines()
    return frozenset(canonicalize_name(line.split("==")[0]) for line in lines if line[:1].isalnum())


def differences(ours: Fingerprint, theirs: Fingerprint) -> list[str]:
    """A line for each thing by which a host is not fit for the study; none if it is."""
    found = [
        f"{name} {getattr(theirs, key)[:16]} there, {getattr(ours, key)[:16]} here"
        for key, name in (("commit", "commit"), ("code", "sources"), ("python", "Python"), ("machine", "machine"))
        if getattr(ours, key) != getattr(theirs, key)
    ]
    found += [
        f"package {name} {theirs.packages.get(name, 'missing')} there, {ours.packages.get(name, 'missing')} here"
        for name in sorted({*ours.packages, *theirs.packages})
        if ours.packages.get(name) != theirs.packages.get(name)
    ]
    found += [
        f"its small run on {engine} is not the same bytes ({theirs.hashes[engine][:12]} there, {digest[:12]} here)"
        if engine in theirs.hashes
        else f"it made no small run on {engine}"
        for engine, digest in ours.hashes.items()
        if engine not in theirs.cannot and theirs.hashes.get(engine) != digest
    ]
    return found + [f"{engine}: {why}" for engine, why in theirs.cannot.items()]
