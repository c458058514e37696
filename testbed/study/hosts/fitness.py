"""Fitness of a host for a study's runs: its environment, its small runs and its links.

``python -m testbed.study.hosts.fitness STATE [EXPECTED]`` prints a host's environment as JSON; it ends with 1 and names
each difference from ``EXPECTED`` (JSON, the submitter's).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from packaging.utils import canonicalize_name
from pydantic import Field, ValidationError

from testbed import engines, paths
from testbed.documents import explain, write_json
from testbed.engines import provenance
from testbed.engines.engine import Options
from testbed.errors import BadInput, TestbedError
from testbed.judge.verify import differences
from testbed.lab.host_links import LIMITS, HostLinks
from testbed.machine import guest_kernel, packages
from testbed.machine.build import PROGRAMS
from testbed.machine.check import missing
from testbed.message import Message
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from testbed.scenario.section import Section
from testbed.study.cell import Target

GROUPS = ("setup", "testbed", "cluster")
"""Dependency groups installed on a host."""
WORDS = {
    "code": "sources",
    "python": "Python",
    "packages": "package",
    "programs": "Go program",
    "kernel": "guest kernel",
    "engines": "small run on",
}
"""Words for keys of the environment."""
TARGETS = {
    "containers": Target("mininet", "docker"),
    "processes": Target("mininet", "process"),
    "vkernel": Target("vkernel"),
    "sim": Target("sim"),
}
"""Requirements of each field of :class:`testbed.study.hosts.cluster.Can`."""
SCENARIO, SETTINGS = "startup", ("transfer=1MiB",)
"""The small run, which every host makes in the simulator, whatever the study's engine."""
POSSIBLE = "possible"
"""Stands for a digest where an engine is not deterministic."""
HOSTS_FILE = "hosts.json"


def environment() -> dict[str, Any]:
    """Returns this machine's ``commit`` (40 hexadecimal digits), ``code`` (digest of the code that plans, judges and
    reports), ``python``, ``machine`` (its processor) and ``packages`` (name → version, of those in :data:`GROUPS`)."""
    facts = provenance.of_machine_and_code()
    installed = {canonicalize_name(name): version for name, version in facts["packages"].items()}
    pinned = {canonicalize_name(line.split("==")[0]) for line in packages.export(*GROUPS).splitlines()}
    versions = {name: installed[name] for name in sorted(installed.keys() & pinned)}
    return {**{key: facts[key] for key in ("commit", "code", "python", "machine")}, "packages": versions}


def mismatches(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Returns a phrase for each value of ``ours`` that ``theirs`` lacks or has otherwise, and for each name that a
    mapping has only there."""
    found = []
    for key, here in ours.items():
        there, word = theirs.get(key) or type(here)(), WORDS.get(key, key)
        if isinstance(here, Mapping):
            found += [
                f"{word} {name} {there.get(name, 'missing')} there, {here.get(name, 'missing')} here"
                for name in sorted({*here, *there})
                if here.get(name) != there.get(name)
            ]
        elif there != here:
            found.append(f"{word} {there[:16] or 'none'} there, {here[:16] or 'none'} here")
    return found


def fingerprint(targets: Sequence[Target], results: Path) -> dict[str, Any]:
    """Returns values that must be the same on all hosts of a study: the environment and, by ``engines``, the digest of
    a small run in ``results``, :data:`POSSIBLE`, or the reason for none. Builds programs, and removes leftovers of
    killed runs."""
    found = {}
    for name, runtime in {"sim": "virtual", **{target.engine: target.runtime for target in targets}}.items():
        try:
            found[name] = _small_run(name, runtime, results / "canary" / name)
        except TestbedError as error:
            found[name] = f"not possible ({error.message})"
    return {**environment(), "engines": found}


def _small_run(name: str, runtime: str, folder: Path) -> str:
    """Returns the digest of a small run's telemetry."""
    engine = engines.named(name)
    engine.refuse_user("cluster")
    progress = QuietProgress()
    programs = engine.prepare(progress, runtime)
    engine.clear(progress.say)
    if not engine.deterministic():
        return POSSIBLE
    loaded = load(SCENARIO, SETTINGS, quick=True)
    plan = engine.plan(loaded, programs, engine.choices(Options()))
    run = engine.run(plan, loaded, programs, progress, folder)
    run.without_database(None)
    return sha256(run.folder / "telemetry.lp")[:16]


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def versions() -> dict[str, Any]:
    """Returns the environment, with digests of the Go ``programs`` and the guest ``kernel`` ("" without one)."""
    kernel, built = guest_kernel.built(), [paths.BINARIES / name for name in sorted(PROGRAMS)]
    programs = {path.name: sha256(path)[:16] for path in built if path.exists()}
    return {**environment(), "programs": programs, "kernel": sha256(kernel)[:16] if kernel else ""}


def abilities() -> dict[str, Any]:
    """Returns the host's usable ``cores``, the kinds of runs that it ``can`` make, and ``why_not`` the others."""
    why_not = {}
    for name, target in TARGETS.items():
        engine = engines.named(target.engine)
        lacks = [finding.name for finding in missing(engine.needs(target.runtime))]
        if engine.facts.kernel and engine.facts.virtual_time and guest_kernel.built() is None:
            lacks.append("the guest kernel with virtual time")
        if lacks:
            why_not[name] = f"missing: {', '.join(lacks)}"
    can = {name: name not in why_not for name in TARGETS}
    return {"cores": len(os.sched_getaffinity(0)), "can": can, "why_not": why_not}


class Measurement(Section):
    """Measurement of a host's links before a study, with derived values: ``figures``, and ``off``, reasons to leave the
    host out."""

    host: Annotated[str, Field(min_length=1)]
    figures: dict[str, float | None]
    off: list[str]
    links: HostLinks
    sha256: str
    """Digest of host and links."""

    @classmethod
    def of(cls, host: str, links: HostLinks) -> Measurement:
        """Derives the other fields."""
        digest = hashlib.sha256(f"{host} {links.model_dump_json()}".encode()).hexdigest()
        return cls(host=host, figures=links.figures(), off=links.off(), links=links, sha256=digest)


class Measurements(Section):
    """``hosts.json`` of a study on real packets, in time order: a host has another entry whenever it comes back, and
    after resume."""

    schema_: Annotated[Literal[1], Field(alias="schema")] = 1
    limits: dict[str, float]
    hosts: list[Measurement]


def add_measurement(folder: Path, host: str, links: HostLinks) -> None:
    """Append a measurement to a study's ``hosts.json``."""
    every = Measurements(limits=LIMITS, hosts=[*measurements(folder).hosts, Measurement.of(host, links)])
    write_json(folder / HOSTS_FILE, every.model_dump(by_alias=True))


def measurements(folder: Path) -> Measurements:
    """Reads a study's measurements, none without a file; raises :class:`BadInput` where the file is damaged."""
    file = folder / HOSTS_FILE
    try:
        return Measurements.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return Measurements(limits=LIMITS, hosts=[])
    except ValidationError as error:
        raise BadInput(
            "cluster.bad-hosts-file",
            f"{file}: {explain(error)}",
            "It is damaged, or no hosts.json of a cluster's study.",
        ) from error


def verify_measurements(folder: Path, made_runs: set[str]) -> Iterator[Message]:
    """Yields derived values that don't follow from the measurements, and hosts that ``made_runs`` without a measurement
    that finds them fit; raises :class:`BadInput` where the file is damaged."""
    recorded = measurements(folder)
    again = Measurements(limits=LIMITS, hosts=[Measurement.of(one.host, one.links) for one in recorded.hosts])
    # Fractions compare as texts: both come from the same arithmetic.
    yield from differences(
        HOSTS_FILE, *(json.loads(one.model_dump_json(), parse_float=str) for one in (recorded, again))
    )
    for host in sorted(made_runs - {one.host for one in again.hosts if not one.off}):
        yield Message(
            "hosts.not-measured",
            f"{HOSTS_FILE}: {host} made runs, and no measurement there says that its links were fit for them",
        )


def main(arguments: list[str]) -> int:
    """Print this host's environment; returns the exit code."""
    os.environ["NCP_TESTBED_NO_BUILD"] = "1"
    kernel = Path(arguments[0]) / "linux"
    if kernel.exists():
        os.environ["NCP_TESTBED_VKERNEL"] = str(kernel)
    found = versions()
    if len(arguments) > 1 and (differs := mismatches(json.loads(arguments[1]), found)):
        print(f"differs from the machine that makes the cluster: {'; '.join(differs)}", file=sys.stderr)
        return 1
    print(json.dumps({**found, **abilities()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
