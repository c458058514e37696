"""Whether a host may make a study's runs: its environment, its small runs and its links.

``python -m testbed.study.hosts.fitness STATE [EXPECTED]`` prints as JSON what a host has; it ends with 1 and names each
difference where ``EXPECTED`` (JSON, the submitter's) is not the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from packaging.utils import canonicalize_name
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from testbed import engines, paths
from testbed.documents import write_json
from testbed.engines import Options, provenance
from testbed.errors import BadInput, TestbedError
from testbed.lab.host_links import LIMITS, HostLinks
from testbed.machine import guest_kernel, missing, packages
from testbed.machine.build import PROGRAMS
from testbed.message import Message
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from testbed.study.cell import Target

GROUPS = ("setup", "testbed", "cluster")
"""Of dependencies: the packages of a host."""
WORDS = {"code": "sources", "python": "Python", "programs": "Go programs", "kernel": "guest kernel"}
"""What is called otherwise than its key."""
TARGETS = {
    "containers": Target("mininet", "docker"),
    "processes": Target("mininet", "process"),
    "vkernel": Target("vkernel"),
    "sim": Target("sim"),
}
"""What each field of :class:`testbed.study.hosts.cluster.Can` requires of a host."""
SCENARIO, SETTINGS = "startup", ("transfer=1MiB",)
"""The canary's; every host makes it in the simulator, whatever the study's engine."""
HOSTS_FILE = "hosts.json"


def environment() -> dict[str, Any]:
    """This machine's ``commit`` (40 hexadecimal digits), ``code`` (changes with what plans, judges and reports),
    ``python``, ``machine`` (its processor) and ``packages`` (name → version, of those in :data:`GROUPS`)."""
    facts = provenance.of_machine_and_code()
    installed = {canonicalize_name(name): version for name, version in facts["packages"].items()}
    pinned = {canonicalize_name(line.split("==")[0]) for line in packages.export(*GROUPS).splitlines()}
    versions = {name: installed[name] for name in sorted(installed.keys() & pinned)}
    return {**{key: facts[key] for key in ("commit", "code", "python", "machine")}, "packages": versions}


def mismatches(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """A phrase for each value of ``ours`` that ``theirs`` lacks or has otherwise, and for packages only there."""
    found = []
    for key, here in ours.items():
        there = theirs.get(key) or type(here)()
        if isinstance(here, Mapping):
            found += [
                f"package {name} {there.get(name, 'missing')} there, {here.get(name, 'missing')} here"
                for name in sorted({*here, *there})
                if here.get(name) != there.get(name)
            ]
        elif there != here:
            found.append(f"{WORDS.get(key, key)} {there[:16] or 'none'} there, {here[:16] or 'none'} here")
    return found


@dataclass(frozen=True)
class Fingerprint:
    """What must be the same on all hosts of a study."""

    environment: Mapping[str, Any]
    hashes: Mapping[str, str]
    """Engine → SHA-256 of the canary's telemetry; none of engines that are not exact."""
    cannot: Mapping[str, str]
    """Engine → why it makes no runs here."""

    def mismatches(self, theirs: Fingerprint) -> list[str]:
        """Why a host is unfit for the study; none if it is fit."""
        found = mismatches(self.environment, theirs.environment)
        found += [
            f"its small run on {engine} is not the same bytes ({theirs.hashes[engine][:12]} there, {digest[:12]} here)"
            if engine in theirs.hashes
            else f"it made no small run on {engine}"
            for engine, digest in self.hashes.items()
            if engine not in theirs.cannot and theirs.hashes.get(engine) != digest
        ]
        return found + [f"{engine}: {why}" for engine, why in theirs.cannot.items()]


def fingerprint(targets: Sequence[Target], results: Path) -> Fingerprint:
    """This machine's, with canaries in ``results``. Builds programs, and removes what killed runs left."""
    hashes, cannot = {}, {}
    for name, runtime in {"sim": "virtual", **{target.engine: target.runtime for target in targets}}.items():
        try:
            if digest := _canary(name, runtime, results / "canary" / name):
                hashes[name] = digest
        except TestbedError as error:
            cannot[name] = error.message
    return Fingerprint(environment(), hashes, cannot)


def _canary(name: str, runtime: str, folder: Path) -> str:
    """The SHA-256 of a small run's telemetry, "" where the engine is not exact."""
    engine = engines.named(name)
    engine.refuse_user("cluster")
    progress = QuietProgress()
    programs = engine.prepare(progress, runtime)
    engine.clear(progress.say)
    if not engine.deterministic():
        return ""
    loaded = load(SCENARIO, SETTINGS, quick=True)
    plan = engine.plan(loaded, programs, engine.choices(Options()))
    run = engine.run(plan, loaded, programs, progress, folder)
    run.without_database(None)
    return hashlib.sha256((run.folder / "telemetry.lp").read_bytes()).hexdigest()


def versions() -> dict[str, Any]:
    """The environment, with SHA-256 of the Go ``programs`` and the guest ``kernel``, "" where there is none."""
    kernel = guest_kernel.built()
    programs = _digest(*(paths.BINARIES / name for name in sorted(PROGRAMS)))
    return {**environment(), "programs": programs, "kernel": _digest(kernel) if kernel else ""}


def _digest(*files: Path) -> str:
    if not all(path.exists() for path in files):
        return ""
    return hashlib.sha256("".join(map(sha256, files)).encode()).hexdigest()[:16]


def sha256(path: Path) -> str:
    """Of a file's bytes, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def abilities() -> dict[str, Any]:
    """``cores`` that may be used, what the host ``can`` make runs in, and ``why_not``."""
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


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Measurement(_Document):
    """Of a host's links before a study, with what follows from it: ``figures``, and ``off``, why it was left out."""

    host: Annotated[str, Field(min_length=1)]
    figures: dict[str, float | None]
    off: list[str]
    links: HostLinks
    sha256: str
    """Of host and links."""

    @classmethod
    def of(cls, host: str, links: HostLinks) -> Measurement:
        """With what follows."""
        digest = hashlib.sha256(f"{host} {links.model_dump_json()}".encode()).hexdigest()
        return cls(host=host, figures=links.figures(), off=links.off(), links=links, sha256=digest)


class Measurements(_Document):
    """``hosts.json`` of a study on real packets, in time order: a host again where it came again, or on resume."""

    schema_: Annotated[Literal[1], Field(alias="schema")] = 1
    limits: dict[str, float]
    hosts: list[Measurement]


def add_measurement(folder: Path, host: str, links: HostLinks) -> None:
    """Append one to a study's ``hosts.json``."""
    every = Measurements(limits=LIMITS, hosts=[*measurements(folder).hosts, Measurement.of(host, links)])
    write_json(folder / HOSTS_FILE, every.model_dump(by_alias=True))


def measurements(folder: Path) -> Measurements:
    """Those of a study, none without a file; raises :class:`BadInput` where the file is damaged."""
    file = folder / HOSTS_FILE
    try:
        return Measurements.model_validate_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Measurements(limits=LIMITS, hosts=[])
    except (ValidationError, UnicodeDecodeError) as error:
        why = f"{error}"
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = f"{'.'.join(map(str, first['loc'])) or 'the document'}: {first['input']!r:.60}: {first['msg']}"
        raise BadInput(
            "cluster.bad-hosts-file",
            "{file}: {why}",
            "It is what {name} of a cluster's study is not: damaged, or another.",
            file=file,
            why=why,
            name=HOSTS_FILE,
        ) from error


def verify_measurements(folder: Path, outcomes: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """What does not follow from what was measured, and hosts that made runs (``host`` of ``outcomes``) without a
    measurement that says they were fit; raises :class:`BadInput` where the file is damaged."""
    recorded, fit = measurements(folder), set()
    if recorded.limits != LIMITS:
        yield Message(
            "hosts.other-limits",
            "{file}: limits: {recorded} are recorded, {again} are those of this testbed",
            file=HOSTS_FILE,
            recorded=recorded.limits,
            again=LIMITS,
        )
    for number, one in enumerate(recorded.hosts):
        again = Measurement.of(one.host, one.links)
        for key in ("figures", "off", "sha256"):
            if getattr(one, key) != getattr(again, key):
                yield Message(
                    "hosts.does-not-follow",
                    "{file}: hosts.{number}.{key}: {recorded} is recorded, {again} follows from the rest",
                    file=HOSTS_FILE,
                    number=number,
                    key=key,
                    recorded=getattr(one, key),
                    again=getattr(again, key),
                )
        if not again.off:
            fit.add(one.host)
    for host in sorted({str(found["host"]) for found in outcomes if found.get("host")} - fit):
        yield Message(
            "hosts.not-measured",
            "{file}: {host} made runs, and no measurement there says that its links were fit for them",
            file=HOSTS_FILE,
            host=host,
        )


def main(arguments: list[str]) -> int:
    """Print what this host has; returns the exit code."""
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
