"""Judges the claims again, from the runs in the result folder of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.checks.verify import differences, read_json
from testbed.claims.evidence import judge
from testbed.claims.execute import Made
from testbed.claims.load import load

COMPARED = ("verdict", "n", "figures", "intervals")
"""What comes from the runs; the rest of a claim is what was asked, or the same figures in words."""


def runs_of(folder: Path) -> list[tuple[str, Path]]:
    """The claims' runs, by name, that have a result folder."""
    runs: dict[str, Any] = read_json(folder / "claims.json")["runs"]
    return [(name, folder / run["folder"]) for name, run in runs.items() if run["folder"]]


def verify_claims(folder: Path) -> tuple[str, list[str], list[str]]:
    """The recorded verdict, what differs from it by the runs, in words, and notes on claims that are no more.

    The claims are those of this checkout; BadInput where a file is missing or broken.
    """
    document = read_json(folder / "claims.json")
    known = load().claims
    recorded = {claim["id"]: claim for claim in document["claims"]}
    notes = [f"{name}: this checkout has no such claim" for name in recorded if name not in known]
    found: list[str] = []
    for name, before in recorded.items():
        if name in known:
            made = Made(**document["runs"][known[name].run])
            again = judge(name, known[name], made, folder).as_json()
            found += _differences(name, before, again)
    return str(document["verdict"]), found, notes


def _differences(name: str, before: dict[str, Any], again: dict[str, Any]) -> Iterator[str]:
    for key in COMPARED:
        a, b = before.get(key), again.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            b = {place: list(value) if isinstance(value, tuple) else value for place, value in b.items()}
        yield from differences(f"claims.{name}.{key}", a, b)
