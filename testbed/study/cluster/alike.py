"""What the hosts of a cluster have in common with the submitter, and how a difference is told: when a cluster is made,
and before each study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.utils import canonicalize_name

from testbed.engines import provenance
from testbed.machine import packages

GROUPS = ("setup", "testbed", "cluster")
"""Of dependencies: the packages of a host."""
WORDS = {"code": "sources", "python": "Python", "programs": "Go programs", "kernel": "guest kernel"}
"""What is called otherwise than its key."""


def common() -> dict[str, Any]:
    """This machine's ``commit`` (40 hexadecimal digits), ``code`` (changes with what plans, judges and reports),
    ``python``, ``machine`` (its processor) and ``packages`` (name → version, of those in :data:`GROUPS`)."""
    facts = provenance.of_machine_and_code()
    installed = {canonicalize_name(name): version for name, version in facts["packages"].items()}
    pinned = {name: installed[name] for name in sorted(installed.keys() & _pinned())}
    return {**{key: facts[key] for key in ("commit", "code", "python", "machine")}, "packages": pinned}


def _pinned() -> frozenset[str]:
    return frozenset(canonicalize_name(line.split("==")[0]) for line in packages.export(*GROUPS).splitlines())


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """In words, what of ``ours`` is otherwise, or lacking, in ``theirs``, and packages that are only there."""
    found = []
    for key, here in ours.items():
        there = theirs.get(key, "")
        if key == "packages":
            found += _of_packages(here, there or {})
        elif there != here:
            found.append(f"{WORDS.get(key, key)} {there[:16] or 'none'} there, {here[:16] or 'none'} here")
    return found


def _of_packages(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    return [
        f"package {name} {theirs.get(name, 'missing')} there, {ours.get(name, 'missing')} here"
        for name in sorted({*ours, *theirs})
        if ours.get(name) != theirs.get(name)
    ]
